//! Computed rates and sizes of rings whose generations are all full.

use bloomline_core::Error;
use bloomline_core::bloom::bloomline::rate::fp_rate;
use bloomline_core::bloom::window::{
    MAX_GENERATIONS, MIN_GENERATIONS, Window, WindowSpec, WindowedFilter,
};
use bloomline_core::host::{Growth, Spec};

use crate::filters::fixed;

use super::{TIME, spec};

/// The most overflow layers of a generation.
const MAX_OVERFLOW_LAYERS: usize = 64;

/// Layers that are computed, not built: the sum of their rates when they are full, and their bytes.
fn layers(spec: Spec, most: usize) -> (f64, u64) {
    let (mut rate, mut bytes) = (0.0, 0u64);
    for layer in spec.layers().take(most) {
        match layer {
            Ok(layer) => {
                rate += fp_rate(layer.geometry(), layer.capacity());
                bytes = bytes.saturating_add(layer.geometry().bytes());
            }
            // A layer out of range is refused, and the filter keeps its rate.
            Err(Error::Capacity(_) | Error::ErrorRateTooSmall(_) | Error::Full(_)) => break,
            Err(other) => panic!("{other}"),
        }
    }
    (rate, bytes)
}

/// The computed rate of a ring whose generations are full, with overflow layers up to the most.
fn full_rate(spec: &WindowSpec) -> f64 {
    let overflow = spec.overflow().map_or(0.0, |spec| layers(spec, MAX_OVERFLOW_LAYERS).0);
    f64::from(spec.generations + 1) * (layers(spec.regular(), 1).0 + overflow)
}

#[test]
fn full_rings_keep_their_target_rate() {
    let rates = [0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9];
    for generations in 2..=MAX_GENERATIONS {
        for error_rate in rates {
            for capacity in [64, 100, 1_000, 12_345, 100_000, 1_000_000, 10_000_000] {
                for (window, growth, refreshes) in [
                    (TIME, Growth::Scaling { expansion: 1 }, true),
                    (TIME, Growth::Scaling { expansion: 2 }, false),
                    (Window::Last, Growth::Scaling { expansion: 4 }, true),
                    (Window::Last, Growth::Scaling { expansion: 2 }, false),
                    (Window::Manual, Growth::Fixed, true),
                ] {
                    let spec = spec(capacity, error_rate, window, generations, growth, refreshes);
                    let rate = full_rate(&spec);
                    assert!(rate > 0.0 && rate <= error_rate, "{rate:e}: {spec:?}");
                }
            }
        }
    }
}

#[test]
fn full_ring_takes_at_most_17_bits_per_item_at_1_percent() {
    // An eighth of the error budget is for overflow layers.
    for (error_rate, most) in [(0.01, 17.0), (0.001, 22.5)] {
        let growth = Growth::Scaling { expansion: 2 };
        let spec = spec(1_000_000, error_rate, TIME, 8, growth, true);
        let bits = layers(spec.regular(), 1).1 as f64 * 9.0 * 8.0 / 1e6;
        assert!(bits <= most && bits > most - 1.5, "{bits} at {error_rate}");
        let regular = fixed(125_000, error_rate / 9.0 * 7.0 / 8.0);
        assert_eq!(layers(spec.regular(), 1).1, layers(regular, 1).1);
    }
}

/// The least error rate that such a filter may have, and the next one that is refused.
fn least_rate(of_rate: impl Fn(f64) -> WindowSpec) -> (f64, f64) {
    let (mut refused, mut accepted) = (1e-18f64, 0.25f64);
    while accepted / refused > 1.001 {
        let middle = (refused * accepted).sqrt();
        match of_rate(middle).check() {
            Ok(()) => accepted = middle,
            Err(Error::ErrorRateTooSmall(layer)) => {
                assert!(layer < middle, "{layer:e} of {middle:e}");
                refused = middle;
            }
            Err(other) => panic!("{other}"),
        }
    }
    (accepted, refused)
}

#[test]
fn accepted_rates_allow_all_items_of_a_window_in_one_generation() {
    for generations in [MIN_GENERATIONS, 8, MAX_GENERATIONS] {
        for (capacity, expansion) in [(64, 1), (640, 1), (640, 2), (5_000, 3), (1_000_000, 2)] {
            let growth = Growth::Scaling { expansion };
            for window in [TIME, Window::Manual, Window::Last] {
                let (least, _) =
                    least_rate(|rate| spec(capacity, rate, window, generations, growth, true));
                let spec = spec(capacity, least, window, generations, growth, true);
                let mut room = spec.regular().capacity;
                for layer in spec.overflow().unwrap().layers() {
                    if room >= capacity {
                        break;
                    }
                    room += layer.unwrap().capacity();
                }
                assert!(room >= capacity && least < 1e-8, "{spec:?}");
            }
        }
    }
}

#[test]
fn refreshed_items_are_never_refused_for_their_number() {
    let growth = Growth::Scaling { expansion: 2 };
    let of_rate = |rate| spec(640, rate, Window::Last, 64, growth, true);
    let (least, refused) = least_rate(of_rate);
    let mut filter = WindowedFilter::new(of_rate(least), 7, 0, &mut |_| true).unwrap();
    let mut random = bloomline_reference::random::Random::new(1);
    for round in 0..60 {
        for item in 0..600u64 {
            let item = if round < 30 { item } else { random.below(600) };
            let result = filter.insert(&item.to_le_bytes(), 0, &mut |_| true);
            assert!(result.is_ok(), "{result:?} in round {round}");
        }
    }
    // An empty filter of a smaller rate is refused, and so is its header.
    let too_small = WindowedFilter::new(of_rate(refused), 7, 0, &mut |_| unreachable!());
    assert!(matches!(too_small, Err(Error::ErrorRateTooSmall(_))), "{too_small:?}");
    let mut header = filter.encode_header();
    header[32..40].copy_from_slice(&refused.to_le_bytes());
    let decoded = WindowedFilter::decode_header(&header, &mut |_| unreachable!());
    assert!(matches!(decoded, Err(Error::ErrorRateTooSmall(_))), "{decoded:?}");
}
