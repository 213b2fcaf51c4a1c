//! What INFO shows: totals over all filters, and the number of refusals. Counters of refusals and
//! of defragmentation are those of both families.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::server::info::{Report, Sections};

/// A number that any thread may change: the server frees filters in the background.
pub struct Counter(AtomicU64);

impl Counter {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds to the value.
    pub fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
        #[cfg(feature = "audit")]
        ledger::enter(self, amount);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Subtracts what was added before.
    pub fn subtract(&self, amount: u64) {
        self.add(amount.wrapping_neg());
    }
}

/// In the builds with a debug allocator: what each thread has added to each counter.
#[cfg(feature = "audit")]
mod ledger {
    use std::cell::RefCell;
    use std::collections::HashMap;
    use std::ptr;

    use super::Counter;

    thread_local! {
        static ADDED: RefCell<HashMap<*const Counter, u64>> = RefCell::default();
    }

    pub fn enter(counter: &Counter, amount: u64) {
        ADDED.with_borrow_mut(|added| {
            let sum = added.entry(ptr::from_ref(counter)).or_default();
            *sum = sum.wrapping_add(amount);
        });
    }

    impl Counter {
        /// What this thread has added, modulo 2^64.
        pub fn added(&self) -> u64 {
            ADDED.with_borrow(|added| added.get(&ptr::from_ref(self)).copied().unwrap_or(0))
        }
    }
}

/// Filters in all databases.
pub static FILTERS: Counter = Counter::new();
/// Filters of the Bloomline layout.
pub static FILTERS_BLOOMLINE: Counter = Counter::new();
/// Filters of valkey-bloom's layout.
pub static FILTERS_VALKEY_BLOOM: Counter = Counter::new();
/// Layers of all filters.
pub static LAYERS: Counter = Counter::new();
/// Items inserted into all filters.
pub static ITEMS: Counter = Counter::new();
/// Items that the layers of all filters are sized for.
pub static CAPACITY: Counter = Counter::new();
/// Bytes of all filters: their headers, tables and bits.
pub static BYTES: Counter = Counter::new();
/// Windowed filters.
pub static FILTERS_WINDOWED: Counter = Counter::new();
/// Generations that filters have opened since the start, except their first ones.
pub static ROTATIONS: Counter = Counter::new();
/// Generations that filters have dropped since the start.
pub static GENERATIONS_DROPPED: Counter = Counter::new();
/// Layers that filters have grown by since the start.
pub static LAYERS_ADDED: Counter = Counter::new();
/// Merges that changed their destination.
pub static MERGES: Counter = Counter::new();
/// Merges that were refused: the filters differ, the result would exceed its target rate, or there
/// is no memory.
pub static MERGES_REFUSED: Counter = Counter::new();
/// Filters that became smaller by BF.COMPACT.
pub static COMPACTIONS: Counter = Counter::new();
/// Bytes that BF.COMPACT has freed.
pub static BYTES_COMPACTED: Counter = Counter::new();
/// Compactions that were refused for lack of memory.
pub static COMPACTIONS_REFUSED: Counter = Counter::new();
/// Filters that were not created because of a limit or lack of memory.
pub static CREATIONS_REFUSED: Counter = Counter::new();
/// Items that were not inserted because their filter cannot grow, whatever the reason.
pub static GROWTHS_REFUSED: Counter = Counter::new();
/// Filters that were not loaded because their bytes were invalid.
pub static LOADS_REFUSED: Counter = Counter::new();

/// Cuckoo filters in all databases.
pub static CF_FILTERS: Counter = Counter::new();
/// Cuckoo filters of the Bloomline layout.
pub static CF_FILTERS_BLOOMLINE: Counter = Counter::new();
/// Tables of all cuckoo filters.
pub static CF_TABLES: Counter = Counter::new();
/// Items in all cuckoo filters.
pub static CF_ITEMS: Counter = Counter::new();
/// Bytes of all cuckoo filters.
pub static CF_BYTES: Counter = Counter::new();
/// Items that were deleted from cuckoo filters since the start.
pub static CF_DELETES: Counter = Counter::new();
/// Deletions that found no such item.
pub static CF_DELETES_MISSED: Counter = Counter::new();

/// Blocks that active defragmentation has moved.
pub static DEFRAG_HITS: Counter = Counter::new();
/// Blocks that active defragmentation has visited and left in their place.
pub static DEFRAG_MISSES: Counter = Counter::new();

/// This module's own version. MODULE LIST shows another one: see `module.rs`.
const VERSION: &CStr = terminated(concat!(env!("CARGO_PKG_VERSION"), "\0"));

/// A hash of the sources, which `build.rs` computes.
const SOURCES: &CStr = terminated(concat!(env!("BLOOMLINE_SOURCES"), "\0"));

/// A text that ends with a zero byte.
const fn terminated(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

/// The fields of the section, in order.
static FIELDS: [(&CStr, &Counter); 19] = [
    (c"filters", &FILTERS),
    (c"filters_bloomline", &FILTERS_BLOOMLINE),
    (c"layers", &LAYERS),
    (c"items", &ITEMS),
    (c"capacity", &CAPACITY),
    (c"bytes", &BYTES),
    (c"layers_added", &LAYERS_ADDED),
    (c"creations_refused", &CREATIONS_REFUSED),
    (c"growths_refused", &GROWTHS_REFUSED),
    (c"loads_refused", &LOADS_REFUSED),
    (c"filters_windowed", &FILTERS_WINDOWED),
    (c"rotations", &ROTATIONS),
    (c"generations_dropped", &GENERATIONS_DROPPED),
    (c"merges", &MERGES),
    (c"merges_refused", &MERGES_REFUSED),
    (c"compactions", &COMPACTIONS),
    (c"bytes_compacted", &BYTES_COMPACTED),
    (c"compactions_refused", &COMPACTIONS_REFUSED),
    (c"filters_valkey_bloom", &FILTERS_VALKEY_BLOOM),
];

/// The fields that collectors of valkey-bloom know, where they mean the same, in order.
static KNOWN_FIELDS: [(&CStr, &Counter); 7] = [
    (c"bloom_total_memory_bytes", &BYTES),
    (c"bloom_num_objects", &FILTERS),
    (c"bloom_num_filters_across_objects", &LAYERS),
    (c"bloom_num_items_across_objects", &ITEMS),
    (c"bloom_capacity_across_objects", &CAPACITY),
    (c"bloom_defrag_hits", &DEFRAG_HITS),
    (c"bloom_defrag_misses", &DEFRAG_MISSES),
];

/// The fields of the section of cuckoo filters, in order.
static CUCKOO_FIELDS: [(&CStr, &Counter); 7] = [
    (c"cf_filters", &CF_FILTERS),
    (c"cf_filters_bloomline", &CF_FILTERS_BLOOMLINE),
    (c"cf_tables", &CF_TABLES),
    (c"cf_items", &CF_ITEMS),
    (c"cf_bytes", &CF_BYTES),
    (c"cf_deletes", &CF_DELETES),
    (c"cf_deletes_missed", &CF_DELETES_MISSED),
];

/// The sections of INFO: the version and all counters.
pub struct Counters;

impl Report for Counters {
    fn write(sections: &Sections) {
        if let Some(fields) = sections.begin(c"bloom") {
            fields.text(c"version", VERSION);
            fields.text(c"sources", SOURCES);
            for (name, counter) in FIELDS.iter().chain(&KNOWN_FIELDS) {
                fields.number(name, counter.get());
            }
        }
        if let Some(fields) = sections.begin(c"cuckoo") {
            for (name, counter) in &CUCKOO_FIELDS {
                fields.number(name, counter.get());
            }
        }
    }
}
