//! Windows of items: an item is found until `capacity` further distinct items were inserted,
//! whatever was inserted again in between.

use std::collections::{BTreeMap, HashMap};

use bloomline_core::bloom::window::{Window, WindowSpec, WindowedFilter};
use bloomline_core::host::{Growth, Insertion};
use bloomline_reference::random::Random;

use super::{copied, spec};

const RATES: [f64; 6] = [0.25, 0.1, 0.05, 0.01, 1e-4, 1e-9];
const CAPACITIES: [u64; 5] = [2, 3, 10, 64, 800];
const GENERATIONS: [u32; 4] = [2, 3, 8, 64];

/// Which items are inserted again after a rotation.
#[derive(Clone, Copy, Debug)]
enum Again {
    /// A given number of the last ones of the generation before.
    Newest(u64),
    /// A given number of those that are forgotten next.
    Oldest(u64),
    /// One of the last items of a window before every new one.
    Any,
}

/// A filter, and its items in the order of their last insertions.
struct Recent {
    filter: WindowedFilter,
    spec: WindowSpec,
    /// By the number of the insertion.
    order: BTreeMap<u64, u64>,
    last: HashMap<u64, u64>,
    insertions: u64,
    /// Generations that were opened, and those that had overflow layers when the next was opened.
    opened: u64,
    overflown: u64,
}

impl Recent {
    fn new(spec: WindowSpec, seed: u64) -> Self {
        let filter = WindowedFilter::new(spec, seed, 0, &mut |_| true).unwrap();
        let (order, last) = (BTreeMap::new(), HashMap::new());
        Self { filter, spec, order, last, insertions: 0, opened: 0, overflown: 0 }
    }

    /// Inserts the item again after which `further` distinct items were inserted.
    fn insert_again(&mut self, further: u64) {
        if let Some(item) = self.order.values().rev().nth(further as usize).copied() {
            self.insert(item);
        }
    }

    /// Inserts an item. True if a generation was opened for it.
    fn insert(&mut self, item: u64) -> bool {
        let number = self.filter.number();
        let has_overflow = self.filter.newest().layer_count() > 1;
        let insertion = self.filter.insert(&item.to_le_bytes(), 0, &mut |_| true).unwrap();
        self.insertions += 1;
        if self.spec.refreshes || insertion == Insertion::New {
            if let Some(before) = self.last.insert(item, self.insertions) {
                self.order.remove(&before);
            }
            self.order.insert(self.insertions, item);
        }
        if self.filter.number() == number {
            return false;
        }
        self.opened += 1;
        self.overflown += u64::from(has_overflow);
        self.check();
        true
    }

    /// Checks the items around the end of the window, and others.
    fn check(&mut self) {
        self.filter = copied(&self.filter);
        let capacity = self.spec.capacity;
        let is_found = |item: &u64| self.filter.contains(&item.to_le_bytes(), 0);
        for (item, further) in self.order.values().rev().zip(0..capacity) {
            let is_near = further + 10 > capacity || further % 37 == 0;
            assert!(
                !is_near || is_found(item),
                "{item} is forgotten after {further} of {capacity}: {:?}",
                self.spec
            );
        }
        // Items that are found by mistake are few.
        let regular = self.spec.regular().capacity;
        let most = capacity + u64::from(self.spec.generations) * regular + regular;
        let gone = self.order.values().rev().skip(most as usize).take(40);
        let is_exact = self.spec.error_rate <= 1e-9;
        assert!(!is_exact || !gone.clone().any(is_found), "{:?}", self.spec);
    }

    /// Inserts items until `rotations` generations were opened, or `most` items are in.
    fn live(&mut self, again: Again, rotations: u64, most: u64) {
        let (mut random, mut next) = (Random::new(7), 0);
        while self.opened < rotations && self.insertions < most {
            next += 1;
            let is_opened = self.insert(next);
            match again {
                Again::Newest(count) if is_opened => {
                    let items = self.order.values().rev().skip(1).take(count as usize);
                    let items: Vec<u64> = items.copied().collect();
                    for item in items {
                        self.insert(item);
                    }
                }
                Again::Oldest(count) if is_opened => {
                    // What is inserted again is the newest then, so the next one has its rank.
                    (0..count).for_each(|_| self.insert_again(self.spec.capacity - 1));
                }
                Again::Any => self.insert_again(random.below(self.spec.capacity)),
                _ => {}
            }
        }
    }
}

fn specs() -> impl Iterator<Item = WindowSpec> {
    let all = RATES.into_iter().flat_map(|rate| CAPACITIES.map(|capacity| (rate, capacity)));
    let all = all.flat_map(|(rate, capacity)| GENERATIONS.map(|it| (rate, capacity, it)));
    let all = all.filter(|(_, capacity, generations)| *capacity >= u64::from(*generations));
    all.flat_map(|(rate, capacity, generations)| {
        let growth = Growth::Scaling { expansion: 2 };
        [true, false].map(|it| spec(capacity, rate, Window::Last, generations, growth, it))
    })
}

#[test]
fn an_item_is_found_until_capacity_further_items() {
    for spec in specs() {
        let (capacity, regular) = (spec.capacity, spec.regular().capacity);
        let mistakes = capacity as f64 * spec.error_rate;
        let likely = (mistakes + 2.0 * mistakes.sqrt()).ceil() as u64;
        let counts = [0, 1, likely, regular / 2, regular - 1];
        let newest = counts.map(Again::Newest);
        let oldest = counts.map(Again::Oldest);
        for again in newest.into_iter().chain(oldest).chain([Again::Any]) {
            let rotations = u64::from(spec.generations.min(8)) * 2 + 6;
            let rotations = rotations.max(u64::from(spec.generations) + 4);
            Recent::new(spec, 11).live(again, rotations, 6 * capacity + 100);
        }
    }
}

#[test]
fn without_repeats_few_generations_overflow() {
    for rate in RATES {
        for generations in GENERATIONS {
            let (mut opened, mut overflown) = (0, 0);
            for capacity in [64, 800] {
                let growth = Growth::Scaling { expansion: 2 };
                let spec = spec(capacity, rate, Window::Last, generations, growth, true);
                for seed in 0..4 {
                    let mut it = Recent::new(spec, seed);
                    it.live(Again::Newest(0), u64::from(generations) * 4, u64::MAX);
                    (opened, overflown) = (opened + it.opened, overflown + it.overflown);
                }
            }
            assert!(overflown * 20 <= opened, "{overflown} of {opened}: {rate}, {generations}");
        }
    }
}

#[test]
fn room_for_mistakes_is_half_of_the_rate_and_three_deviations() {
    let growth = Growth::Scaling { expansion: 2 };
    let items = |rate, window, refreshes| {
        spec(1_000_000, rate, window, 2, growth, refreshes).regular().capacity * 2
    };
    assert_eq!(items(0.01, Window::Last, true), 1_005_212);
    assert_eq!(items(0.25, Window::Last, true), 1_126_060);
    assert_eq!(items(0.01, Window::Last, false), 1_000_000);
    assert_eq!(items(0.01, Window::Manual, true), 1_000_000);
}
