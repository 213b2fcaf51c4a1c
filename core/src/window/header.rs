//! The header of a filter that forgets: everything but its bits.
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
//! All numbers are little-endian. Zeros follow up to a multiple of 64 bytes. The geometry is
//! derived from the header and not stored in it. `docs/format.md` describes the format.

use super::filter::{MAX_OVERFLOW_LAYERS, WindowedFilter, request, size_bytes};
use super::generation::Generation;
use super::spec::{MAX_GENERATIONS, Window, WindowSpec};
use crate::bloomline::header::{FIXED, MAGIC, SCALING};
use crate::bloomline::sizing::REVISION;
use crate::bloomline::{BlockedLayer, Common, Filter, Shape};
use crate::error::{Error, HeaderError};
use crate::fields::{Reader, Writer};
use crate::layer::Layer;
use crate::spec::{Growth, Permit};

/// The version of the format.
pub const VERSION: u16 = 2;

/// The length of every header is a multiple of this number of bytes.
pub const UNIT: usize = 64;

/// Bytes before the generations.
const FIXED_BYTES: usize = 80;

/// Bytes of a generation.
const GENERATION_BYTES: usize = 32;

/// The longest header.
pub const MAX_BYTES: usize =
    (FIXED_BYTES + GENERATION_BYTES * (MAX_GENERATIONS as usize + 1)).next_multiple_of(UNIT);

// RedisBloom's headers have 20 bytes and 53 bytes per layer. The shortest of them that is a multiple
// of 64 has 3,200 bytes, so the length alone distinguishes the two.
const _: () = assert!(MAX_BYTES < 3_200);

/// The most bytes of bits of all generations over the life of a filter, so that offsets can be
/// added without overflow: 4 EiB.
const MAX_OFFSET: u64 = 1 << 62;

const TIME: u8 = 1;
const LAST: u8 = 2;
const MANUAL: u8 = 3;

/// A generation in the header.
#[derive(Clone, Copy, Default)]
struct Record {
    opened: u64,
    /// Items in the newest layer of the generation.
    len: u64,
    live: u64,
    /// Overflow layers.
    overflow: u32,
}

impl WindowedFilter {
    /// The header: everything about the filter but its bits.
    pub fn encode_header(&self) -> Vec<u8> {
        let spec = self.spec();
        let (growth, expansion) = match spec.growth {
            Growth::Fixed => (FIXED, 0),
            Growth::Scaling { expansion } => (SCALING, expansion),
        };
        let (window, millis) = match spec.window {
            Window::Time { millis } => (TIME, millis),
            Window::Last => (LAST, 0),
            Window::Manual => (MANUAL, 0),
        };
        let present = self.older.len() as u32 + 1;
        let mut fields = Writer::<FIXED_BYTES>::new();
        fields.put(MAGIC);
        fields.put(VERSION.to_le_bytes());
        fields.put(REVISION.to_le_bytes());
        fields.put([growth, window, spec.refreshes.into(), spec.generations as u8]);
        fields.put(expansion.to_le_bytes());
        fields.put(present.to_le_bytes());
        fields.put(spec.capacity.to_le_bytes());
        fields.put(spec.error_rate.to_le_bytes());
        fields.put(self.seed().to_le_bytes());
        fields.put(millis.to_le_bytes());
        fields.put(self.number.to_le_bytes());
        fields.put(self.dropped_bytes.to_le_bytes());
        fields.put(self.clock.to_le_bytes());
        let mut bytes = fields.finish().to_vec();
        for (_, generation) in self.generations() {
            bytes.extend(Record::of(generation).encode());
        }
        bytes.resize(bytes.len().next_multiple_of(UNIT), 0);
        bytes
    }

    /// The filter of a header, with all bits zero; [`WindowedFilter::write_chunk`] writes them.
    ///
    /// The bytes may come from anywhere. Nothing is allocated for bits before all numbers are
    /// valid.
    ///
    /// # Errors
    ///
    /// [`Error::Header`], and those of [`WindowedFilter::new`].
    pub fn decode_header(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        let length = HeaderError::Length(bytes.len());
        let (fixed, records) = bytes.split_at_checked(FIXED_BYTES).ok_or(length)?;
        let mut fields = Reader::new(fixed);
        if fields.take() != MAGIC {
            return Err(HeaderError::Magic.into());
        }
        let version = u16::from_le_bytes(fields.take());
        if version != VERSION {
            return Err(HeaderError::Version(version).into());
        }
        let sizing = u16::from_le_bytes(fields.take());
        if sizing != REVISION {
            return Err(HeaderError::Sizing(sizing).into());
        }
        let [growth, window, refreshes, generations] = fields.take();
        let expansion = u32::from_le_bytes(fields.take());
        let present = u32::from_le_bytes(fields.take());
        let capacity = u64::from_le_bytes(fields.take());
        let error_rate = f64::from_le_bytes(fields.take());
        let seed = u64::from_le_bytes(fields.take());
        let millis = u64::from_le_bytes(fields.take());
        let number = u64::from_le_bytes(fields.take());
        let dropped_bytes = u64::from_le_bytes(fields.take());
        let clock = u64::from_le_bytes(fields.take());
        let growth = match (growth, expansion) {
            (FIXED, 0) => Growth::Fixed,
            (FIXED, _) => return Err(Error::Expansion(expansion)),
            (SCALING, _) => Growth::Scaling { expansion },
            (other, _) => return Err(HeaderError::Growth(other).into()),
        };
        let window = match (window, millis) {
            (TIME, _) => Window::Time { millis },
            (LAST, 0) => Window::Last,
            (MANUAL, 0) => Window::Manual,
            (LAST | MANUAL, _) => return Err(Error::Window(millis)),
            (other, _) => return Err(HeaderError::Window(other).into()),
        };
        let refreshes = match refreshes {
            0 => false,
            1 => true,
            _ => return Err(HeaderError::Reserved.into()),
        };
        let generations = generations.into();
        let spec = WindowSpec { capacity, error_rate, growth, window, generations, refreshes };
        spec.check()?;
        let records = Record::decode_all(records, present, &spec)?;
        let (common, shape) = Common::first(spec.regular(), seed)?;
        let bits = check_all(&records, &spec, &shape, number)?;
        if bits.saturating_add(dropped_bytes) > MAX_OFFSET {
            return Err(HeaderError::Offset(dropped_bytes).into());
        }
        let regular = shape.geometry().bytes().saturating_mul(records.len() as u64);
        let overflow = records.iter().filter(|record| record.overflow > 0);
        let structures = overflow.map(|record| BlockedLayer::size_bytes(0, record.overflow));
        let overflow_bytes = structures.fold(bits - regular, u64::saturating_add);
        request(permit, [bits], size_bytes(&shape, records.len(), overflow_bytes))?;

        let no_memory = |_| Error::OutOfMemory((bytes.len() * 2) as u64);
        let mut all = Vec::new();
        all.try_reserve_exact(records.len()).map_err(no_memory)?;
        for record in &records {
            all.push(record.build(&spec, &shape, seed)?);
        }
        let newest = all.pop().ok_or(HeaderError::Generations(present))?;
        let (older, dropped) = (all.into_boxed_slice(), Vec::new());
        Ok(Self { spec, common, shape, number, dropped_bytes, clock, newest, older, dropped })
    }
}

impl Record {
    fn of(generation: &Generation) -> Self {
        let overflow = generation.overflow.as_deref();
        Self {
            opened: generation.opened,
            len: overflow.map_or(generation.regular_len, Filter::newest_len),
            live: generation.live,
            overflow: overflow.map_or(0, Filter::layer_count),
        }
    }

    fn encode(self) -> [u8; GENERATION_BYTES] {
        let mut fields = Writer::new();
        fields.put(self.opened.to_le_bytes());
        fields.put(self.len.to_le_bytes());
        fields.put(self.live.to_le_bytes());
        fields.put(self.overflow.to_le_bytes());
        fields.finish()
    }

    /// The records of a header of `present` generations, and nothing but zeros after them.
    fn decode_all(bytes: &[u8], present: u32, spec: &WindowSpec) -> Result<Vec<Self>, Error> {
        if !(1..=spec.generations + 1).contains(&present) {
            return Err(HeaderError::Generations(present).into());
        }
        let expected = present as usize * GENERATION_BYTES;
        let whole = (FIXED_BYTES + expected).next_multiple_of(UNIT) - FIXED_BYTES;
        if bytes.len() != whole {
            return Err(HeaderError::Length(FIXED_BYTES + bytes.len()).into());
        }
        let (records, padding) = bytes.split_at(expected);
        if padding.iter().any(|&byte| byte != 0) {
            return Err(HeaderError::Reserved.into());
        }
        let decode = |bytes: &[u8; GENERATION_BYTES]| {
            let mut fields = Reader::new(bytes);
            let [opened, len, live] = [(); 3].map(|()| u64::from_le_bytes(fields.take()));
            let overflow = u32::from_le_bytes(fields.take());
            let record = Self { opened, len, live, overflow };
            if fields.take() == [0; 4] { Ok(record) } else { Err(HeaderError::Reserved.into()) }
        };
        records.as_chunks().0.iter().map(decode).collect()
    }

    fn build(&self, spec: &WindowSpec, shape: &Shape, seed: u64) -> Result<Generation, Error> {
        let mut generation = Generation::new(shape, self.opened)?;
        generation.live = self.live;
        generation.regular_len = self.len;
        if let (Some(spec), 1..) = (spec.overflow(), self.overflow) {
            let filter = Filter::with_layers(spec, seed, self.overflow, self.len, &mut |_| true)?;
            generation.overflow = Some(Box::new(filter));
            generation.regular_len = shape.capacity();
        }
        Ok(generation)
    }
}

/// Checks that the records can be those of one filter; returns the bytes of all bits.
fn check_all(
    records: &[Record],
    spec: &WindowSpec,
    shape: &Shape,
    number: u64,
) -> Result<u64, Error> {
    if (records.len() as u64 - 1) > number {
        return Err(HeaderError::Generations(records.len() as u32).into());
    }
    let overflow = overflow_shapes(records, spec)?;
    let (mut bits, mut opened) = (0u64, 0);
    for (record, index) in records.iter().zip(0..) {
        let contradiction = HeaderError::Generation(index);
        let (newest_capacity, full) = match (record.overflow as usize).checked_sub(1) {
            None => (shape.capacity(), 0),
            Some(last) => {
                let layers = overflow.get(..=last).ok_or(contradiction)?;
                let (newest, full) = layers.split_last().ok_or(contradiction)?;
                bits = layers
                    .iter()
                    .fold(bits, |sum, layer| sum.saturating_add(layer.geometry().bytes()));
                let full = full.iter().map(Shape::capacity);
                (newest.capacity(), full.fold(shape.capacity(), u64::saturating_add))
            }
        };
        bits = bits.saturating_add(shape.geometry().bytes());
        let len = record.len.saturating_add(full);
        if record.len > newest_capacity || record.live > len || record.opened < opened {
            return Err(contradiction.into());
        }
        opened = record.opened;
    }
    Ok(bits)
}

/// The shapes of the overflow layers of the generation that has most of them. Those of the others
/// are the first of them.
fn overflow_shapes(records: &[Record], spec: &WindowSpec) -> Result<Vec<Shape>, Error> {
    let most = records.iter().map(|record| record.overflow).max().unwrap_or(0);
    match spec.overflow() {
        _ if most == 0 => Ok(Vec::new()),
        Some(overflow) if most <= MAX_OVERFLOW_LAYERS => {
            let layers = overflow.layers().take(most as usize).collect::<Result<Vec<_>, _>>();
            layers.map_err(|_| HeaderError::Layers(most).into())
        }
        _ => Err(HeaderError::Layers(most).into()),
    }
}
