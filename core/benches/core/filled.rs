//! Full filters, most bits of which are set at random.

use bloomline_core::Error;
use bloomline_core::host::{AnyFilter, Filter, Growth, Spec};
use bloomline_core::window::{DEFAULT_GENERATIONS, Window, WindowSpec, WindowedFilter};
use bloomline_reference::items::{Item, mix};

/// The largest number of items among which hits are chosen: their blocks do not fit the caches.
const MOST_STORED: u64 = 2_000_000;

/// Which filters are measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bloomline,
    RedisBloom,
    /// A windowed filter, with all of its generations.
    Forgets,
}

impl Kind {
    pub const ALL: [(Kind, &str); 3] = [
        (Kind::Bloomline, "bloomline"),
        (Kind::RedisBloom, "redisbloom"),
        (Kind::Forgets, "forgets"),
    ];
}

/// A filter of about `bytes` bytes with half of its bits set, and the number of its items, which
/// are [`Item::Stored`] from 0 on. Those of a windowed filter are spread over its generations.
pub fn filled(kind: Kind, bytes: u64) -> Result<(AnyFilter, u64), Error> {
    let mut filter = empty(kind, bytes)?;
    let stored = (filter.capacity() / 2).min(MOST_STORED);
    let parts = if kind == Kind::Forgets { u64::from(DEFAULT_GENERATIONS) + 1 } else { 1 };
    for part in 0..parts {
        if let (1.., Some(windowed)) = (part, filter.windowed_mut()) {
            windowed.rotate(0, &mut |_| true)?;
        }
        for number in stored * part / parts..stored * (part + 1) / parts {
            filter.insert(&Item::Stored(number).bytes(), &mut |_| true)?;
        }
    }
    set_half(&mut filter)?;
    Ok((filter, stored))
}

fn empty(kind: Kind, bytes: u64) -> Result<AnyFilter, Error> {
    let (error_rate, growth) = (0.01, Growth::Scaling { expansion: 2 });
    // Tenths of bits per item: 11.2 for a layer with half of the target rate of 1 %, 16.6 for all
    // generations of a windowed filter.
    let capacity = bytes * 8 * 10 / if kind == Kind::Forgets { 166 } else { 112 };
    let spec = Spec { capacity, error_rate, growth };
    match kind {
        Kind::Bloomline => Filter::new(spec, 42, &mut |_| true).map(AnyFilter::from),
        Kind::RedisBloom => AnyFilter::redisbloom(spec, 2, &mut |_| true),
        Kind::Forgets => {
            let (window, generations) = (Window::Manual, DEFAULT_GENERATIONS);
            let refreshes = true;
            let spec = WindowSpec { capacity, error_rate, growth, window, generations, refreshes };
            WindowedFilter::new(spec, 42, 0, &mut |_| true).map(AnyFilter::from)
        }
    }
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
