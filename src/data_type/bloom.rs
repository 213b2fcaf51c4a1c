//! Bloom filters as values of keys, and what they add to the totals of INFO.

use std::ops::ControlFlow;
use std::ptr::NonNull;

use delegate::delegate;

use super::family::{DataType, Names};
use super::registry::{BLOOM, BLOOM_TYPES, VALKEY_BLOOM};
use super::server_type::ServerType;
use super::totals::Totals;
use crate::policy::counters::{
    BYTES, CAPACITY, Counter, FILTERS, FILTERS_BLOOMLINE, FILTERS_VALKEY_BLOOM, FILTERS_WINDOWED,
    GENERATIONS_DROPPED, ITEMS, LAYERS, LAYERS_ADDED, ROTATIONS,
};
use crate::server::background;
use bloomline_core::host::pages::LARGE;
use bloomline_core::host::{AnyFilter, Generation, MAX_CHUNK_BYTES, Mover, Permit, SparseBytes};
use bloomline_core::{Error, Layout};

impl DataType for AnyFilter {
    const NAMES: Names = Names { kind: "bloom", loadchunk: c"BF.LOADCHUNK" };

    type Before = Before;

    #[inline]
    fn types() -> &'static [&'static ServerType] {
        &BLOOM_TYPES
    }

    #[inline]
    fn server_type(&self) -> &'static ServerType {
        match self.layout() {
            Layout::Bloomline | Layout::RedisBloom => &BLOOM,
            Layout::ValkeyBloom => &VALKEY_BLOOM,
        }
    }

    #[inline]
    fn before_growth(&self) -> Before {
        Before::growth_of(self)
    }

    fn before_change(&self) -> Before {
        match Before::growth_of(self) {
            Before::Growth { .. } => Before::Any(totals(self)),
            other => other,
        }
    }

    #[inline]
    fn after_change(&mut self, before: &Before) {
        before.count_change(self);
    }

    fn each_total(&self, see: impl FnMut(&Counter, u64)) {
        totals(self).each(see);
    }

    fn each_loadchunk(&self, mut load: impl FnMut(u64, &[u8])) {
        load(1, &self.encode_header());
        self.each_chunk(0, MAX_CHUNK_BYTES, |chunk| {
            if !chunk.is_zero() {
                load(chunk.end() + 1, chunk.bytes());
            }
            ControlFlow::Continue(())
        });
    }

    fn payload(&self) -> Option<SparseBytes> {
        /// The largest filter that is sent as one argument: clients may send no longer one by
        /// default.
        const MOST: u64 = 512 << 20;
        let small = self.valkey().filter(|filter| filter.size_bytes() <= MOST);
        small.and_then(|filter| filter.encode_payload().ok())
    }

    // The filter's own methods of these names.
    delegate! {
        to self {
            fn check(&self) -> Result<(), Error>;
            fn size_bytes(&self) -> u64;
            fn layout(&self) -> Layout;
            fn try_clone(&self, permit: Permit) -> Result<Self, Error>;
            fn each_allocation(&self, see: impl FnMut(NonNull<u8>));
            fn relocate(
                &mut self,
                from: usize,
                mover: &mut Mover,
                should_stop: impl FnMut() -> bool,
            ) -> Option<usize>;
        }
    }
}

static TOTALS: [&Counter; 8] = [
    &FILTERS,
    &FILTERS_BLOOMLINE,
    &FILTERS_VALKEY_BLOOM,
    &FILTERS_WINDOWED,
    &LAYERS,
    &ITEMS,
    &CAPACITY,
    &BYTES,
];

/// What a filter adds to them.
fn totals(filter: &AnyFilter) -> Totals<8> {
    let sums = filter.sums();
    Totals::new(
        &TOTALS,
        [
            1,
            (filter.layout() == Layout::Bloomline).into(),
            (filter.layout() == Layout::ValkeyBloom).into(),
            filter.windowed().is_some().into(),
            sums.layers.into(),
            sums.items,
            sums.capacity,
            sums.bytes,
        ],
    )
}

/// What is known of a filter before a change.
pub enum Before {
    /// The filter only grows: its layers, and the items in the newest.
    Growth {
        layers: u32,
        newest_len: u64,
        /// The bytes of a small filter, which also grows without a new layer; 0 of others.
        small_bytes: u64,
    },
    /// Anything may change: its totals.
    Any(Totals<8>),
    Windowed {
        before: Totals<8>,
        /// The items in the newest generation.
        newest_len: u64,
        /// The number of its newest generation.
        number: u64,
        generations: u64,
    },
}

impl Before {
    #[inline]
    fn growth_of(filter: &AnyFilter) -> Self {
        match filter.windowed() {
            None => Self::Growth {
                layers: filter.layer_count(),
                newest_len: filter.newest_len(),
                small_bytes: filter.small_bytes(),
            },
            Some(windowed) => Self::Windowed {
                number: windowed.number(),
                generations: windowed.generation_count() as u64,
                newest_len: filter.newest_len(),
                before: totals(filter),
            },
        }
    }

    /// Counts the change, and frees elsewhere what a windowed filter has dropped.
    #[inline]
    fn count_change(&self, filter: &mut AnyFilter) {
        match self {
            Self::Growth { layers, newest_len, small_bytes } => {
                count_growth(filter, *layers, *newest_len, *small_bytes);
            }
            Self::Any(before) => totals(filter).replace(before),
            Self::Windowed { before, newest_len, number, generations } => {
                let Some(windowed) = filter.windowed() else { return };
                let present = windowed.generation_count() as u64;
                let now = (windowed.number(), present, filter.newest_len());
                if now != (*number, *generations, *newest_len) {
                    totals(filter).replace(before);
                    count_rotations(filter, *number, *generations);
                }
            }
        }
    }
}

/// Adds what a filter that only grows has gained.
#[inline]
fn count_growth(filter: &AnyFilter, layers: u32, newest_len: u64, small_bytes: u64) {
    let len = filter.newest_len();
    // A list that had no memory to become shorter may do so later.
    let gained = || filter.size_bytes().wrapping_sub(small_bytes);
    if filter.layer_count() == layers {
        if len != newest_len {
            ITEMS.add(len - newest_len);
        }
        if small_bytes != 0 && filter.size_bytes() != small_bytes {
            BYTES.add(gained());
        }
        return;
    }
    let Some(added) = filter.added_since(layers, newest_len) else { return };
    ITEMS.add(added.items);
    if added.layers != 0 {
        LAYERS.add(added.layers.into());
        LAYERS_ADDED.add(added.layers.into());
        CAPACITY.add(added.capacity);
        BYTES.add(if small_bytes != 0 { gained() } else { added.bytes });
    }
}

fn count_rotations(filter: &mut AnyFilter, number: u64, generations: u64) {
    let Some(windowed) = filter.windowed_mut() else { return };
    let opened = windowed.number() - number;
    ROTATIONS.add(opened);
    let present = windowed.generation_count() as u64;
    GENERATIONS_DROPPED.add(generations + opened - present);
    let dropped = windowed.take_dropped();
    let bytes = dropped.iter().map(Generation::size_bytes).sum::<u64>();
    if bytes >= LARGE as u64 {
        background::drop_later(dropped, bytes);
    }
}
