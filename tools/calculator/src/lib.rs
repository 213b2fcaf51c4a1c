//! Sizes and rates of filters, by the module's own rules, to be called from JavaScript.
//!
//! `make wasm` compiles it to wasm32. A function takes and returns numbers only: it writes its
//! result to the array at [`result`], which the next call overwrites, and returns the number of its
//! elements, or -1 if there is no such filter. No argument makes it trap.

use std::sync::atomic::{AtomicU64, Ordering};

use bloomline_core::window::{Window, WindowSpec};
use bloomline_core::{Growth, Spec};
use bloomline_tools::plan::Plan;
use bloomline_tools::windowed::WindowedPlan;

/// Elements of a result.
const LEN: usize = 5;

/// The result of the last call: the bits of each number. Atomic only because it is static.
static RESULT: [AtomicU64; LEN] = [const { AtomicU64::new(0) }; LEN];

/// The array of results: numbers of type `f64`, in the byte order of the machine.
#[unsafe(no_mangle)]
pub extern "C" fn result() -> *const f64 {
    RESULT.as_ptr().cast()
}

/// A filter that keeps all items, with `items` new ones in it.
///
/// `expansion` is 0 for a filter that does not grow. The result: bytes, bytes that BF.COMPACT frees,
/// layers, bits set per item in the newest layer, expected rate of false positives.
#[unsafe(no_mangle)]
pub extern "C" fn plan(capacity: f64, error_rate: f64, expansion: f64, items: f64) -> i32 {
    let plan = spec(capacity, error_rate, expansion)
        .zip(whole(items))
        .and_then(|(spec, items)| Plan::new(spec, items).ok());
    write(plan.map(|plan| {
        [
            plan.size_bytes() as f64,
            plan.freed_bytes() as f64,
            plan.layer_count() as f64,
            f64::from(plan.hashes()),
            plan.fp_rate(),
        ]
    }))
}

/// A filter that forgets, with `items` distinct items inside its window, when it is full.
///
/// `seconds` is the window, 0 for a filter that is rotated by hand, and -1 for one that finds the
/// last items (LAST). `refreshes` is not 0 if an item that is added again is found longer. The
/// result: bytes, bytes that BF.COMPACT frees, layers, generations, expected rate of false
/// positives.
#[unsafe(no_mangle)]
pub extern "C" fn plan_window(
    capacity: f64,
    error_rate: f64,
    expansion: f64,
    seconds: f64,
    generations: f64,
    refreshes: i32,
    items: f64,
) -> i32 {
    let window = match seconds {
        0.0 => Some(Window::Manual),
        -1.0 => Some(Window::Last),
        _ => whole(seconds).map(|it| Window::Time { millis: it.saturating_mul(1000) }),
    };
    let generations = whole(generations).and_then(|it| u32::try_from(it).ok());
    let plan = spec(capacity, error_rate, expansion)
        .zip(window)
        .zip(generations)
        .zip(whole(items))
        .and_then(|(((spec, window), generations), items)| {
            let Spec { capacity, error_rate, growth } = spec;
            let refreshes = refreshes != 0;
            let spec = WindowSpec { capacity, error_rate, growth, window, generations, refreshes };
            WindowedPlan::new(spec, items).ok()
        });
    write(plan.map(|plan| {
        [
            plan.size_bytes() as f64,
            plan.freed_bytes() as f64,
            plan.layer_count() as f64,
            f64::from(plan.generation_count()),
            plan.fp_rate(),
        ]
    }))
}

/// The parameters of a filter, if they are whole numbers where they must be.
fn spec(capacity: f64, error_rate: f64, expansion: f64) -> Option<Spec> {
    let growth = match u32::try_from(whole(expansion)?).ok()? {
        0 => Growth::Fixed,
        expansion => Growth::Scaling { expansion },
    };
    Some(Spec { capacity: whole(capacity)?, error_rate, growth })
}

/// A whole number of at least 0 that JavaScript represents exactly.
fn whole(number: f64) -> Option<u64> {
    const LARGEST: f64 = (1u64 << 53) as f64;
    let is_whole = (0.0..=LARGEST).contains(&number) && number.fract() == 0.0;
    is_whole.then_some(number as u64)
}

fn write(numbers: Option<[f64; LEN]>) -> i32 {
    let Some(numbers) = numbers else { return -1 };
    for (to, number) in RESULT.iter().zip(numbers) {
        to.store(number.to_bits(), Ordering::Relaxed);
    }
    LEN as i32
}
