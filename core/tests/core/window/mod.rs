//! Filters that forget.

use bloomline_core::Growth;
use bloomline_core::layer::Layer;
use bloomline_core::window::{Window, WindowSpec, WindowedFilter};

mod exact;
mod simulation;

/// A window of ten seconds.
const TIME: Window = Window::Time { millis: 10_000 };

fn spec(
    capacity: u64,
    error_rate: f64,
    window: Window,
    generations: u32,
    growth: Growth,
    refreshes: bool,
) -> WindowSpec {
    WindowSpec { capacity, error_rate, growth, window, generations, refreshes }
}

/// The bits of each layer, oldest first.
fn bits(filter: &WindowedFilter) -> Vec<Vec<u8>> {
    filter.layers().map(|layer| layer.words().as_bytes().to_vec()).collect()
}

/// Panics unless both filters are equal.
fn assert_equal(one: &WindowedFilter, other: &WindowedFilter) {
    assert_eq!(one.encode_header(), other.encode_header());
    assert_eq!((one.len(), one.size_bytes()), (other.len(), other.size_bytes()));
    // Not `assert_eq`, which would print up to a megabyte.
    assert!(bits(one) == bits(other), "the bits differ");
}
