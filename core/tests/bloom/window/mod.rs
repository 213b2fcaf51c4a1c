//! Windowed filters.

use bloomline_core::Error;
use bloomline_core::bloom::window::{Window, WindowSpec, WindowedFilter};
use bloomline_core::chunk::Bits;
use bloomline_core::host::Growth;

mod chunks;
mod clock;
mod last;
mod permits;
mod rates;

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

/// One specification of each kind.
pub fn kinds() -> [WindowSpec; 6] {
    let twice = Growth::Scaling { expansion: 2 };
    [
        spec(80, 0.01, TIME, 4, twice, true),
        spec(80, 1e-3, TIME, 8, Growth::Fixed, false),
        spec(60, 0.01, Window::Last, 3, twice, true),
        spec(60, 0.05, Window::Last, 6, twice, false),
        spec(100, 1e-4, Window::Manual, 2, Growth::Scaling { expansion: 1 }, true),
        // Four blocks per item, and several pages.
        spec(2_400, 1e-9, Window::Manual, 3, Growth::Scaling { expansion: 4 }, false),
    ]
}

/// A filter that has rotated often, dropped generations, and had a burst in some of those that it
/// has. The items are the decimal numbers from 0 on, as text; some of them are inserted again.
pub fn lived(spec: WindowSpec) -> WindowedFilter {
    let slot = spec.times().map_or(100, |(_, slot)| slot);
    let share = spec.capacity.div_ceil(spec.generations.into());
    let (mut now, mut next) = (1_700_000_000_000, 0);
    let mut filter = WindowedFilter::new(spec, 0x0123_4567_89ab_cdef, now, &mut |_| true).unwrap();
    for generation in 0..u64::from(spec.generations) + 4 {
        filter.advance(now, &mut |_| true).unwrap();
        let is_burst = generation % 3 == 2;
        let again = if is_burst { next / 2 } else { next - next / 16 };
        let end = next + if is_burst { 2 * share } else { share * 3 / 4 };
        for item in (again..next).chain(next..end) {
            let result = filter.insert(item.to_string().as_bytes(), 0, &mut |_| true);
            assert!(matches!(result, Ok(_) | Err(Error::Full(_))), "{result:?}");
        }
        next = end;
        now += slot;
        if spec.window == Window::Manual {
            filter.rotate(now, &mut |_| true).unwrap();
        }
    }
    filter
}

/// The filter of the header and the chunks of another one.
fn copied(filter: &WindowedFilter) -> WindowedFilter {
    let mut copy = WindowedFilter::decode_header(&filter.encode_header(), &mut |_| true).unwrap();
    for chunk in filter.chunks(0, 4096) {
        copy.write_chunk(chunk.offset, chunk.bytes()).unwrap();
    }
    copy
}
