//! An allocator that fails once, at the first allocation, the second, and so on until what is tried
//! passes.
//!
//! Refused or not, the filter afterwards has every item it had, and no block
//! is left behind.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

use bloomline_core::layer::Layer;
use bloomline_core::redisbloom::ClassicFilter;
use bloomline_core::redisbloom::Common;
use bloomline_core::redisbloom::geometry::Options;
use bloomline_core::{Demand, Error, Filter, Growth, ScalableFilter, Spec};

thread_local! {
    /// Allocations until one fails; none where all are granted.
    static UNTIL_FAILURE: Cell<Option<u64>> = const { Cell::new(None) };
    static HAS_FAILED: Cell<bool> = const { Cell::new(false) };
    /// Blocks allocated less blocks freed.
    static BLOCKS: Cell<i64> = const { Cell::new(0) };
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

/// The system's allocator, which refuses when it is told to, and counts the blocks that are out.
struct Failing;

#[cfg(not(feature = "audit"))]
#[global_allocator]
static ALLOCATOR: Failing = Failing;

#[cfg(feature = "audit")]
#[global_allocator]
static ALLOCATOR: bloomline_core::memory::ledger::Audited<Failing> =
    bloomline_core::memory::ledger::Audited(Failing);

fn counted(block: *mut u8) -> *mut u8 {
    BLOCKS.with(|blocks| blocks.set(blocks.get() + i64::from(!block.is_null())));
    block
}

// SAFETY: every call is handed to the system's allocator, or refused.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: promised by the caller; so below.
        if is_granted() { counted(unsafe { System.alloc(layout) }) } else { ptr::null_mut() }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        if is_granted() { counted(unsafe { System.alloc_zeroed(layout) }) } else { ptr::null_mut() }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        if is_granted() { unsafe { System.realloc(block, layout, bytes) } } else { ptr::null_mut() }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BLOCKS.with(|blocks| blocks.set(blocks.get() - 1));
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Runs with the allocation failing that comes after so many others; with whether it came to that.
fn failing_after<R>(allocations: u64, run: impl FnOnce() -> R) -> (R, bool) {
    HAS_FAILED.with(|failed| failed.set(false));
    UNTIL_FAILURE.with(|until| until.set(Some(allocations)));
    let result = run();
    UNTIL_FAILURE.with(|until| until.set(None));
    (result, HAS_FAILED.with(Cell::get))
}

fn blocks() -> i64 {
    BLOCKS.with(Cell::get)
}

/// Tries with every allocation failing once; with what it made in the end, and how many allocations
/// failed before.
fn until_it_passes<T>(mut make: impl FnMut() -> Result<T, Error>) -> (T, u64) {
    for allocations in 0.. {
        let before = blocks();
        let (result, has_failed) = failing_after(allocations, &mut make);
        match result {
            Ok(made) => {
                assert!(!has_failed, "it passed without the memory it asked for");
                return (made, allocations);
            }
            Err(error) => {
                assert!(has_failed && matches!(error, Error::OutOfMemory(_)), "{error}");
                assert_eq!(blocks(), before, "blocks left behind after {allocations} allocations");
            }
        }
    }
    unreachable!()
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

fn chain(spec: Spec) -> Result<ClassicFilter, Error> {
    let expansion = match spec.growth {
        Growth::Scaling { expansion } => expansion,
        Growth::Fixed => 2,
    };
    let options = Options::of_new_filter(spec.growth == Growth::Fixed);
    ClassicFilter::new(spec.capacity, spec.error_rate, Common { options, expansion }, &mut granted)
}

fn item(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// Asserts that the first items are there, of which so many were new: small layers take some for
/// one another.
fn assert_has<L: Layer>(filter: &ScalableFilter<L>, items: u64, counted: u64) {
    assert_eq!(filter.len(), counted);
    for number in 0..items {
        assert!(filter.contains(&item(number)), "item {number} of {items} is lost");
    }
}

/// Adds items one by one, each with every allocation failing once; how many failed.
fn grow<L: Layer>(filter: &mut ScalableFilter<L>, items: u64) -> u64 {
    let (mut failures, mut counted) = (0, 0);
    for number in 0..items {
        for allocations in 0.. {
            let layers = filter.layer_count();
            let (result, has_failed) =
                failing_after(allocations, || filter.insert(&item(number), &mut granted));
            if !has_failed {
                counted += u64::from(result.unwrap());
                break;
            }
            failures += 1;
            assert!(matches!(result, Err(Error::OutOfMemory(_))));
            assert_eq!(filter.layer_count(), layers);
            assert_has(filter, number, counted);
        }
    }
    assert_has(filter, items, counted);
    failures
}

#[test]
fn a_filter_that_can_not_be_created_leaves_nothing_behind() {
    for spec in specs() {
        let (filter, failures) = until_it_passes(|| Filter::new(spec, 7, &mut granted));
        assert!(filter.is_empty() && failures > 0);
        let (filter, failures) = until_it_passes(|| chain(spec));
        assert!(filter.is_empty() && failures > 0);
    }
}

#[test]
fn a_filter_that_can_not_grow_has_every_item_it_had_to_grow_later() {
    for (expansion, items) in [(1, 120), (2, 1000)] {
        let spec = scaling(4, 1e-9, expansion);
        let mut filter = Filter::new(spec, 7, &mut granted).unwrap();
        let failures = grow(&mut filter, items);
        // Bits and table of each further layer.
        assert!(failures >= 2 * u64::from(filter.layer_count() - 1), "{failures}");
        let mut filter = chain(spec).unwrap();
        let failures = grow(&mut filter, items);
        assert!(failures >= 2 * u64::from(filter.layer_count() - 1), "{failures}");
    }
}

/// Adds items in calls of a hundred, with one allocation failing in each.
fn grow_in_batches<L: Layer>(filter: &mut ScalableFilter<L>) {
    let (mut acknowledged, mut counted) = (Vec::new(), 0);
    for call in 0..40 {
        let items: Vec<[u8; 8]> = (call * 100..call * 100 + 100).map(item).collect();
        let mut answers = Vec::with_capacity(items.len());
        failing_after(call % 5, || {
            filter.insert_batch(items.iter().map(|item| &item[..]), &mut granted, |answer| {
                answers.push(answer)
            });
        });
        assert_eq!(
            answers.len(),
            items.len(),
            "a call without memory ends with an answer for each"
        );
        counted += answers.iter().filter(|answer| **answer == Ok(true)).count() as u64;
        acknowledged.extend(
            items.iter().zip(answers).filter(|(_, answer)| answer.is_ok()).map(|(item, _)| *item),
        );
        assert_eq!(filter.len(), counted);
        assert!(acknowledged.iter().all(|item| filter.contains(item)), "lost items in call {call}");
    }
    assert!(acknowledged.len() < 4000, "no allocation failed");
}

#[test]
fn a_call_that_meets_the_end_of_memory_has_every_item_that_it_acknowledges() {
    let spec = scaling(10, 1e-9, 1);
    grow_in_batches(&mut Filter::new(spec, 7, &mut granted).unwrap());
    grow_in_batches(&mut chain(spec).unwrap());
}

#[test]
fn a_header_that_can_not_be_loaded_leaves_nothing_behind() {
    for spec in specs().into_iter().filter(|spec| spec.growth != Growth::Fixed) {
        let mut filter = Filter::new(spec, 7, &mut granted).unwrap();
        add_layers(&mut filter);
        let header = filter.encode_header();
        let (loaded, failures) = until_it_passes(|| Filter::decode_header(&header, &mut granted));
        assert_eq!(loaded.len(), filter.len());
        assert!(failures >= filter.layer_count().into());

        let mut filter = chain(spec).unwrap();
        add_layers(&mut filter);
        let header = filter.encode_header();
        let (loaded, failures) =
            until_it_passes(|| ClassicFilter::decode_header(&header, &mut granted));
        assert_eq!(loaded.len(), filter.len());
        assert!(failures >= filter.layer_count().into());
    }
}

/// Adds items until there are a dozen layers, or a megabyte of them.
fn add_layers<L: Layer>(filter: &mut ScalableFilter<L>) {
    for number in 0.. {
        if filter.layer_count() >= 12 || filter.size_bytes() > 1 << 20 {
            return;
        }
        filter.insert(&item(number), &mut granted).unwrap();
    }
}

#[test]
fn a_copy_that_can_not_be_made_leaves_the_original_alone() {
    let mut filter = Filter::new(scaling(4, 1e-6, 2), 7, &mut granted).unwrap();
    for number in 0..500 {
        filter.insert(&item(number), &mut granted).unwrap();
    }
    let (copy, failures) = until_it_passes(|| filter.try_clone(&mut granted));
    assert!(failures >= filter.layer_count().into());
    let len = filter.len();
    assert_eq!(copy.len(), len);
    assert!((0..500).all(|number| filter.contains(&item(number)) && copy.contains(&item(number))));
}
