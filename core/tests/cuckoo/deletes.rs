//! Deletions of items that are there lose no other item, however the filter grew.

use std::collections::HashMap;

use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_reference::random::Random;

use super::{Layout, compact, granted, item, reloaded, tables};

/// Items with the number of their copies, and the same as a list from which one can be drawn.
#[derive(Default)]
struct Live {
    copies: HashMap<u64, u64>,
    list: Vec<u64>,
}

impl Live {
    fn insert(&mut self, number: u64) {
        *self.copies.entry(number).or_default() += 1;
        self.list.push(number);
    }

    /// Takes one copy of a random item.
    fn draw(&mut self, random: &mut Random) -> u64 {
        let at = random.below(self.list.len() as u64) as usize;
        let number = self.list.swap_remove(at);
        *self.copies.get_mut(&number).unwrap() -= 1;
        number
    }

    /// Asserts that the filter has at least as many copies of each item.
    fn assert_in(&self, filter: &AnyCuckoo) {
        assert_eq!(filter.len(), self.list.len() as u64);
        for (number, copies) in &self.copies {
            let count = filter.count(&item(*number));
            assert!(count >= *copies, "{count} of {copies} copies of {number}: {filter:?}");
            assert_eq!(filter.contains(&item(*number)), count > 0);
        }
    }
}

/// The sizes between which a filter grows and shrinks, again and again.
#[derive(Clone, Copy)]
struct Waves {
    least: usize,
    most: usize,
    steps: u64,
    /// Of 100 additions, this many are of one of 50 items.
    repeated: u64,
}

/// Adds random items and deletes live ones. From time to time it compacts, dumps and loads.
fn assert_keeps_items(filter: &mut AnyCuckoo, waves: Waves, seed: u64) {
    let (mut random, mut live, mut is_growing) = (Random::new(seed), Live::default(), true);
    for step in 0..waves.steps {
        if live.list.len() >= waves.most {
            is_growing = false;
        } else if live.list.len() <= waves.least {
            is_growing = true;
        }
        let is_added = (random.below(10) < 7) == is_growing && live.list.len() < waves.most;
        if live.list.is_empty() || is_added {
            let is_repeated = random.below(100) < waves.repeated;
            let number = if is_repeated { random.below(50) } else { 50 + random.below(1 << 30) };
            filter.insert(&item(number), &mut granted).unwrap();
            live.insert(number);
        } else {
            let number = live.draw(&mut random);
            assert!(filter.remove(&item(number)), "{number} is denied after {step} steps");
        }
        if step % 4_999 == 0 {
            live.assert_in(filter);
        }
        if random.below(7_000) == 0 {
            compact(filter);
            live.assert_in(filter);
        }
        if random.below(3_000) == 0 {
            *filter = reloaded(filter);
        }
    }
    live.assert_in(filter);
    filter.check().unwrap();
    while !live.list.is_empty() {
        let number = live.draw(&mut random);
        assert!(filter.remove(&item(number)), "{number} is denied");
    }
    assert!(filter.is_empty());
    assert!(tables(filter).iter().all(|table| table.iter().all(|byte| *byte == 0)));
}

/// High rates, so that many items have equal prefixes: growing filters with and without repeated
/// items, and filters that are nearly full all the time and may not grow.
#[test]
fn deletions_of_live_items_lose_no_other() {
    let run = |error_rate, is_fixed, capacity, waves: Waves| {
        let mut filter = Layout::Bloomline { error_rate, is_fixed }.create(capacity);
        let steps = if cfg!(miri) { 300 } else { waves.steps };
        assert_keeps_items(&mut filter, Waves { steps, ..waves }, (error_rate * 100.0) as u64);
    };
    for error_rate in [0.9, 0.25, 0.05, 0.01] {
        for capacity in [1, 30, 1_000] {
            let waves = Waves { least: 0, most: 10_000, steps: 120_000, repeated: 0 };
            run(error_rate, false, capacity, waves);
        }
        for (capacity, most) in [(1, 100), (20, 3_000)] {
            for repeated in [10, 60, 100] {
                let waves = Waves { least: most / 10, most, steps: 60_000, repeated };
                run(error_rate, false, capacity, waves);
            }
        }
    }
    for error_rate in [0.25, 0.05, 0.001] {
        for most in [2, 100, 5_000] {
            let waves = Waves { least: most * 9 / 10, most, steps: 150_000, repeated: 0 };
            run(error_rate, true, most as u64, waves);
        }
    }
}

/// Each layout: with the same number of entries per item in each table, no deletion goes wrong.
#[test]
fn all_copies_can_be_deleted_again() {
    for layout in Layout::ALL {
        let mut filter = layout.create(1_000);
        for number in 0..300 {
            for _ in 0..2 {
                filter.insert(&item(number), &mut granted).unwrap();
            }
        }
        for number in 0..300 {
            assert!(filter.remove(&item(number)) && filter.remove(&item(number)), "{layout:?}");
        }
        assert_eq!(filter.len(), 0);
        assert!((0..300).all(|number| !filter.remove(&item(number))), "{layout:?}");
    }
}
