//! An exact model of a windowed filter: a map from item to when it was inserted last.

use std::collections::{HashMap, VecDeque};

use bloomline_core::host::Insertion;
use bloomline_core::window::{Window, WindowedFilter};

/// When an item was inserted last.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The filter's time then, in milliseconds. It never runs backwards.
    pub time: u64,
    /// The newest generation then.
    pub generation: u64,
}

/// What is known of the items of a filter.
pub struct Exact {
    /// The items that a generation of the filter holds.
    pub items: HashMap<u64, Entry>,
    /// For each generation its items, of which some were inserted again later. Oldest first.
    pub generations: VecDeque<Slot>,
    /// The latest time to which the filter was brought.
    pub latest: u64,
    /// Items that the filter forgot, and when they were inserted last. A few of the last ones.
    pub forgotten: VecDeque<(u64, u64)>,
    /// True if an item was inserted that a generation holds already.
    pub has_repeats: bool,
    /// The largest number of distinct items in all generations so far.
    pub most: u64,
}

/// The items of one generation.
#[derive(Default)]
pub struct Slot {
    pub number: u64,
    pub items: Vec<u64>,
    /// Those of `items` that were not inserted later.
    pub live: u64,
    /// Insertions, whatever the answer.
    pub attempts: u64,
}

/// How many forgotten items are kept.
const FORGOTTEN: usize = 4_000;

impl Exact {
    pub fn new(now: u64) -> Self {
        Self {
            items: HashMap::new(),
            generations: VecDeque::from([Slot::default()]),
            latest: now,
            forgotten: VecDeque::new(),
            has_repeats: false,
            most: 0,
        }
    }

    /// Distinct items in all generations.
    pub fn len(&self) -> u64 {
        self.items.len() as u64
    }

    /// Items that callers tried to insert during the life of the generations.
    pub fn attempts(&self) -> u64 {
        self.generations.iter().map(|slot| slot.attempts).sum()
    }

    /// Follows the rotations of the filter: removes the items of dropped generations. Panics if one
    /// of them had to be remembered. `written` are the items in each generation before.
    pub fn follow(&mut self, filter: &WindowedFilter, written: &[u64]) {
        let oldest = filter.generations().next().expect("at least one").0;
        let mut newer_written: u64 = written.iter().sum();
        let mut index = 0;
        while self.generations.front().is_some_and(|slot| slot.number < oldest) {
            let slot = self.generations.pop_front().expect("not empty");
            newer_written -= written.get(index).copied().unwrap_or(0);
            index += 1;
            let newer: u64 = self.generations.iter().map(|slot| slot.live).sum();
            self.assert_may_forget(filter, newer, newer_written);
            for item in slot.items {
                let Some(&entry) = self.items.get(&item) else { continue };
                if entry.generation > slot.number {
                    continue;
                }
                if let Some((window, _)) = filter.spec().times() {
                    let end = entry.time + window;
                    assert!(end <= self.latest, "forgotten {} ms early", end - self.latest);
                }
                self.items.remove(&item);
                self.forgotten.push_back((item, entry.time));
            }
            while self.forgotten.len() > FORGOTTEN {
                self.forgotten.pop_front();
            }
        }
        let mut number = self.generations.back().map_or(oldest, |slot| slot.number + 1);
        while number <= filter.number() {
            self.generations.push_back(Slot { number, ..Slot::default() });
            number += 1;
        }
    }

    /// The promise of [`Window::Last`]: `newer` distinct items were inserted since the last item of
    /// the dropped generation. They are as many as the window, less the mistakes that the filter
    /// tolerates: `e w + 3 sqrt(e w)` of the `w` items written to the newer generations, where `e`
    /// is the target rate. Without repeated items they are as many as the window.
    fn assert_may_forget(&self, filter: &WindowedFilter, newer: u64, written: u64) {
        let spec = filter.spec();
        if spec.window != Window::Last {
            return;
        }
        let mean = written as f64 * spec.error_rate;
        let tolerated = if self.has_repeats { mean + 3.0 * mean.sqrt() } else { 0.0 };
        assert!(
            newer as f64 >= spec.capacity as f64 - tolerated,
            "{newer} of {} items, {written} written",
            spec.capacity
        );
    }

    /// Notes the answer of the filter to an insertion at `now`.
    pub fn insert(&mut self, filter: &WindowedFilter, item: u64, now: u64, answer: Insertion) {
        let slot = self.generations.back_mut().expect("at least one");
        slot.attempts += 1;
        // Without refreshing, an item that seems to be present is not stored.
        if !filter.spec().refreshes && !answer.is_new() {
            return;
        }
        let number = slot.number;
        let time = now.max(filter.newest().opened());
        let before = self.items.insert(item, Entry { time, generation: number });
        if before.is_some_and(|entry| entry.generation == number) {
            return;
        }
        slot.items.push(item);
        slot.live += 1;
        if let Some(entry) = before {
            let first = self.generations.front().map_or(0, |slot| slot.number);
            let index = (entry.generation - first) as usize;
            self.generations[index].live -= 1;
        }
        self.most = self.most.max(self.len());
    }

    /// True if the filter must report the item at `now`.
    pub fn must_contain(&self, filter: &WindowedFilter, entry: Entry, now: u64) -> bool {
        match filter.spec().times() {
            Some((window, _)) => now.max(self.latest) < entry.time + window,
            None => true,
        }
    }

    /// True if an item that was inserted at `time` must be forgotten at `now`: after `1 + 1 / g`
    /// windows and a millisecond of rounding.
    pub fn must_be_forgotten(filter: &WindowedFilter, time: u64, now: u64) -> bool {
        let Window::Time { millis } = filter.spec().window else { return true };
        let rounding = 1;
        now >= time + millis + millis / u64::from(filter.spec().generations) + rounding
    }

    /// Compares the number of distinct items. Each mistake hides one until its generation is
    /// dropped: an item that seems to be in the newest generation, or to be refreshed.
    pub fn assert_len(&self, filter: &WindowedFilter) {
        let mean = self.attempts() as f64 * filter.spec().error_rate;
        let mistakes = (mean + 5.0 * mean.sqrt() + 3.0) as u64;
        let len = filter.len();
        assert!(
            len <= self.len() && self.len() <= len + mistakes,
            "{len} items instead of {}, {mistakes} mistakes",
            self.len()
        );
        let counted = filter.generations().map(|(_, generation)| generation);
        assert!(counted.map(|it| it.live()).zip(self.lens()).all(|(live, len)| live <= len));
    }

    /// Items that were inserted into each generation, oldest first.
    fn lens(&self) -> impl Iterator<Item = u64> {
        self.generations.iter().map(|slot| slot.items.len() as u64)
    }
}
