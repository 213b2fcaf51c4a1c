//! Operations while one allocation fails: the first one, the second one, and so on until the
//! operation succeeds.
//!
//! After each failure the filter still has every item, and no allocation has leaked.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

use bloomline_core::Error;
use bloomline_core::bloom::layer::Layer;
use bloomline_core::bloom::redisbloom::geometry::Options;
use bloomline_core::bloom::redisbloom::{Common, RedisBloomFilter};
use bloomline_core::bloom::scalable::ScalableFilter;
use bloomline_core::host::{AnyFilter, Demand, Filter, Growth, Spec};
use bloomline_reference::calls::Calls;

mod cuckoo;
mod joined;
mod windowed;

thread_local! {
    /// Number of allocations until one fails; `None` if none is to fail.
    static UNTIL_FAILURE: Cell<Option<u64>> = const { Cell::new(None) };
    static HAS_FAILED: Cell<bool> = const { Cell::new(false) };
    /// Allocations less frees.
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

fn is_granted() -> bool {
    UNTIL_FAILURE.with(|until| match until.get() {
        None => true,
        Some(0) => {
            until.set(None);
            HAS_FAILED.with(|failed| failed.set(true));
            false
        }
        Some(more) => {
            until.set(Some(more - 1));
            true
        }
    })
}

/// The system's allocator. It fails where the test requires it, and counts live allocations.
struct Failing;

#[cfg(not(feature = "audit"))]
#[global_allocator]
static ALLOCATOR: Failing = Failing;

#[cfg(feature = "audit")]
#[global_allocator]
static ALLOCATOR: bloomline_core::memory::ledger::Audited<Failing> =
    bloomline_core::memory::ledger::Audited(Failing);

fn counted(block: *mut u8) -> *mut u8 {
    LIVE.with(|live| live.set(live.get() + i64::from(!block.is_null())));
    block
}

// SAFETY: every call is forwarded to the system's allocator, or fails.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        if is_granted() { counted(unsafe { System.alloc(layout) }) } else { ptr::null_mut() }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        if is_granted() { counted(unsafe { System.alloc_zeroed(layout) }) } else { ptr::null_mut() }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // A smaller block is always granted: nothing is allocated for it.
        let is_granted = bytes <= layout.size() || is_granted();
        // SAFETY: guaranteed by the caller.
        if is_granted { unsafe { System.realloc(block, layout, bytes) } } else { ptr::null_mut() }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.with(|live| live.set(live.get() - 1));
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Runs a function in which the allocation after the first `allocations` fails. Returns the result,
/// and whether there was such an allocation.
fn failing_after<R>(allocations: u64, run: impl FnOnce() -> R) -> (R, bool) {
    HAS_FAILED.with(|failed| failed.set(false));
    UNTIL_FAILURE.with(|until| until.set(Some(allocations)));
    let result = run();
    UNTIL_FAILURE.with(|until| until.set(None));
    (result, HAS_FAILED.with(Cell::get))
}

fn live_allocations() -> i64 {
    LIVE.with(Cell::get)
}

/// Runs an operation until no allocation of it fails, each time with another allocation failing. A
/// failure must leave the state of the filter as it was, and leak nothing. Returns the result, and
/// the number of failures.
fn retried<F, S: PartialEq, T>(
    filter: &mut F,
    state: impl Fn(&F) -> S,
    mut run: impl FnMut(&mut F) -> Result<T, Error>,
) -> (T, u64) {
    for allocations in 0.. {
        let before = state(filter);
        let live = live_allocations();
        let (result, has_failed) = failing_after(allocations, || run(filter));
        match result {
            Ok(made) => {
                assert!(!has_failed, "success although an allocation failed");
                return (made, allocations);
            }
            Err(error) => {
                assert!(has_failed && matches!(error, Error::OutOfMemory(_)), "{error}");
                assert_eq!(live_allocations(), live, "leak after {allocations} allocations");
                assert!(state(filter) == before, "changed after {allocations} allocations");
            }
        }
    }
    unreachable!()
}

/// The same for what makes a filter.
fn until_success<T>(mut make: impl FnMut() -> Result<T, Error>) -> (T, u64) {
    retried(&mut (), |_| (), |_| make())
}

/// All that an operation might change: the header and the bits.
fn state(filter: &AnyFilter) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut bits = Vec::new();
    filter.each_layer(|words| bits.push(words.as_bytes().to_vec()));
    (filter.encode_header(), bits)
}

fn granted(_: Demand) -> bool {
    true
}

fn scaling(capacity: u64, error_rate: f64, expansion: u32) -> Spec {
    Spec { capacity, error_rate, growth: Growth::Scaling { expansion } }
}

fn specs() -> Vec<Spec> {
    let fixed = Spec { capacity: 100_000, error_rate: 0.001, growth: Growth::Fixed };
    vec![scaling(4, 1e-6, 1), scaling(4, 1e-6, 2), scaling(50_000, 1e-6, 3), fixed]
}

fn classic(spec: Spec) -> Result<RedisBloomFilter, Error> {
    let expansion = match spec.growth {
        Growth::Scaling { expansion } => expansion,
        Growth::Fixed => 2,
    };
    let options = Options::of_new_filter(spec.growth == Growth::Fixed);
    RedisBloomFilter::new(
        spec.capacity,
        spec.error_rate,
        Common { options, expansion },
        &mut granted,
    )
}

fn item(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// Inserts items one by one, and lets each allocation fail once. Returns the number of failures.
fn grow(filter: &mut AnyFilter, items: u64) -> u64 {
    let insert =
        |number| retried(filter, state, |it| it.insert_item(&item(number), 0, &mut granted)).1;
    let failures = (0..items).map(insert).sum();
    assert!((0..items).all(|number| filter.contains_item(&item(number), 0)));
    failures
}

#[test]
fn failed_creation_leaks_nothing() {
    for spec in specs() {
        let (filter, failures) = until_success(|| Filter::new(spec, 7, &mut granted));
        assert!(filter.is_empty() && failures > 0);
        let (filter, failures) = until_success(|| classic(spec));
        assert!(filter.is_empty() && failures > 0);
    }
}

#[test]
fn failed_growth_loses_no_item_and_can_be_retried() {
    for (expansion, items) in [(1, 120), (2, 1000)] {
        let spec = scaling(4, 1e-9, expansion);
        for mut filter in [
            AnyFilter::from(Filter::new(spec, 7, &mut granted).unwrap()),
            classic(spec).unwrap().into(),
        ] {
            let failures = grow(&mut filter, items);
            // Two allocations per further layer: its bits and the table of the older layers.
            assert!(failures >= 2 * u64::from(filter.layer_count() - 1), "{failures}");
        }
    }
}

/// Inserts items in calls of a hundred, and lets one allocation fail in each call.
fn grow_in_batches<L: Layer>(filter: &mut ScalableFilter<L>)
where
    ScalableFilter<L>: Calls<Inserted = bool>,
{
    let (mut acknowledged, mut inserted) = (Vec::new(), 0);
    for call in 0..40 {
        let items: Vec<[u8; 8]> = (call * 100..call * 100 + 100).map(item).collect();
        let mut answers = Vec::with_capacity(items.len());
        failing_after(call % 5, || {
            filter.insert_each(
                &mut items.iter().map(|item| &item[..]),
                0,
                &mut granted,
                &mut |answer| answers.push(answer),
            );
        });
        assert_eq!(answers.len(), items.len(), "each item has an answer");
        inserted += answers.iter().filter(|answer| **answer == Ok(true)).count() as u64;
        acknowledged.extend(
            items.iter().zip(answers).filter(|(_, answer)| answer.is_ok()).map(|(item, _)| *item),
        );
        assert_eq!(filter.len(), inserted);
        assert!(
            acknowledged.iter().all(|item| filter.contains_item(item, 0)),
            "missing items after call {call}"
        );
    }
    assert!(acknowledged.len() < 4000, "no allocation failed");
}

#[test]
fn batches_without_memory_keep_acknowledged_items() {
    let spec = scaling(10, 1e-9, 1);
    grow_in_batches(&mut Filter::new(spec, 7, &mut granted).unwrap());
    grow_in_batches(&mut classic(spec).unwrap());
}

#[test]
fn failed_decoding_leaks_nothing() {
    for spec in specs().into_iter().filter(|spec| spec.growth != Growth::Fixed) {
        let mut filter = Filter::new(spec, 7, &mut granted).unwrap();
        add_layers(&mut filter);
        let header = filter.encode_header();
        let (loaded, failures) = until_success(|| Filter::decode_header(&header, &mut granted));
        assert_eq!(loaded.len(), filter.len());
        assert!(failures >= filter.layer_count().into());

        let mut filter = classic(spec).unwrap();
        add_layers(&mut filter);
        let header = filter.encode_header();
        let (loaded, failures) =
            until_success(|| RedisBloomFilter::decode_header(&header, &mut granted));
        assert_eq!(loaded.len(), filter.len());
        assert!(failures >= filter.layer_count().into());
    }
}

/// Inserts items until the filter has a dozen layers or takes a megabyte.
fn add_layers<L: Layer>(filter: &mut ScalableFilter<L>)
where
    ScalableFilter<L>: Calls<Inserted = bool>,
{
    for number in 0.. {
        if filter.layer_count() >= 12 || filter.size_bytes() > 1 << 20 {
            return;
        }
        filter.insert_item(&item(number), 0, &mut granted).unwrap();
    }
}

#[test]
fn failed_clone_leaves_the_original_unchanged() {
    let mut filter = Filter::new(scaling(4, 1e-6, 2), 7, &mut granted).unwrap();
    for number in 0..500 {
        filter.insert_item(&item(number), 0, &mut granted).unwrap();
    }
    let (copy, failures) = until_success(|| filter.try_clone(&mut granted));
    assert!(failures >= filter.layer_count().into());
    let len = filter.len();
    assert_eq!(copy.len(), len);
    assert!((0..500).all(|number| filter.contains_item(&item(number), 0)));
    assert!((0..500).all(|number| copy.contains_item(&item(number), 0)));
}
