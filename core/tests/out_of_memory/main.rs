//! Operations while one allocation fails: the first one, the second one, and so on until the
//! operation succeeds.
//!
//! After each failure the filter still has every item, and no allocation has leaked.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

use bloomline_core::Error;
use bloomline_core::host::Demand;

mod compaction;
mod kinds;
mod relocation;

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

fn granted(_: Demand) -> bool {
    true
}

fn item(number: u64) -> Vec<u8> {
    number.to_le_bytes().to_vec()
}
