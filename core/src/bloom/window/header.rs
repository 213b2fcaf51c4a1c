//! The header of a windowed filter: everything but its bits.
//!
//! ```text
//! offset  0        8       10      12     13     14        15          16         20
//!         magic    version sizing  growth window refreshes generations expansion  present
//!        24        32          40     48      56      64             72     80
//!         capacity  error_rate  seed   millis  number  dropped_bytes  clock  generations...
//!
//! generation, oldest first, 32 bytes each
//! offset  0        8    16     24         28       32
//!         opened   len  live   overflow   reserved
//! ```
//!
//! Zeros follow up to a multiple of 64 bytes. All numbers are little-endian. The geometry is
//! derived from the header and not stored in it. `docs/format.md` describes the format.

use arrayvec::ArrayVec;

use super::filter::MAX_OFFSET;
use super::generation::{Generation, GenerationRef};
use super::layers::{GenerationPlans, GenerationRecord};
use super::ring::LargeRing;
use super::size::{SMALL_BYTES, complete_bytes};
use super::spec::{MAX_GENERATIONS, Window, WindowSpec};
use super::state::RingState;
use crate::bloom::bloomline::geometry::SECTOR_BYTES;
use crate::bloom::bloomline::header::{EXTENDED_BYTES, EXTENDED_VERSION, Fixed};
use crate::bloom::bloomline::{BlockedParams, BlockedPlan, Filter, LayerRef};
use crate::bloom::length::{pad_header, padded_len};
use crate::bloom::small::ring::SmallRing;
use crate::bloom::word::WindowedFilter;
use crate::error::{Error, HeaderError};
use crate::header_fields::{FieldReader, FieldWriter};
use crate::memory::lists::try_collect;
use crate::memory::try_box;
use crate::permit::{Permit, request};
use crate::spec::{Layout, Spec};

const GENERATION_BYTES: usize = 32;

const TIME: u8 = 1;
const LAST: u8 = 2;
const MANUAL: u8 = 3;

/// The records of a header, oldest first. No memory is allocated for them.
type GenerationRecords = ArrayVec<GenerationRecord, { MAX_GENERATIONS as usize + 1 }>;

/// Where the kind of window stands: 0 in a header of a filter without a window.
const WINDOW_OFFSET: usize = 13;

impl WindowedFilter {
    /// True if a header of version 2 is that of a windowed filter.
    pub(crate) fn has_header(bytes: &[u8]) -> bool {
        bytes.len() >= EXTENDED_BYTES && bytes.get(WINDOW_OFFSET).is_some_and(|&kind| kind != 0)
    }

    /// The header: everything about the filter but its bits.
    pub fn encode_header(&self) -> Vec<u8> {
        let state = self.state();
        let spec = state.spec();
        let (window, millis) = match spec.window {
            Window::Time { millis } => (TIME, millis),
            Window::Last => (LAST, 0),
            Window::Manual => (MANUAL, 0),
        };
        let WindowSpec { capacity, error_rate, growth, generations, refreshes, .. } = spec;
        let fixed = Fixed {
            spec: Spec { capacity, error_rate, growth },
            window: [window, refreshes.into(), generations as u8],
            count: self.generation_count() as u32,
            seed: state.seed,
            numbers: [millis, state.number, state.dropped_bytes, state.clock],
        };
        let mut bytes = fixed.encode(EXTENDED_VERSION).to_vec();
        for (_, generation) in self.generations() {
            bytes.extend(GenerationRecord::of(&generation).encode());
        }
        pad_header(&mut bytes);
        bytes
    }

    /// The filter of a header, with all bits zero;
    /// [`Bits::write_chunk`](crate::chunk::Bits::write_chunk) writes them.
    ///
    /// The bytes may come from anywhere. Nothing is allocated for bits before all numbers are
    /// valid.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], and those of [`WindowedFilter::new`].
    pub fn decode_header(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        Self::describe(bytes)?.build(permit)
    }

    /// What a header describes. This is the definition of a valid windowed filter: one that is
    /// described by a header which this function accepts.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], and the errors of [`WindowedFilter::new`] for a parameter out of range.
    pub(crate) fn describe(bytes: &[u8]) -> Result<WindowedDescription, Error> {
        let length = HeaderError::Length(bytes.len());
        let (fixed, records) = bytes.split_at_checked(EXTENDED_BYTES).ok_or(length)?;
        let Fixed { spec, window, count: present, seed, numbers } =
            Fixed::decode(fixed, EXTENDED_VERSION)?;
        let Spec { capacity, error_rate, growth } = spec;
        let [window, refreshes, generations] = window;
        let [millis, number, dropped_bytes, clock] = numbers;
        let window = match (window, millis) {
            (TIME, _) => Window::Time { millis },
            (LAST, 0) => Window::Last,
            (MANUAL, 0) => Window::Manual,
            (LAST | MANUAL, _) => return Err(Error::Window(millis)),
            (other, _) => return Err(HeaderError::Window(other).into()),
        };
        if window == Window::Manual && clock != 0 {
            return Err(HeaderError::Reserved.into());
        }
        let refreshes = match refreshes {
            0 => false,
            1 => true,
            _ => return Err(HeaderError::Reserved.into()),
        };
        let generations = generations.into();
        let spec = WindowSpec { capacity, error_rate, growth, window, generations, refreshes };
        spec.check()?;
        let records = GenerationRecord::decode_all(records, present, &spec)?;
        let layers = GenerationPlans::of(&records, &spec, seed)?;
        layers.check(&records, &spec)?;
        check_offsets(number, dropped_bytes, &records, &layers)?;
        Ok(WindowedDescription { spec, seed, number, dropped_bytes, clock, records, layers })
    }
}

/// Everything about a filter but its bits.
pub(crate) struct WindowedDescription {
    spec: WindowSpec,
    seed: u64,
    number: u64,
    dropped_bytes: u64,
    clock: u64,
    records: GenerationRecords,
    layers: GenerationPlans,
}

impl WindowedDescription {
    /// The filter, with all bits zero.
    fn build(&self, permit: Permit) -> Result<WindowedFilter, Error> {
        let Self { spec, seed, number, dropped_bytes, clock, ref records, ref layers } = *self;
        let (_, plan) = BlockedParams::first(spec.regular(), seed)?;
        let bytes = layers.each().map(BlockedPlan::bytes);
        let opened = |record: Option<&GenerationRecord>| record.map_or(0, |it| it.opened);
        let span = opened(records.last()) - opened(records.first());
        let millis = spec.times().map_or(0, |(window, _)| window);
        let is_small_ring = SmallRing::fits(&plan, millis, number, span) && !layers.have_overflow();
        let complete = complete_bytes(plan.bytes(), spec.generations);
        let size = layers.size_bytes(is_small_ring).max(complete);
        request(permit, Layout::Bloomline, bytes, |_| size)?;
        let state = RingState::of(&spec, seed, &plan, records.len());
        let state = RingState { number, dropped_bytes, clock, ..state };
        if is_small_ring { self.small_ring(&state) } else { self.large_ring(state) }
    }

    /// The generations in one allocation.
    fn small_ring(&self, state: &RingState) -> Result<WindowedFilter, Error> {
        let RingState { regular_capacity, geometry, .. } = *state;
        let empty = [0; SMALL_BYTES as usize / size_of::<u64>()];
        let bits = empty.get(..geometry.bytes() as usize / size_of::<u64>()).unwrap_or_default();
        let regular = LayerRef::new(bits, regular_capacity, geometry);
        let regular = regular.ok_or(HeaderError::Generations(0))?;
        let generations =
            self.records.iter().map(|&GenerationRecord { opened, len, live, .. }| GenerationRef {
                regular,
                regular_len: len,
                overflow: None,
                live,
                opened,
            });
        SmallRing::new(state, generations, None).map(WindowedFilter::from)
    }

    /// The generations with allocations of their own.
    fn large_ring(&self, state: RingState) -> Result<WindowedFilter, Error> {
        let Self { spec, seed, ref records, ref layers, .. } = *self;
        let mut all = layers.generations();
        let none = HeaderError::Generations(0);
        let (newest, plans) = records.last().zip(all.next_back()).ok_or(none)?;
        let newest = newest.build(&spec, plans, seed)?;
        let older = records.iter().zip(all).map(|(record, plans)| record.build(&spec, plans, seed));
        let older = try_collect(records.len() - 1, older)?;
        LargeRing::new(state, newest, older).map(WindowedFilter::from)
    }

    /// True if this describes the filter.
    pub(crate) fn is_of(&self, filter: &WindowedFilter) -> bool {
        let Self { spec, seed, number, dropped_bytes, clock, ref records, ref layers } = *self;
        let state = filter.state();
        let is_of = |((generation, record), plans): (
            (GenerationRef, &GenerationRecord),
            &[BlockedPlan],
        )| {
            // A generation has overflow layers only if its regular layer is full.
            let is_full = generation.regular_len == generation.regular.capacity();
            GenerationRecord::of(&generation) == *record
                && (generation.overflow.is_none() || is_full)
                && generation.layers().map(|layer| layer.plan()).eq(plans.iter().copied())
        };
        (spec, seed) == (state.spec(), state.seed)
            && (number, dropped_bytes, clock) == (state.number, state.dropped_bytes, state.clock)
            && records.len() == filter.generation_count()
            && filter.all().zip(records).zip(layers.generations()).all(is_of)
    }
}

impl GenerationRecord {
    fn of(generation: &GenerationRef) -> Self {
        let overflow = generation.overflow;
        Self {
            opened: generation.opened,
            len: overflow.map_or(generation.regular_len, Filter::newest_len),
            live: generation.live,
            overflow: overflow.map_or(0, Filter::layer_count),
        }
    }

    fn encode(self) -> [u8; GENERATION_BYTES] {
        let mut fields = FieldWriter::new();
        fields.put(self.opened.to_le_bytes());
        fields.put(self.len.to_le_bytes());
        fields.put(self.live.to_le_bytes());
        fields.put(self.overflow.to_le_bytes());
        fields.finish()
    }

    /// The records of a header of `present` generations, which zeros follow.
    fn decode_all(
        bytes: &[u8],
        present: u32,
        spec: &WindowSpec,
    ) -> Result<GenerationRecords, Error> {
        if !(1..=spec.generations + 1).contains(&present) {
            return Err(HeaderError::Generations(present).into());
        }
        let len = EXTENDED_BYTES + bytes.len();
        let used = present as usize * GENERATION_BYTES;
        let length = HeaderError::Length(len);
        let (records, rest) = bytes.split_at_checked(used).ok_or(length)?;
        if len != padded_len(EXTENDED_BYTES + used) {
            return Err(length.into());
        }
        if rest.iter().any(|&byte| byte != 0) {
            return Err(HeaderError::Reserved.into());
        }
        let decode = |bytes: &[u8; GENERATION_BYTES]| {
            let mut fields = FieldReader::new(bytes);
            let [opened, len, live] = [(); 3].map(|()| u64::from_le_bytes(fields.take()));
            let overflow = u32::from_le_bytes(fields.take());
            let record = Self { opened, len, live, overflow };
            if fields.take() == [0; 4] { Ok(record) } else { Err(HeaderError::Reserved.into()) }
        };
        records.as_chunks().0.iter().map(decode).collect()
    }

    /// The generation of a record and its layers, regular layer first.
    fn build(
        &self,
        spec: &WindowSpec,
        plans: &[BlockedPlan],
        seed: u64,
    ) -> Result<Generation, Error> {
        let none = HeaderError::Generations(0);
        let (regular, overflow) = plans.split_first().ok_or(none)?;
        let mut generation = Generation::new(regular, self.opened)?;
        generation.live = self.live;
        generation.regular_len = self.len;
        if let (Some(spec), false) = (spec.overflow(), overflow.is_empty()) {
            let filter = Filter::part(spec, seed, overflow, self.len)?;
            generation.overflow = Some(try_box(filter)?);
            generation.regular_len = regular.capacity();
        }
        Ok(generation)
    }
}

/// Checks where the bits begin and end.
///
/// Each dropped generation had a sector or more. So the number of the newest generation is bounded
/// as the bytes are, and no rotation can overflow it.
fn check_offsets(
    number: u64,
    dropped_bytes: u64,
    records: &[GenerationRecord],
    layers: &GenerationPlans,
) -> Result<(), Error> {
    let generations = HeaderError::Generations(records.len() as u32);
    let dropped = number.checked_sub(records.len() as u64 - 1).ok_or(generations)?;
    let end = dropped_bytes.saturating_add(layers.bytes());
    let is_possible = dropped_bytes.is_multiple_of(SECTOR_BYTES)
        && dropped <= dropped_bytes / SECTOR_BYTES
        && end <= MAX_OFFSET;
    if is_possible { Ok(()) } else { Err(HeaderError::Offset(dropped_bytes).into()) }
}
