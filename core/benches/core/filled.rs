//! Full filters, most bits of which are set at random.

use std::ops::ControlFlow;

use bloomline_core::Error;
use bloomline_core::bloom::window::{DEFAULT_GENERATIONS, Window, WindowSpec, WindowedFilter};
use bloomline_core::host::valkey::{ValkeyFilter, ValkeyParams};
use bloomline_core::host::{AnyFilter, Filter, Growth, Spec};
use bloomline_reference::items::{Item, mix};

/// The largest number of items among which hits are chosen: their blocks do not fit the caches.
const MOST_STORED: u64 = 2_000_000;

/// The filters that are measured: the name, tenths of bits per item, and how one is made. A layer
/// with half of the target rate of 1 % has 11.2 bits per item, one with the whole of it 9.6, and
/// all generations of a windowed filter have 16.6.
pub const KINDS: [Kind; 4] = [
    ("bloomline", 112, |spec| Filter::new(spec, 42, &mut |_| true).map(AnyFilter::from)),
    ("redisbloom", 112, |spec| AnyFilter::redisbloom(spec, 2, &mut |_| true)),
    ("valkey-bloom", 96, |Spec { capacity, error_rate, growth }| {
        let (expansion, seed, is_random) = (growth.expansion(), [42; 32], true);
        let params = ValkeyParams { expansion, error_rate, tightening: 0.5, seed, is_random };
        ValkeyFilter::new(capacity, params, &mut |_| true).map(AnyFilter::from)
    }),
    ("forgets", 166, |Spec { capacity, error_rate, growth }| {
        let (window, generations, refreshes) = (Window::Manual, DEFAULT_GENERATIONS, true);
        let spec = WindowSpec { capacity, error_rate, growth, window, generations, refreshes };
        WindowedFilter::new(spec, 42, 0, &mut |_| true).map(AnyFilter::from)
    }),
];

pub type Kind = (&'static str, u64, fn(Spec) -> Result<AnyFilter, Error>);

/// A filter of about `bytes` bytes with half of its bits set, and the number of its items, which
/// are [`Item::Stored`] from 0 on. Those of a windowed filter are spread over its generations.
pub fn filled((_, tenths, new): Kind, bytes: u64) -> Result<(AnyFilter, u64), Error> {
    let growth = Growth::Scaling { expansion: 2 };
    let mut filter = new(Spec { capacity: bytes * 8 * 10 / tenths, error_rate: 0.01, growth })?;
    let stored = (filter.capacity() / 2).min(MOST_STORED);
    let is_windowed = filter.windowed_mut().is_some();
    let parts = if is_windowed { u64::from(DEFAULT_GENERATIONS) + 1 } else { 1 };
    for part in 0..parts {
        if let (1.., Some(windowed)) = (part, filter.windowed_mut()) {
            windowed.rotate(0, &mut |_| true)?;
        }
        for number in stored * part / parts..stored * (part + 1) / parts {
            filter.insert(&Item::Stored(number).bytes(), 0, &mut |_| true)?;
        }
    }
    set_half(&mut filter)?;
    Ok((filter, stored))
}

/// A filter that has grown from a capacity of 100 to `items` items, which are [`Item::Stored`] from
/// 0 on.
pub fn grown((_, _, new): Kind, items: u64) -> Result<(AnyFilter, u64), Error> {
    let growth = Growth::Scaling { expansion: 2 };
    let mut filter = new(Spec { capacity: 100, error_rate: 0.01, growth })?;
    let items: Vec<[u8; 20]> = (0..items).map(|number| Item::Stored(number).bytes()).collect();
    let _ = filter.insert_batch(items.iter(), 0, &mut |_| true, |_| ControlFlow::Continue(()));
    Ok((filter, items.len() as u64))
}

/// Sets each bit with probability 1/2, beside those that are set.
fn set_half(filter: &mut AnyFilter) -> Result<(), Error> {
    let mut offset = 0;
    while let Some(mut chunk) = filter.chunk(offset).map(<[u8]>::to_vec) {
        for (word, number) in chunk.chunks_mut(8).zip(0..) {
            let random = mix(offset + number).to_le_bytes();
            word.iter_mut().zip(random).for_each(|(byte, random)| *byte |= random);
        }
        filter.write_chunk(offset, &chunk)?;
        offset += chunk.len() as u64;
    }
    Ok(())
}
