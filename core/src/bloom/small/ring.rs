//! Rings of small generations, each in one allocation.
//!
//! Generations have allocations of their own, so that each can be dropped alone. If their bits are
//! few, those would take less memory than what describes them. So a ring of small generations is
//! one allocation with all of them:
//!
//! ```text
//! | header | numbers | records, oldest first | bits of the oldest | ... | bits of the newest |
//!
//! header  0 | seed
//!         1 | error_rate
//!         2 | extent 48 | regular_capacity 16                          from the lowest bits on
//!         3 | words behind it 16 | 0 8 | geometry 16 | generations 8 | rounding 8 | count 8
//! numbers 0 | number 40 | expansion 16 | kind, refreshes 8
//!         1 | clock
//!         2 | dropped_bytes
//!         3 | when the newest generation was opened
//! ```
//!
//! The zero distinguishes the header from that of [a filter without a window](super::header), which
//! has the number of its sectors there.
//!
//! A small ring has regular layers only. It becomes a large one when a generation gets an overflow
//! layer, and a small one again when the last such generation was dropped.

use super::record::{AGE_BITS, Record};
use crate::bloom::bloomline::geometry::Geometry;
use crate::bloom::bloomline::{BlockedPlan, LayerRef};
use crate::bloom::window::generation::GenerationRef;
use crate::bloom::window::size::{SMALL_BYTES, SMALL_NUMBERS as NUMBERS};
use crate::bloom::window::state::{RingState, WindowKind};
use crate::error::Error;
use crate::memory::headed::{Headed, Header};

/// Bits for the length of a window, in items or milliseconds: 8,900 years.
const EXTENT_BITS: u32 = 48;
/// Bits for the number of the newest generation.
const NUMBER_BITS: u32 = 40;

/// Where the zero stands in the last word of the header.
const ZERO_SHIFT: u32 = 16;

/// Where the last byte of the first number stands.
const KIND_SHIFT: u32 = 56;
/// The bit of that byte for a filter that refreshes; the kind stands below.
const REFRESHES: u8 = 1 << 2;

#[inline(always)]
const fn low(word: u64, bits: u32) -> u64 {
    word & ((1 << bits) - 1)
}

/// Generations of regular layers of up to [`SMALL_BYTES`].
#[repr(transparent)]
pub(crate) struct SmallRing(Headed);

impl SmallRing {
    /// True if a ring without overflow layers can be small.
    ///
    /// The newest generation has this number. It was opened `span` milliseconds after the oldest.
    pub fn fits(regular: &BlockedPlan, extent: u64, number: u64, span: u64) -> bool {
        regular.bytes() <= SMALL_BYTES
            && extent >> EXTENT_BITS == 0
            && number >> NUMBER_BITS == 0
            && span >> AGE_BITS == 0
    }

    /// A ring in this state, of these generations and of an empty one that was opened at a time. It
    /// must [fit](SmallRing::fits).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn new<'a>(
        state: &RingState,
        generations: impl Iterator<Item = GenerationRef<'a>> + Clone,
        opened: Option<u64>,
    ) -> Result<Self, Error> {
        let count = usize::from(state.count);
        let newest = || generations.clone().last().map_or(0, |one| one.opened);
        let newest = opened.unwrap_or_else(newest);
        let words = NUMBERS + count * (1 + layer_words(state.geometry));
        let mut ring = Self(Headed::zeroed(Header::default(), words as u16)?);
        ring.set_state(state);
        if let Some(opened) = ring.0.words_mut().get_mut(NUMBERS - 1) {
            *opened = newest;
        }
        let (records, bits) = ring.parts_mut();
        for ((one, record), to) in generations.zip(records).zip(bits) {
            *record = Record::of(newest - one.opened, one.regular_len, one.live).0;
            to.copy_from_slice(one.regular.words().as_slice());
        }
        Ok(ring)
    }

    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, Error> {
        self.0.try_clone().map(Self)
    }

    /// Gives up the allocation.
    pub fn into_headed(self) -> Headed {
        self.0
    }

    pub fn headed_mut(&mut self) -> &mut Headed {
        &mut self.0
    }

    /// True if a header is that of a ring.
    #[inline(always)]
    pub fn is_header([.., last]: &Header) -> bool {
        (last >> ZERO_SHIFT) as u8 == 0
    }

    #[inline(always)]
    pub fn state(&self) -> RingState {
        let &[seed, error_rate, third, last] = self.0.header();
        let [_, _, _, geometry @ .., generations, capacity_rounding, count] = last.to_le_bytes();
        let [first, clock, dropped_bytes] =
            self.0.words().first_chunk().copied().unwrap_or_default();
        let kind = (first >> KIND_SHIFT) as u8;
        RingState {
            regular_capacity: third >> EXTENT_BITS,
            error_rate: f64::from_bits(error_rate),
            extent: low(third, EXTENT_BITS),
            seed,
            number: low(first, NUMBER_BITS),
            dropped_bytes,
            clock,
            geometry: Geometry::of_bytes(geometry),
            expansion: (first >> NUMBER_BITS) as u16,
            generations,
            capacity_rounding,
            kind: match kind % REFRESHES {
                0 => WindowKind::Time,
                1 => WindowKind::Last,
                _ => WindowKind::Manual,
            },
            refreshes: kind & REFRESHES != 0,
            count,
        }
    }

    /// Overwrites the state; the number of generations and their layers must be as before.
    pub fn set_state(&mut self, state: &RingState) {
        let &RingState { generations, capacity_rounding, count, .. } = state;
        // A regular layer is not folded, and a small one has one page.
        let [page, item] = state.geometry.to_bytes().unwrap_or_default();
        let third = state.extent | state.regular_capacity << EXTENT_BITS;
        let last = u64::from_le_bytes([0, 0, 0, page, item, generations, capacity_rounding, count]);
        let kind = state.kind as u8 | if state.refreshes { REFRESHES } else { 0 };
        let first = state.number
            | u64::from(state.expansion) << NUMBER_BITS
            | u64::from(kind) << KIND_SHIFT;
        self.0.set_header([state.seed, state.error_rate.to_bits(), third, last]);
        if let [number, clock, dropped_bytes, ..] = self.0.words_mut() {
            (*number, *clock, *dropped_bytes) = (first, state.clock, state.dropped_bytes);
        }
    }

    /// When the newest generation was opened.
    #[inline(always)]
    pub fn opened(&self) -> u64 {
        self.0.words().get(NUMBERS - 1).copied().unwrap_or(0)
    }

    /// The number of generations.
    #[inline(always)]
    fn count(&self) -> usize {
        let [.., last] = self.0.header();
        let [.., count] = last.to_le_bytes();
        count.into()
    }

    #[inline(always)]
    fn geometry(&self) -> Geometry {
        let [.., last] = self.0.header();
        let [_, _, _, geometry @ .., _, _, _] = last.to_le_bytes();
        Geometry::of_bytes(geometry)
    }

    /// The words of the records, oldest first, and the bits of all generations.
    #[inline(always)]
    fn parts(&self) -> (&[u64], &[u64]) {
        let rest = self.0.words().get(NUMBERS..).unwrap_or_default();
        rest.split_at_checked(self.count()).unwrap_or_default()
    }

    /// The same to be written, the bits of each generation apart.
    pub fn parts_mut(&mut self) -> (&mut [u64], impl Iterator<Item = &mut [u64]>) {
        let (count, len) = (self.count(), layer_words(self.geometry()));
        let rest = self.0.words_mut().get_mut(NUMBERS..).unwrap_or_default();
        let (records, bits) = rest.split_at_mut_checked(count).unwrap_or_default();
        (records, bits.chunks_exact_mut(len.max(1)))
    }

    /// The records, oldest first.
    #[inline(always)]
    pub fn records(&self) -> impl DoubleEndedIterator<Item = Record> {
        self.parts().0.iter().map(|&record| Record(record))
    }

    /// The generations, oldest first.
    #[inline(always)]
    pub fn all(&self) -> impl DoubleEndedIterator<Item = GenerationRef<'_>> + Clone {
        let &[_, _, third, _] = self.0.header();
        let (capacity, geometry) = (third >> EXTENT_BITS, self.geometry());
        let (len, newest) = (layer_words(geometry), self.opened());
        let (records, bits) = self.parts();
        records.iter().enumerate().filter_map(move |(index, &record)| {
            let bits = bits.get(index * len..(index + 1) * len)?;
            let regular = LayerRef::new(bits, capacity, geometry)?;
            let record = Record(record);
            let opened = newest.wrapping_sub(record.age());
            let (regular_len, live) = (record.len(), record.live());
            Some(GenerationRef { regular, regular_len, overflow: None, live, opened })
        })
    }

    #[inline(always)]
    pub fn newest(&self) -> GenerationRef<'_> {
        self.all().next_back().unwrap_or(GenerationRef::NONE)
    }

    /// The word of the record of the newest generation, and its bits.
    #[inline(always)]
    pub fn newest_mut(&mut self) -> Option<(&mut u64, &mut [u64])> {
        let (count, len) = (self.count(), layer_words(self.geometry()));
        let (records, bits) = self.0.words_mut().split_at_mut_checked(NUMBERS + count)?;
        Some((records.last_mut()?, bits.get_mut((count - 1) * len..)?))
    }

    /// Replaces the number of live items of a generation, and returns the old one; none if there is
    /// no such generation. The oldest has index 0.
    #[inline(always)]
    pub fn update_live(&mut self, index: usize, update: impl FnOnce(u64) -> u64) -> Option<u64> {
        let word = self.0.words_mut().get_mut(NUMBERS + index)?;
        let record = Record(*word);
        let live = record.live();
        *word = Record::of(record.age(), record.len(), update(live)).0;
        Some(live)
    }
}

/// Words of the bits of a regular layer.
#[inline(always)]
fn layer_words(regular: Geometry) -> usize {
    regular.bytes() as usize / size_of::<u64>()
}
