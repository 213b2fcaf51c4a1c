//! The promise of a windowed filter, against an exact model: a deterministic simulation with a
//! virtual clock.
//!
//! * No item is missing inside the window. With [`Window::Last`], [`Exact`] states the exact bound.
//! * After `1 + 1 / g` windows (and one millisecond of rounding) an item is found only at the
//!   false-positive rate, like an item that was never inserted.
//! * The measured false-positive rate is at most the target rate, with a full load and in bursts.
//!
//! `BLOOMLINE_STEPS` is the number of calls of each test, some thousands by default.

use bloomline_core::Error;
use bloomline_core::host::{Growth, Insertion};
use bloomline_core::window::{Window, WindowSpec, WindowedFilter};
use bloomline_reference::random::Random;

use super::exact::Exact;
use super::{TIME, assert_equal, spec};

/// Absent items have this bit.
const ABSENT: u64 = 1 << 63;

fn steps() -> u64 {
    let small = if cfg!(miri) { 30 } else { 6_000 };
    std::env::var("BLOOMLINE_STEPS").map_or(small, |steps| steps.parse().expect("a number"))
}

/// What the callers do for a while.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// As many items per window as the filter is sized for.
    Load,
    /// Many items in little time.
    Burst,
    /// No items.
    Idle,
    /// The clock jumps forth and back.
    Jump,
}

/// A host with a filter, a filter that gets the same items one by one, and the exact model.
struct Simulation {
    filter: WindowedFilter,
    single: WindowedFilter,
    exact: Exact,
    random: Random,
    now: u64,
    next_item: u64,
    /// Of 100 items, so many are repeated.
    repeated: u64,
    lookups: u64,
    hits: u64,
}

fn as_item(item: &[u8; 8]) -> &[u8] {
    item
}

impl Simulation {
    fn new(spec: WindowSpec, repeated: u64, seed: u64) -> Self {
        let now = 1_700_000_000_000;
        let new = || WindowedFilter::new(spec, seed, now, &mut |_| true).unwrap();
        Self {
            filter: new(),
            single: new(),
            exact: Exact::new(now),
            random: Random::new(seed),
            now,
            next_item: 0,
            repeated,
            lookups: 0,
            hits: 0,
        }
    }

    /// Items to insert: new ones, and ones of the present generations.
    fn items(&mut self, count: u64) -> Vec<u64> {
        let mut items: Vec<u64> = Vec::new();
        for _ in 0..count {
            let repeated = if self.random.below(100) < self.repeated { self.known() } else { None };
            items.push(repeated.unwrap_or_else(|| {
                self.next_item += 1;
                self.next_item
            }));
        }
        items
    }

    /// A random item of a random generation.
    fn known(&mut self) -> Option<u64> {
        let slots = &self.exact.generations;
        let slot = &slots[self.random.below(slots.len() as u64) as usize];
        let index = self.random.below(slot.items.len().max(1) as u64);
        slot.items.get(index as usize).copied()
    }

    /// Brings both filters to the time as a host does, before items are inserted.
    fn advance(&mut self) {
        let written: Vec<u64> = self.filter.generations().map(|(_, it)| it.len()).collect();
        if self.filter.is_due(self.now) || self.filter.spec().window == Window::Last {
            for filter in [&mut self.filter, &mut self.single] {
                filter.advance(self.now, &mut |_| true).unwrap();
                assert!(!filter.is_due(self.now));
            }
            self.exact.latest = self.exact.latest.max(self.now);
        }
        self.exact.follow(&self.filter, &written);
    }

    /// Inserts items in one call, and one by one into the other filter.
    fn insert(&mut self, items: &[u64]) {
        self.advance();
        let bytes: Vec<[u8; 8]> = items.iter().map(|item| item.to_le_bytes()).collect();
        let mut answers = Vec::new();
        self.filter
            .insert_batch(bytes.iter().map(as_item), &mut |_| true, |answer| answers.push(answer));
        for (&item, answer) in items.iter().zip(&answers) {
            let written: Vec<u64> = self.single.generations().map(|(_, it)| it.len()).collect();
            let (number, is_known) = (self.single.number(), self.exact.items.contains_key(&item));
            let result = self.single.insert(&item.to_le_bytes(), &mut |_| true);
            assert_eq!(*answer, result, "one call, and one by one");
            if self.single.number() != number {
                self.exact.follow(&self.single, &written);
            }
            match result {
                Ok(insertion) => self.note(item, is_known, insertion),
                Err(Error::Full(_) | Error::TooManyLayers(_)) => {}
                Err(other) => panic!("{other}"),
            }
        }
        let is_whole = answers.len() == items.len();
        assert!(is_whole || matches!(answers.last(), Some(Err(Error::Full(_)))));
        assert_eq!(self.filter.encode_header(), self.single.encode_header());
    }

    fn note(&mut self, item: u64, is_known: bool, insertion: Insertion) {
        let is_new = !is_known;
        assert!(is_new || !insertion.is_new(), "item {item} was missing");
        self.exact.has_repeats |= is_known;
        self.exact.insert(&self.single, item, self.now, insertion);
        assert!(
            self.single.contains(&item.to_le_bytes(), self.single.newest().opened()) || {
                // Without refreshing it may be in a generation that does not answer any more.
                !insertion.is_written()
            }
        );
        // The insertion of a new item is a lookup of an absent one.
        self.lookups += u64::from(is_new);
        self.hits += u64::from(is_new && !insertion.is_new());
    }

    /// Looks up some items of each kind.
    fn look(&mut self, count: u64) {
        let now = self.now;
        let mut items = Vec::new();
        for _ in 0..count {
            items.extend(self.known());
        }
        let found = self.found(&items);
        for (item, found) in items.iter().zip(found) {
            let Some(&entry) = self.exact.items.get(item) else { continue };
            let must = self.exact.must_contain(&self.filter, entry, now);
            assert!(found || !must, "item {item}, inserted at {}, is missing at {now}", entry.time);
        }
        let absent: Vec<u64> = (0..count).map(|_| self.random.next() | ABSENT).collect();
        self.measure(&absent);
        let forgotten = self.exact.forgotten.iter().copied();
        let must = |&(item, time): &(u64, u64)| {
            Exact::must_be_forgotten(&self.filter, time, now)
                && !self.exact.items.contains_key(&item)
        };
        let stride = (self.exact.forgotten.len() as u64 / count.max(1)).max(1) as usize;
        let gone: Vec<u64> = forgotten.filter(must).map(|it| it.0).step_by(stride).collect();
        self.measure(&gone);
    }

    /// Looks up items that must not be found.
    fn measure(&mut self, items: &[u64]) {
        let hits = self.found(items).into_iter().filter(|found| *found).count() as u64;
        self.assert_rate(items.len() as u64, hits, 6.0);
        self.lookups += items.len() as u64;
        self.hits += hits;
    }

    fn assert_rate(&self, lookups: u64, hits: u64, sigmas: f64) {
        let mean = lookups as f64 * self.filter.spec().error_rate;
        assert!(
            hits as f64 <= mean + sigmas * mean.sqrt() + 3.0,
            "{hits} of {lookups} lookups found an absent item: {:?}",
            self.filter
        );
    }

    /// The answers of one call, which are those of single calls.
    fn found(&self, items: &[u64]) -> Vec<bool> {
        let bytes: Vec<[u8; 8]> = items.iter().map(|item| item.to_le_bytes()).collect();
        let mut answers = Vec::new();
        let answered = |found| answers.push(found);
        self.filter.contains_batch(bytes.iter().map(as_item), self.now, answered);
        for (item, found) in bytes.iter().zip(&answers).step_by(7) {
            assert_eq!(self.filter.contains(item, self.now), *found);
        }
        answers
    }

    /// Looks up all items of the model.
    fn look_at_all(&mut self) {
        let items: Vec<u64> = self.exact.items.keys().copied().collect();
        for (item, found) in items.iter().zip(self.found(&items)) {
            let entry = self.exact.items[item];
            assert!(found || !self.exact.must_contain(&self.filter, entry, self.now), "{item}");
        }
        let is_late = |item: &u64| {
            Exact::must_be_forgotten(&self.filter, self.exact.items[item].time, self.now)
        };
        if self.filter.has_time() {
            self.measure(&items.iter().copied().filter(is_late).collect::<Vec<u64>>());
        }
        self.exact.assert_len(&self.filter);
        assert!(self.filter.fp_rate() <= self.filter.spec().error_rate);
        assert!(self.filter.generations().count() <= self.filter.spec().generations as usize + 1);
    }

    /// Milliseconds of a window; those of a filter without one do not matter.
    fn window(&self) -> u64 {
        self.filter.spec().times().map_or(1_000, |(window, _)| window)
    }

    fn step(&mut self, phase: Phase) {
        let (window, capacity) = (self.window(), self.filter.spec().capacity);
        let slot = window.div_ceil(u64::from(self.filter.spec().generations));
        let call = if self.random.below(3) == 0 { 1 } else { 1 + self.random.below(200) };
        match phase {
            Phase::Load => {
                self.now += call * window / capacity;
                let items = self.items(call);
                self.insert(&items);
            }
            Phase::Burst => {
                self.now += self.random.below(slot / 50 + 2);
                let items = self.items(call * 2);
                self.insert(&items);
            }
            Phase::Idle => self.now += self.random.below(slot),
            Phase::Jump => {
                let by = self.random.below(window * 2);
                let is_back = self.random.below(2) == 0;
                self.now = if is_back { self.now - by } else { self.now + by };
                let items = self.items(call);
                self.insert(&items);
            }
        }
        if self.filter.spec().window == Window::Manual && self.random.below(8) == 0 {
            self.rotate();
        }
        self.look(4);
    }

    fn rotate(&mut self) {
        let written: Vec<u64> = self.filter.generations().map(|(_, it)| it.len()).collect();
        for filter in [&mut self.filter, &mut self.single] {
            filter.rotate(self.now, &mut |_| true).unwrap();
        }
        self.exact.follow(&self.filter, &written);
    }

    fn run(&mut self, steps: u64) {
        let mut phase = Phase::Load;
        for step in 0..steps {
            if self.random.below(40) == 0 {
                self.look_at_all();
                self.look(if cfg!(miri) { 4 } else { 500 });
                phase = match self.random.below(10) {
                    0..=4 => Phase::Load,
                    5..=6 => Phase::Burst,
                    7..=8 => Phase::Idle,
                    _ => Phase::Jump,
                };
            }
            // A gap of some slots, and a few jumps, are enough.
            let is_long = matches!(phase, Phase::Load | Phase::Burst);
            self.step(if is_long || step % 8 == 0 { phase } else { Phase::Load });
        }
        self.look_at_all();
        assert_equal(&self.filter, &self.single);
        self.assert_rate(self.lookups, self.hits, 4.0);
    }
}

/// Runs a simulation for each specification, with a number of repeated items in a hundred.
fn simulate(name: &str, specs: &[(WindowSpec, u64)]) {
    let steps = steps() / specs.len() as u64 + 1;
    for (seed, &(spec, repeated)) in (1..).zip(specs) {
        let mut simulation = Simulation::new(spec, repeated, seed);
        simulation.run(steps);
        let Simulation { filter, exact, lookups, hits, .. } = simulation;
        println!(
            "{name}: {spec:?}, {repeated} % repeated: {} generations, at most {} items, rate {:.2e}",
            filter.number() + 1,
            exact.most,
            hits as f64 / lookups.max(1) as f64
        );
        if spec.window == Window::Last {
            assert_bounded(&exact, &spec);
        }
    }
}

/// The most distinct items that a filter with [`Window::Last`] remembers. Without repeated items it
/// is one window and a generation. Repeated items fill generations without more distinct items, so
/// a generation may hold a window of items, and is kept for another window.
fn assert_bounded(exact: &Exact, spec: &WindowSpec) {
    let generation = spec.capacity.div_ceil(spec.generations.into());
    let mistakes = (4.0 * spec.error_rate * spec.capacity as f64) as u64 + 10;
    let most = match exact.has_repeats {
        false => generation * u64::from(spec.generations + 1) + mistakes,
        true => 2 * spec.capacity + 2 * generation + mistakes,
    };
    assert!(exact.most <= most, "{} of {most} items: {spec:?}", exact.most);
}

const TWICE: Growth = Growth::Scaling { expansion: 2 };

#[test]
fn window_of_time_forgets_nothing_early_or_late() {
    let scaled = |expansion| Growth::Scaling { expansion };
    simulate(
        "time",
        &[
            (spec(500, 0.01, TIME, 4, TWICE, true), 30),
            (spec(1_000, 0.01, TIME, 8, TWICE, false), 30),
            (spec(2_000, 1e-3, TIME, 8, scaled(4), true), 0),
            (spec(64, 0.05, Window::Time { millis: 1 }, 2, TWICE, true), 10),
            (spec(300, 0.05, Window::Time { millis: 101 }, 3, scaled(1), true), 60),
            (spec(5_000, 0.01, TIME, 64, TWICE, true), 20),
            (spec(100, 0.25, Window::Time { millis: 7 }, 16, TWICE, false), 50),
        ],
    );
}

#[test]
fn fixed_window_refuses_items_and_forgets_none_early() {
    simulate(
        "fixed",
        &[
            (spec(500, 0.01, TIME, 4, Growth::Fixed, true), 30),
            (spec(1_000, 0.01, TIME, 8, Growth::Fixed, false), 30),
            (spec(400, 0.05, Window::Manual, 8, Growth::Fixed, true), 30),
            (spec(400, 0.05, Window::Last, 8, Growth::Fixed, false), 30),
        ],
    );
}

#[test]
fn window_of_items_forgets_none_early() {
    simulate(
        "last",
        &[
            (spec(500, 0.01, Window::Last, 4, TWICE, true), 0),
            (spec(500, 0.01, Window::Last, 8, TWICE, true), 2),
            (spec(500, 0.01, Window::Last, 8, TWICE, true), 40),
            (spec(1_000, 1e-3, Window::Last, 8, TWICE, true), 90),
            (spec(3_000, 0.05, Window::Last, 64, TWICE, true), 30),
            (spec(1_000, 0.05, Window::Last, 16, TWICE, false), 0),
            (spec(1_000, 0.01, Window::Last, 2, TWICE, false), 50),
            (spec(100, 0.25, Window::Last, 2, TWICE, true), 50),
        ],
    );
}

#[test]
fn window_of_rotations_forgets_none_early() {
    simulate(
        "manual",
        &[
            (spec(500, 0.01, Window::Manual, 4, TWICE, true), 30),
            (spec(1_000, 1e-3, Window::Manual, 8, TWICE, false), 30),
            (spec(2_000, 0.05, Window::Manual, 2, Growth::Scaling { expansion: 1 }, true), 10),
        ],
    );
}
