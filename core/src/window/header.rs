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

use std::iter;

use arrayvec::ArrayVec;

use super::filter::{
    MAX_OFFSET, MAX_OVERFLOW_LAYERS, MAX_TIME, WindowedFilter, request, size_bytes,
};
use super::generation::Generation;
use super::spec::{MAX_GENERATIONS, Window, WindowSpec};
use crate::bloomline::geometry::BLOCK_BYTES;
use crate::bloomline::header::{MAGIC, decode_growth, decode_start, encode_growth};
use crate::bloomline::sizing::REVISION;
use crate::bloomline::{BlockedLayer, Common, Filter, Shape};
use crate::error::{Error, HeaderError};
use crate::fields::{Reader, Writer};
use crate::layer::Layer;
use crate::memory::try_box;
use crate::spec::Permit;

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

// RedisBloom's headers have 20 bytes and 53 bytes per layer. The shortest of them that is a
// multiple of 64 has 3,200 bytes, so the length alone distinguishes the two.
const _: () = assert!(MAX_BYTES < 3_200);

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

/// The records of a header, oldest first. No memory is allocated for them.
type Records = ArrayVec<Record, { MAX_GENERATIONS as usize + 1 }>;

impl WindowedFilter {
    /// The header: everything about the filter but its bits.
    pub fn encode_header(&self) -> Vec<u8> {
        let spec = self.spec();
        let (growth, expansion) = encode_growth(spec.growth);
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
        decode_start(&mut fields, VERSION)?;
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
        let growth = decode_growth(growth, expansion)?;
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
        let layers = Layers::of(&records, &spec, shape)?;
        layers.check(&records)?;
        check_dropped(number, dropped_bytes, &records, &layers)?;
        let size = size_bytes(&shape, records.len(), layers.overflow_bytes(&records));
        request(permit, layers.each(&records).map(|layer| layer.geometry().bytes()), size)?;

        let no_memory = |_| Error::OutOfMemory((bytes.len() * 2) as u64);
        let (newest, closed) = records.split_last().ok_or(HeaderError::Generations(present))?;
        // With exactly this capacity the table is not allocated again when it is boxed.
        let mut older = Vec::new();
        older.try_reserve_exact(closed.len()).map_err(no_memory)?;
        for record in closed {
            older.push(record.build(&spec, &shape, seed)?);
        }
        let newest = newest.build(&spec, &shape, seed)?;
        let (older, dropped) = (older.into_boxed_slice(), Vec::new());
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
    fn decode_all(bytes: &[u8], present: u32, spec: &WindowSpec) -> Result<Records, Error> {
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
            generation.overflow = Some(try_box(filter)?);
            generation.regular_len = shape.capacity();
        }
        Ok(generation)
    }
}

/// Checks where the bits begin: the generations before the oldest had a regular layer each.
fn check_dropped(
    number: u64,
    dropped_bytes: u64,
    records: &[Record],
    layers: &Layers,
) -> Result<(), Error> {
    let generations = HeaderError::Generations(records.len() as u32);
    let dropped = number.checked_sub(records.len() as u64 - 1).ok_or(generations)?;
    let is_possible = match dropped {
        0 => dropped_bytes == 0,
        _ => dropped.saturating_mul(layers.regular.geometry().bytes()) <= dropped_bytes,
    };
    let end = dropped_bytes.saturating_add(layers.bytes(records));
    if is_possible && dropped_bytes.is_multiple_of(BLOCK_BYTES) && end <= MAX_OFFSET {
        Ok(())
    } else {
        Err(HeaderError::Offset(dropped_bytes).into())
    }
}

/// The layers that generations can have.
struct Layers {
    regular: Shape,
    /// Those of the generation that has most of them. Other generations have the first of them.
    overflow: ArrayVec<Shape, { MAX_OVERFLOW_LAYERS as usize }>,
}

impl Layers {
    fn of(records: &[Record], spec: &WindowSpec, regular: Shape) -> Result<Self, Error> {
        let most = records.iter().map(|record| record.overflow).max().unwrap_or(0);
        let mut layers = Self { regular, overflow: ArrayVec::new() };
        if most == 0 {
            return Ok(layers);
        }
        let too_many = HeaderError::Layers(most);
        let overflow = spec.overflow().filter(|_| most <= MAX_OVERFLOW_LAYERS).ok_or(too_many)?;
        for layer in overflow.layers().take(most as usize) {
            layers.overflow.try_push(layer.map_err(|_| too_many)?).map_err(|_| too_many)?;
        }
        Ok(layers)
    }

    /// The overflow layers of a generation.
    fn overflow(&self, record: &Record) -> &[Shape] {
        self.overflow.get(..record.overflow as usize).unwrap_or_default()
    }

    /// All layers of some generations.
    fn each(&self, records: &[Record]) -> impl Iterator<Item = &Shape> {
        let of_one = |record| iter::once(&self.regular).chain(self.overflow(record));
        records.iter().flat_map(of_one)
    }

    /// Bytes of the bits of some generations.
    fn bytes(&self, records: &[Record]) -> u64 {
        self.each(records).fold(0, |sum, layer| sum.saturating_add(layer.geometry().bytes()))
    }

    /// Bytes of the overflow layers of all generations, with the structures beside their bits.
    fn overflow_bytes(&self, records: &[Record]) -> u64 {
        let of_one = |record: &Record| {
            let bits = self.overflow(record).iter().map(|layer| layer.geometry().bytes());
            let bits = bits.fold(0, u64::saturating_add);
            BlockedLayer::size_bytes(bits, record.overflow)
        };
        let overflow = records.iter().filter(|record| record.overflow > 0);
        overflow.map(of_one).fold(0, u64::saturating_add)
    }

    /// Checks that the numbers of each generation can be those of one filter.
    fn check(&self, records: &[Record]) -> Result<(), Error> {
        let mut opened = 0;
        for (record, index) in records.iter().zip(0..) {
            let full_and_newest = iter::once(&self.regular).chain(self.overflow(record));
            let all = full_and_newest.map(Shape::capacity).fold(0, u64::saturating_add);
            let newest = self.overflow(record).last().unwrap_or(&self.regular).capacity();
            let len = (all - newest).saturating_add(record.len);
            let is_in_order = (opened..=MAX_TIME).contains(&record.opened);
            if record.len > newest || record.live > len || !is_in_order {
                return Err(HeaderError::Generation(index).into());
            }
            opened = record.opened;
        }
        Ok(())
    }
}
