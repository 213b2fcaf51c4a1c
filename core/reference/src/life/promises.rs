//! What a filter promises, whatever its layout: the items that it must find, those that it may find
//! at its false-positive rate only, and how many it counts.
//!
//! A multiset of items, each with when it was inserted last. A life that breaks the conditions of
//! the promises, such as deleting an item that was never inserted, ends them.

use std::collections::{HashMap, VecDeque};

use bloomline_core::bloom::window::{Window, WindowSpec, WindowedFilter};

use super::filter::{Filter, Outcome};
use super::steps::item;

/// What is known of an item.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub copies: u64,
    /// The time of the filter at the last insertion, in milliseconds.
    pub time: u64,
    /// [`Promises::elapsed`] then.
    pub elapsed: u64,
    /// The newest generation then.
    pub generation: u64,
}

/// The items of one generation.
#[derive(Default)]
struct Slot {
    number: u64,
    items: Vec<u64>,
    /// Those of `items` that were not inserted later.
    live: u64,
    /// Insertions, whatever the answer.
    attempts: u64,
}

/// The items of a filter and what it promises about them.
pub struct Promises {
    window: Option<WindowSpec>,
    is_cuckoo: bool,
    pub items: HashMap<u64, Entry>,
    /// Oldest first.
    slots: VecDeque<Slot>,
    /// Milliseconds that have passed, whatever the clock shows that is set back now and again.
    pub elapsed: u64,
    /// Items that a windowed filter forgot, and the time of the filter when they were inserted
    /// last. A few of the last ones.
    forgotten: VecDeque<(u64, u64)>,
    has_repeats: bool,
    /// False once an item may be missing.
    pub are_kept: bool,
    /// False once the number of items is an estimate.
    pub is_counted: bool,
    /// The number of items of a filter without a window.
    len: u64,
}

/// How many forgotten items are kept.
const FORGOTTEN: usize = 400;

impl Promises {
    pub fn new(window: Option<WindowSpec>, is_cuckoo: bool) -> Self {
        Self {
            window,
            is_cuckoo,
            items: HashMap::new(),
            slots: VecDeque::from([Slot::default()]),
            elapsed: 0,
            forgotten: VecDeque::new(),
            has_repeats: false,
            are_kept: true,
            is_counted: true,
            len: 0,
        }
    }

    /// True if the filter must find the item now.
    pub fn must_find(&self, number: u64) -> bool {
        let Some(entry) = self.items.get(&number).filter(|_| self.are_kept) else { return false };
        match self.window.and_then(|spec| spec.times()) {
            Some((window, _)) => self.elapsed < entry.elapsed + window,
            None => true,
        }
    }

    /// The copies of an item that a cuckoo filter must count.
    pub fn least_copies(&self, number: u64) -> u64 {
        if !self.are_kept { 0 } else { self.items.get(&number).map_or(0, |entry| entry.copies) }
    }

    /// Items that the filter may find at its false-positive rate only: those that were forgotten,
    /// or whose windows have passed by a slot and a millisecond of rounding. `now` is the time of
    /// the filter.
    pub fn gone(&self, now: u64) -> Vec<u64> {
        let Some(spec) = self.window.filter(|_| self.are_kept) else { return Vec::new() };
        let must = |time: u64| match spec.window {
            Window::Time { millis } => now > time + millis + millis / u64::from(spec.generations),
            _ => true,
        };
        let forgotten =
            self.forgotten.iter().filter(|(number, _)| !self.items.contains_key(number));
        forgotten.filter(|(_, time)| must(*time)).map(|(number, _)| *number).collect()
    }

    /// Notes the outcome of an insertion at `now`.
    pub fn inserted(&mut self, filter: &Filter, number: u64, now: u64, outcome: Outcome) {
        let is_known = self.items.contains_key(&number);
        let was_due = self.must_find(number);
        if !self.is_cuckoo {
            // What is refreshed must be written, which may be refused.
            let is_refreshed = self.window.is_some_and(|spec| spec.refreshes);
            let is_lost = outcome == Outcome::New || outcome.is_error() && !is_refreshed;
            assert!(!(is_lost && was_due), "item {number} was missing: {outcome:?}");
        }
        if outcome.is_error() {
            return;
        }
        // What seems to be in a cuckoo filter may be another item, which is deleted later.
        if self.is_cuckoo && outcome == Outcome::Present {
            return;
        }
        self.len += u64::from(outcome == Outcome::New);
        let Some((spec, filter)) = self.window.zip(filter.windowed()) else {
            let entry = Entry { copies: 0, time: now, elapsed: self.elapsed, generation: 0 };
            let entry = self.items.entry(number).or_insert(entry);
            entry.copies += u64::from(outcome == Outcome::New || !is_known);
            return;
        };
        let is_found = || filter.contains(&item(number), filter.newest().opened());
        assert!(!outcome.is_written() || !self.are_kept || is_found());
        self.has_repeats |= is_known;
        let slot = self.slots.back_mut().expect("at least one");
        slot.attempts += 1;
        // Without refreshing, an item that seems to be present is not stored.
        if !spec.refreshes && outcome != Outcome::New {
            return;
        }
        let (generation, time) = (slot.number, filter.time_at(now));
        let entry = Entry { copies: 1, time, elapsed: self.elapsed, generation };
        let before = self.items.insert(number, entry);
        if before.is_some_and(|entry| entry.generation == generation) {
            return;
        }
        slot.items.push(number);
        slot.live += 1;
        if let Some(entry) = before {
            let first = self.slots.front().map_or(0, |slot| slot.number);
            self.slots[(entry.generation - first) as usize].live -= 1;
        }
    }

    /// Notes items that came with a merged filter. Merges estimate the number of items.
    pub fn merged(&mut self, filter: &Filter, numbers: impl Iterator<Item = u64>, now: u64) {
        self.len = filter.len();
        for number in numbers {
            let entry = Entry { copies: 1, time: now, elapsed: self.elapsed, generation: 0 };
            self.items.entry(number).or_insert(entry);
        }
    }

    pub fn removed(&mut self, number: u64, is_removed: bool) {
        let entry = self.items.get_mut(&number);
        assert!(is_removed || !self.are_kept || entry.is_none(), "item {number} was missing");
        self.len = self.len.saturating_sub(is_removed.into());
        match entry {
            Some(entry) if is_removed => {
                entry.copies -= 1;
                if entry.copies == 0 {
                    self.items.remove(&number);
                }
            }
            // A copy of another item may be lost.
            None if is_removed => self.are_kept = false,
            _ => {}
        }
    }

    /// Follows the rotations of a windowed filter: removes the items of dropped generations. Panics
    /// if one of them had to be remembered.
    pub fn follow(&mut self, filter: &WindowedFilter) {
        let oldest = filter.generations().next().expect("at least one").0;
        while self.slots.front().is_some_and(|slot| slot.number < oldest) {
            let slot = self.slots.pop_front().expect("not empty");
            self.assert_may_forget(&filter.spec());
            for number in slot.items {
                let Some(&entry) = self.items.get(&number) else { continue };
                if entry.generation > slot.number {
                    continue;
                }
                if let Some((window, _)) = filter.spec().times() {
                    let is_over = entry.elapsed + window <= self.elapsed;
                    assert!(is_over || !self.are_kept, "{number} was forgotten early");
                }
                self.items.remove(&number);
                self.forgotten.push_back((number, entry.time));
            }
        }
        while self.forgotten.len() > FORGOTTEN {
            self.forgotten.pop_front();
        }
        let mut number = self.slots.back().map_or(oldest, |slot| slot.number + 1);
        while number <= filter.number() {
            self.slots.push_back(Slot { number, ..Slot::default() });
            number += 1;
        }
    }

    /// The promise of [`Window::Last`]: the distinct items that were inserted since the last item
    /// of the dropped generation are as many as the window.
    fn assert_may_forget(&self, spec: &WindowSpec) {
        if spec.window != Window::Last || !self.are_kept || !self.is_counted {
            return;
        }
        let newer: u64 = self.slots.iter().map(|slot| slot.live).sum();
        assert!(newer >= spec.capacity, "{newer} of {} items", spec.capacity);
    }

    /// Compares the number of items. In a windowed filter, each mistake hides one until its
    /// generation is dropped: an item that seems to be in the newest generation, or to be
    /// refreshed.
    pub fn assert_len(&self, filter: &Filter) {
        let Some(spec) = self.window else {
            assert!(
                !self.is_counted || filter.len() == self.len,
                "{} items, {}",
                filter.len(),
                self.len
            );
            return;
        };
        if !self.is_counted || !self.are_kept {
            return;
        }
        let attempts: u64 = self.slots.iter().map(|slot| slot.attempts).sum();
        let mean = attempts as f64 * spec.error_rate;
        let mistakes = (mean + 6.0 * mean.sqrt() + 4.0) as u64;
        let (len, expected) = (filter.len(), self.items.len() as u64);
        self.assert_bounded(&spec, expected);
        assert!(
            len <= expected && expected <= len + mistakes,
            "{len} items instead of {expected}, {mistakes} mistakes"
        );
    }

    /// The most distinct items that a filter with [`Window::Last`] remembers. Without repeated
    /// items it is one window and a generation. Repeated items fill generations without more
    /// distinct items, so a generation may hold a window of items, and is kept for another window.
    fn assert_bounded(&self, spec: &WindowSpec, items: u64) {
        if spec.window != Window::Last {
            return;
        }
        let generation = spec.regular().capacity;
        let mistakes = (6.0 * spec.error_rate * spec.capacity as f64) as u64 + 10;
        let most = match self.has_repeats {
            false => generation * u64::from(spec.generations + 1) + mistakes,
            true => 2 * spec.capacity + 2 * generation + mistakes,
        };
        assert!(items <= most, "{items} of {most} items");
    }
}
