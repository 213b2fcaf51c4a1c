//! Permits: only what makes a filter larger needs one.

use bloomline_core::Error;
use bloomline_core::bloom::window::{Window, WindowedFilter};
use bloomline_core::host::{Demand, Growth};

use super::{TIME, kinds, spec};

/// A filter with all its generations, and the time of the last one. The window is manual or of a
/// time.
fn complete(window: Window) -> (WindowedFilter, u64) {
    let spec = spec(80, 0.01, window, 4, Growth::Fixed, true);
    let mut filter = WindowedFilter::new(spec, 7, 0, &mut |_| true).unwrap();
    let mut now = 0;
    for _ in 0..4 {
        now += 2_500;
        match window {
            Window::Manual => filter.rotate(now, &mut |_| true).unwrap(),
            _ => assert!(filter.advance(now, &mut |_| true).unwrap()),
        }
    }
    assert_eq!(filter.generation_count(), 5);
    (filter, now)
}

#[test]
fn a_rotation_that_drops_a_generation_needs_no_permit() {
    for window in [TIME, Window::Manual] {
        let (mut filter, mut now) = complete(window);
        for _ in 0..10 {
            now += 2_500;
            let (number, size) = (filter.number(), filter.size_bytes());
            match window {
                Window::Manual => filter.rotate(now, &mut |_| false).unwrap(),
                _ => assert!(filter.advance(now, &mut |_| false).unwrap()),
            }
            assert_eq!((filter.number(), filter.size_bytes()), (number + 1, size));
            assert_eq!(filter.generation_count(), 5);
        }
    }
}

#[test]
fn a_generation_more_than_before_needs_a_permit() {
    for spec in kinds() {
        let mut filter = WindowedFilter::new(spec, 7, 0, &mut |_| true).unwrap();
        let before = filter.encode_header();
        let mut asked = 0;
        let refused = match spec.window {
            Window::Time { millis } => filter
                .advance(millis, &mut |_| {
                    asked += 1;
                    false
                })
                .map(drop),
            _ => filter.rotate(1, &mut |_| {
                asked += 1;
                false
            }),
        };
        assert!(matches!(refused, Err(Error::Refused(_))), "{refused:?}");
        assert_eq!((asked, filter.encode_header()), (1, before));
    }
}

#[test]
fn a_filter_needs_the_permit_for_all_its_generations() {
    for spec in kinds() {
        let mut complete = WindowedFilter::new(spec, 7, 0, &mut |_| true).unwrap();
        let header = complete.encode_header();
        let empty = WindowedFilter::decode_header(&header, &mut |_| true).unwrap();
        for now in 1..=spec.generations {
            complete.rotate(now.into(), &mut |_| true).unwrap();
        }
        let size = complete.size_bytes();
        assert!(spec.complete_bytes() == Some(size) && empty.size_bytes() < size);
        for limit in [size, size - 1] {
            let permit = &mut |demand: Demand| demand.filter_bytes <= limit;
            let made = [
                WindowedFilter::new(spec, 7, 0, permit),
                WindowedFilter::decode_header(&header, permit),
                empty.try_clone(permit),
            ];
            for result in made {
                let is_refused = matches!(result, Err(Error::Refused(bytes)) if bytes == size);
                assert!(is_refused == (limit < size), "{result:?}");
                assert!(is_refused != result.is_ok(), "{result:?}");
            }
        }
    }
}
