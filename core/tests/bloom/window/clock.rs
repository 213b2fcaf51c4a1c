//! A clock that is set back: the time of a filter goes on, so that it forgets as promised.

use std::collections::VecDeque;

use bloomline_core::bloom::window::{WindowSpec, WindowedFilter};

use super::{TIME, kinds, spec};
use bloomline_core::host::Growth;

/// Milliseconds of the window, and of a slot.
const WINDOW: u64 = 10_000;
const SLOT: u64 = 2_500;

/// When the filters are created, by a clock that is right.
const START: u64 = 1_700_000_000_000;

/// Steps of the clock, from less than a slot to some years.
const STEPS: [u64; 7] = [1, SLOT - 1, SLOT, 3 * SLOT, WINDOW, 86_400_000, 1 << 37];

fn windows_of_time() -> impl Iterator<Item = WindowSpec> {
    let large = spec(40_000, 0.01, TIME, 4, Growth::Scaling { expansion: 2 }, true);
    kinds().into_iter().filter(|spec| spec.window == TIME).chain([large])
}

/// A filter and what its clock shows.
struct Clocked {
    filter: WindowedFilter,
    /// What a right clock shows.
    now: u64,
    /// By how much the clock is ahead, or behind if it is negative.
    error: i64,
}

impl Clocked {
    fn new(spec: WindowSpec) -> Self {
        let filter = WindowedFilter::new(spec, 7, START, &mut |_| true).unwrap();
        Self { filter, now: START, error: 0 }
    }

    fn clock(&self) -> u64 {
        self.now.saturating_add_signed(self.error)
    }

    /// Inserts an item, as a primary does.
    fn insert(&mut self, item: &str) {
        let clock = self.clock();
        assert_eq!(self.filter.is_due(clock), self.filter.advance(clock, &mut |_| true).unwrap());
        assert!(!self.filter.is_due(clock));
        self.filter.insert(item.as_bytes(), clock, &mut |_| true).unwrap();
        assert!(self.contains(item));
    }

    fn contains(&self, item: &str) -> bool {
        self.filter.contains(item.as_bytes(), self.clock())
    }
}

#[test]
fn a_clock_that_was_ahead_once_leaves_a_filter_that_forgets() {
    for spec in windows_of_time() {
        for ahead in STEPS {
            let mut it = Clocked::new(spec);
            let slot = spec.times().unwrap().1;
            it.error = ahead as i64;
            it.insert("ahead");
            it.error = 0;
            // All generations, each as large as one that takes the items of a slot.
            let mut right = Clocked::new(spec);
            for generation in 0..2 * spec.generations {
                right.now += slot;
                (0..4).for_each(|item| right.insert(&format!("{generation}:{item}")));
            }
            let most = right.filter.size_bytes();
            for round in 0..200u64 {
                it.now += slot / 3;
                it.insert(&format!("{round}"));
                // An item is found for a window, and until it has passed by a slot and the time to
                // the next addition.
                let age = |age: u64| (age <= round).then(|| format!("{}", round - age));
                let found = |rounds: u64| age(rounds).is_none_or(|item| it.contains(&item));
                assert!(found(WINDOW * 3 / slot - 1), "{spec:?}, {ahead} ahead, round {round}");
                let gone = age((WINDOW + 2 * slot) * 3 / slot + 6);
                assert!(gone.is_none_or(|item| !it.contains(&item)), "{spec:?}, {ahead}, {round}");
                assert!(it.filter.size_bytes() <= most, "{spec:?}, {ahead} ahead, round {round}");
            }
            assert!(!it.contains("ahead"));
        }
    }
}

#[test]
fn a_clock_that_was_behind_once_forgets_no_item_early() {
    for spec in windows_of_time() {
        let slot = spec.times().unwrap().1;
        for behind in STEPS {
            for rounds_behind in [1, 2, 40] {
                let is_behind = |round| (30..30 + rounds_behind).contains(&round);
                let mut it = Clocked::new(spec);
                for round in 0..120u64 {
                    it.now += slot / 3;
                    it.error = if is_behind(round) { -(behind as i64) } else { 0 };
                    it.insert(&format!("{round}"));
                    for item in 0..=round {
                        // A step forward counts as time that has passed, for what was inserted by
                        // the clock before it.
                        let step = if is_behind(item) && !is_behind(round) { behind } else { 0 };
                        let is_in_window = (round - item) * (slot / 3) + step < WINDOW;
                        assert!(
                            !is_in_window || it.contains(&format!("{item}")),
                            "{spec:?}, {behind} behind: {item} in round {round}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn filters_of_other_windows_are_never_due() {
    for spec in kinds().into_iter().filter(|spec| spec.window != TIME) {
        let it = Clocked::new(spec);
        for clock in [0, START - 1, START, START + WINDOW, u64::MAX] {
            assert!(!it.filter.is_due(clock), "{spec:?} at {clock}");
            assert_eq!(it.filter.lead(), 0);
        }
    }
}

/// Milliseconds between two additions, and how long the clock is ahead.
const PAUSES: [u64; 2] = [SLOT / 25, SLOT / 5];

/// A filter to which items are added all the time, and when each of them must have expired.
struct Lateness {
    it: Clocked,
    pause: u64,
    next: u64,
    added: VecDeque<(String, u64)>,
    /// The longest time for which an item was found.
    longest: u64,
}

impl Lateness {
    fn new(spec: WindowSpec, pause: u64) -> Self {
        Self { it: Clocked::new(spec), pause, next: 0, added: VecDeque::new(), longest: 0 }
    }

    /// Adds items for some milliseconds. None may be found for `most` milliseconds.
    fn pass(&mut self, millis: u64, most: u64) {
        for _ in 0..millis / self.pause {
            self.it.now += self.pause;
            let item = self.next.to_string();
            self.next += 1;
            self.it.insert(&item);
            self.added.push_back((item, self.it.now));
            while let Some((item, added)) = self.added.front() {
                let age = self.it.now - added;
                if self.it.contains(item) {
                    assert!(age < most, "{item} is found for {age} ms, not {most}");
                    self.longest = self.longest.max(age);
                    break;
                }
                self.added.pop_front();
            }
        }
    }
}

#[test]
fn a_step_back_delays_expiry_by_two_slots_at_most() {
    let growth = Growth::Scaling { expansion: 2 };
    let mut longest = 0;
    for (generations, pause) in [(2, PAUSES[0]), (4, PAUSES[0]), (4, PAUSES[1]), (10, PAUSES[1])] {
        let spec = spec(400, 1e-9, TIME, generations, growth, true);
        let slot = spec.times().unwrap().1;
        for back in [1, slot / 3, slot - 1, slot, slot * 3 / 2, slot * 9 / 5, 3 * slot, 1 << 37] {
            for ahead_for in [pause, slot / 2, slot * 24 / 25, 2 * slot] {
                let mut it = Lateness::new(spec, pause);
                let on_time = WINDOW + slot;
                let most = on_time + back.min(2 * (slot + pause));
                it.pass(2 * slot + slot * 4 / 5, on_time);
                it.it.error = back as i64;
                it.pass(ahead_for, on_time);
                it.it.error = 0;
                it.pass(6 * WINDOW, most);
                longest = longest.max((it.longest.saturating_sub(on_time)) * 100 / slot);
            }
        }
    }
    // The bound is not far from what happens.
    assert!(longest > 150, "{longest} % of a slot");
}

#[test]
fn steps_back_without_additions_delay_expiry_by_their_sum() {
    let growth = Growth::Scaling { expansion: 2 };
    let spec = spec(400, 1e-9, TIME, 4, growth, true);
    for backs in [[1, 1, 1], [SLOT, 10, SLOT / 2], [WINDOW, 3 * WINDOW, 50 * WINDOW]] {
        for ahead_for in [0, SLOT - 1, WINDOW] {
            let mut it = Clocked::new(spec);
            for back in backs {
                it.error = back as i64;
                it.now += ahead_for;
                it.insert("ahead");
                it.error = 0;
                it.insert("item");
            }
            let sum: u64 = backs.iter().sum();
            it.now += WINDOW + SLOT + sum;
            assert!(!it.contains("item"), "{backs:?}, ahead for {ahead_for}");
        }
    }
}
