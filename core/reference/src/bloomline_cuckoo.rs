//! What a cuckoo filter in this project's layout must contain: a model that knows nothing of slots,
//! growth and compaction.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use bloomline_core::host::cuckoo::AnyCuckoo;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::cuckoo_header::{Header, Table, limit};
use crate::redisbloom_cuckoo::Refusal;

/// Tables that the error budget is enough for at the least rate.
const LEAST_TABLES: usize = 5;
/// Items that are counted after each step.
const COUNTED: usize = 100;

/// The items whose hashes have one prefix in the first table.
#[derive(Clone, Debug, Default)]
struct Group {
    /// Entries of the filter with this prefix, in all tables.
    entries: u64,
    /// Copies that were added and not deleted, of items that cannot have been lost.
    items: HashMap<Vec<u8>, u64>,
}

/// What a filter must contain: the multiset of the prefixes that were added and not deleted.
///
/// The prefixes of the first table, whose number never changes, divide those of all others. So
/// whatever a filter does with its entries, it has as many of a prefix as were added and not
/// deleted. An item is counted as often as tables have its own prefix, which may be finer: at least
/// its copies, and at most the entries of its prefix.
#[derive(Clone, Debug)]
pub struct Model {
    capacity: u64,
    seed: u64,
    first: Table,
    deletes: u64,
    groups: HashMap<u64, Group>,
    /// True if all tables have as many prefixes as the first.
    is_exact: bool,
    is_fixed: bool,
    tables: usize,
}

impl Model {
    /// The model of an empty filter that was created for `capacity` items.
    pub fn new(filter: &AnyCuckoo, capacity: u64) -> Self {
        let header = Header::of(filter);
        let (first, is_fixed) = (header.tables[0].clone(), header.expansion == 0);
        assert!(limit(first.windows) >= capacity, "{capacity} items, {first:?}");
        let (seed, groups) = (header.seed, HashMap::new());
        let (deletes, is_exact, tables) = (0, true, 1);
        Self { capacity, seed, first, deletes, groups, is_exact, is_fixed, tables }
    }

    fn prefix(&self, item: &[u8]) -> u64 {
        self.first.prefix(xxh3_64_with_seed(item, self.seed))
    }

    pub fn len(&self) -> u64 {
        self.groups.values().map(|group| group.entries).sum()
    }

    /// How often the filter may count an item.
    pub fn counts(&self, item: &[u8]) -> RangeInclusive<u64> {
        let Some(group) = self.groups.get(&self.prefix(item)) else { return 0..=0 };
        let least = group.items.get(item).copied().unwrap_or(0);
        (if self.is_exact { group.entries } else { least })..=group.entries
    }

    /// Notes which tables the filter has now.
    pub fn follow(&mut self, filter: &AnyCuckoo) {
        let tables = Header::of(filter).tables;
        self.is_exact = tables.iter().all(|table| table.prefixes() == self.first.prefixes());
        self.tables = tables.len();
    }

    /// Notes the result of an insertion: true if the item is stored, false if it was found.
    pub fn inserted(&mut self, item: &[u8], only_new: bool, result: Result<bool, Refusal>) {
        let counts = self.counts(item);
        match result {
            Ok(true) => {
                assert!(!only_new || *counts.start() == 0, "an item was not found");
                let prefix = self.prefix(item);
                let group = self.groups.entry(prefix).or_default();
                group.entries += 1;
                *group.items.entry(item.to_vec()).or_default() += 1;
            }
            Ok(false) => assert!(only_new && *counts.end() > 0, "an absent item was found"),
            Err(Refusal::Full) => {
                assert!(self.is_fixed && self.len() >= self.capacity, "full: {} items", self.len());
            }
            Err(Refusal::CannotGrow) => assert!(!self.is_fixed && self.tables >= LEAST_TABLES),
        }
    }

    /// Notes the result of a deletion.
    pub fn removed(&mut self, item: &[u8], is_removed: bool) {
        let (counts, prefix) = (self.counts(item), self.prefix(item));
        assert!(is_removed || *counts.start() == 0, "an item was not found");
        assert!(!is_removed || *counts.end() > 0, "an absent item was deleted");
        let Some(group) = self.groups.get_mut(&prefix).filter(|_| is_removed) else { return };
        self.deletes += 1;
        group.entries -= 1;
        match group.items.get_mut(item) {
            Some(copies) => {
                *copies -= 1;
                if *copies == 0 {
                    group.items.remove(item);
                }
            }
            // Any other item of the prefix may have lost its entry.
            None => group.items.clear(),
        }
        if group.entries == 0 {
            self.groups.remove(&prefix);
        }
    }

    /// Notes a compaction.
    pub fn compacted(&mut self, filter: &AnyCuckoo) {
        self.deletes = 0;
        self.follow(filter);
    }

    /// Compares the numbers of the filter, and how often it counts some items.
    pub fn assert_equal(&self, filter: &AnyCuckoo) {
        let header = Header::of(filter);
        assert_eq!(header.encode(), filter.encode_header());
        assert_eq!((filter.len(), filter.deletes()), (self.len(), self.deletes));
        assert_eq!((header.seed, header.tables[0].prefixes()), (self.seed, self.first.prefixes()));
        let (mut rate, mut items, mut iterator) = (0.0, 0, 1);
        for table in &header.tables {
            let bytes;
            (iterator, bytes) = filter.scan_dump(iterator).expect("the bytes of a table");
            let occupied = table.occupied(bytes);
            let load = occupied + table.list.len() as u64;
            rate += load as f64 / table.prefixes() as f64;
            items += occupied + table.list.values().sum::<u64>();
            assert_eq!(iterator, 1 + table.start + table.byte_count());
        }
        assert_eq!((filter.scan_dump(iterator), items), (None, self.len()));
        let stated = filter.current_rate().expect("a rate");
        assert!((stated - rate).abs() <= 1e-9 * rate, "{stated}, not {rate}");
        let (life, most) = (header.rate_for_life(), header.error_rate);
        assert!(rate <= life * (1.0 + 1e-9) && life <= most * (1.0 + 1e-9), "{rate}, {life}");
        let known = self.groups.values().flat_map(|group| group.items.keys());
        for item in known.step_by(self.groups.len() / COUNTED + 1) {
            let (count, expected) = (filter.count(item), self.counts(item));
            assert!(expected.contains(&count), "{count}, not {expected:?}: {filter:?}");
        }
    }
}
