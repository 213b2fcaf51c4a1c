//! Why an operation on a filter failed, with the values that caused it.

use std::fmt;

/// Why a filter could not be created, grown, filled or decoded.
///
/// The filter is unchanged, unless the function that returned the error documents otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Error {
    /// The capacity is not 1 to [`MAX_CAPACITY`](crate::bloom::bloomline::sizing::MAX_CAPACITY)
    /// items.
    Capacity(u64),
    /// The target rate is not above 0 and at most
    /// [`MAX_ERROR_RATE`](crate::bloom::bloomline::sizing::MAX_ERROR_RATE).
    ErrorRate(f64),
    /// The expansion is not 1 to [`MAX_EXPANSION`](crate::host::MAX_EXPANSION).
    Expansion(u32),
    /// The window is not 1 to
    /// [`MAX_WINDOW_MILLIS`](crate::bloom::window::MAX_WINDOW_MILLIS) milliseconds.
    Window(u64),
    /// The number of generations is not [`MIN_GENERATIONS`](crate::bloom::window::MIN_GENERATIONS)
    /// to [`MAX_GENERATIONS`](crate::bloom::window::MAX_GENERATIONS).
    Generations(u32),
    /// The capacity of a window is smaller than the number of its generations.
    TooFewItems {
        /// The capacity.
        capacity: u64,
        /// The generations.
        generations: u32,
    },
    /// A layer would need this target rate, which is below the minimum of its layout
    /// ([`MIN_LAYER_ERROR`](crate::bloom::bloomline::sizing::MIN_LAYER_ERROR)) or cannot be reached
    /// with 64-bit hashes.
    ErrorRateTooSmall(f64),
    /// The filter has this many layers, the largest number.
    TooManyLayers(u32),
    /// The filter is fixed and full. The number is the capacity of its newest layer, in items.
    Full(u64),
    /// The permit refused a filter of this many bytes.
    Refused(u64),
    /// The allocator cannot provide this many bytes.
    OutOfMemory(u64),
    /// The bytes are not a header of a filter.
    Header(HeaderError),
    /// A filter in valkey-bloom's layout cannot have this number, or not in these bytes.
    Valkey(ValkeyError),
    /// A cuckoo filter cannot have this number.
    Cuckoo(CuckooError),
    /// The target rate of a cuckoo filter is not
    /// [`MIN_ERROR_RATE`](crate::cuckoo::bloomline::MIN_ERROR_RATE) or above, and below 1.
    CuckooErrorRate(f64),
    /// The chunk does not fit the filter.
    Chunk(ChunkError),
    /// A windowed filter is neither merged nor compacted.
    Windowed,
    /// A filter in valkey-bloom's layout is neither merged nor compacted.
    OfValkeyBloom,
    /// The filters cannot be merged: they differ in this.
    Differs(Parameter),
    /// The merged filter would have this false-positive rate, which is above the target rate.
    RateExceeded {
        /// The computed rate.
        rate: f64,
        /// The target rate.
        target: f64,
    },
    /// A layer of the merged filter, not the newest, would hold more items than its capacity.
    LayerFull {
        /// Its index, oldest first.
        layer: u32,
        /// The estimated number of items.
        items: u64,
        /// Its capacity.
        capacity: u64,
    },
}

/// What two filters that cannot be merged differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The layout.
    Layout,
    /// The seed of the hash.
    Seed,
    /// How items are hashed and sizes rounded (RedisBloom's layout).
    Options,
    /// The capacity.
    Capacity,
    /// The target rate.
    ErrorRate,
    /// The expansion, or whether they grow.
    Expansion,
    /// The size of the layer with this index: one of them was compacted or merged before.
    Layer(u32),
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout => f.write_str("layout"),
            Self::Seed => f.write_str("seed"),
            Self::Options => f.write_str("hash or rounding of sizes"),
            Self::Capacity => f.write_str("capacity"),
            Self::ErrorRate => f.write_str("error rate"),
            Self::Expansion => f.write_str("expansion"),
            Self::Layer(index) => write!(f, "size of layer {index}"),
        }
    }
}

/// Why bytes are not a header of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// No header has this many bytes, or not with these layers.
    Length(usize),
    /// The first bytes are not the magic.
    Magic,
    /// This release does not know this version of the format.
    Version(u16),
    /// This release does not know this revision of the sizing rule.
    Sizing(u16),
    /// This release does not know this kind of growth.
    Growth(u8),
    /// A reserved byte is not zero.
    Reserved,
    /// The number of this field is above what it can be.
    Range {
        /// The field.
        field: &'static str,
        /// Its number.
        number: u64,
    },
    /// RedisBloom's layout does not define these option bits.
    Options(u32),
    /// This total number of items is not the sum of those in the layers (RedisBloom's layout).
    Total(u64),
    /// The numbers of the layer with this index contradict each other (RedisBloom's layout).
    Layer(u32),
    /// A filter of these parameters cannot have this many layers.
    Layers(u32),
    /// The layer with this index cannot have the pages or the capacity of its record.
    Irregular(u32),
    /// The newest layer would hold this many items, more than its capacity.
    Len(u64),
    /// This release does not know this kind of window.
    Window(u8),
    /// A filter of these parameters cannot have this many generations.
    Generations(u32),
    /// The numbers of the generation with this index contradict each other.
    Generation(u32),
    /// The bytes of the filter cannot begin or end at this offset.
    Offset(u64),
    /// A cuckoo filter cannot have this number.
    Cuckoo(CuckooError),
    /// The header is not that of the filter.
    Other,
}

/// What a filter in valkey-bloom's layout cannot have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValkeyError {
    /// Capacity of a layer: not 1 or more, or above 2^63 - 1 with the layers before it.
    Capacity(u64),
    /// Expansion: above 2^32 - 1.
    Expansion(u64),
    /// Error rate: not above 0 and below 1.
    ErrorRate(f64),
    /// Tightening ratio: not above 0 and below 1.
    Tightening(f64),
    /// Whether the seed is random: neither 0 nor 1.
    SeedFlag(u64),
    /// The seed is not the fixed one, but is said to be.
    FixedSeed,
    /// The layer with this index has another seed than the first.
    Seed(u32),
    /// Layers: not 1 to [`MAX_LAYERS`](crate::spec::MAX_LAYERS).
    Layers(u64),
    /// Items of a layer: above its capacity; or, unless it is the newest, below.
    Items {
        /// The index of the layer.
        layer: u32,
        /// Its items.
        items: u64,
        /// Its capacity.
        capacity: u64,
    },
    /// Bits per item of a layer: not those of its capacity and rate.
    Hashes {
        /// The index of the layer.
        layer: u32,
        /// Its bits per item.
        hashes: u32,
        /// Those of its capacity and rate.
        needed: u32,
    },
    /// Bytes of the bits of a layer: not those of its capacity and rate.
    Bytes {
        /// The index of the layer.
        layer: u32,
        /// Its bytes.
        bytes: u64,
        /// Those of its capacity and rate.
        needed: u64,
    },
    /// Version of the bytes of a layer: not 1.
    LayerVersion(u8),
    /// Version of the payload of BF.LOAD: not 1.
    PayloadVersion(u8),
    /// The bytes end before the filter does, or after it.
    Length(u64),
}

/// A number that a cuckoo filter cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CuckooError {
    /// Slots per bucket: not 1 to 255.
    BucketSize(u64),
    /// Kicks per insertion: not 1 to 65,535.
    MaxIterations(u64),
    /// Expansion: neither 0 nor a power of two up to 32,768.
    Expansion(u64),
    /// Tables: not 1 to 65,535, more than one in a filter that does not grow, or so many that the
    /// newest would have 2^56 buckets or more.
    Tables(u64),
    /// Buckets of the first table: not a power of two below 2^56.
    Buckets(u64),
    /// Items: more than there are slots.
    Items(u64),
    /// The numbers of the table with this index contradict each other or those of the table before
    /// it.
    Table(u32),
    /// The list of the table with this index is not ascending, or has prefixes that the table
    /// cannot have, or none of their copies (Bloomline's layout).
    List(u32),
    /// No table can be doubled, or not from this slot on (Bloomline's layout).
    Doubling(u64),
}

/// Why a chunk of bits does not fit the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkError {
    /// The filter has no bytes at this offset or iterator.
    Offset(u64),
    /// The chunk is longer than the rest of its layer.
    TooLong(u64),
    /// The chunk has no bytes.
    Empty,
    /// A string of bits has another length than its part of the layer or table.
    Length {
        /// Bytes of the string.
        len: u64,
        /// Bytes of the part.
        expected: u64,
    },
}

impl From<HeaderError> for Error {
    fn from(error: HeaderError) -> Self {
        Self::Header(error)
    }
}

impl From<ValkeyError> for Error {
    fn from(error: ValkeyError) -> Self {
        Self::Valkey(error)
    }
}

impl From<CuckooError> for HeaderError {
    fn from(error: CuckooError) -> Self {
        Self::Cuckoo(error)
    }
}

impl From<CuckooError> for Error {
    fn from(error: CuckooError) -> Self {
        Self::Cuckoo(error)
    }
}

impl From<ChunkError> for Error {
    fn from(error: ChunkError) -> Self {
        Self::Chunk(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The numbers are constants of files that import this one.
            Self::Capacity(n) => write!(f, "capacity {n} is out of range: 1 to 1099511627776"),
            Self::ErrorRate(e) => write!(
                f,
                "error rate {e} is out of range: above 0, at most 0.25, in RedisBloom's layout \
                 below 1"
            ),
            Self::Expansion(n) => write!(f, "expansion {n} is out of range: 1 to 32768"),
            Self::Window(n) => {
                write!(f, "window of {n} ms is out of range: 1 to 9007199254740992 ms")
            }
            Self::Generations(n) => write!(f, "{n} generations are out of range: 2 to 64"),
            Self::TooFewItems { capacity, generations } => {
                write!(f, "capacity {capacity} is below the number of generations, {generations}")
            }
            Self::ErrorRateTooSmall(e) => {
                write!(f, "a layer error rate of {e:e} is below the minimum of this layout")
            }
            Self::TooManyLayers(n) => write!(f, "the filter has {n} layers, the most there can be"),
            Self::Full(n) => write!(f, "the filter is full with {n} items"),
            Self::Refused(bytes) => write!(f, "a filter of {bytes} bytes exceeds a limit"),
            Self::OutOfMemory(bytes) => write!(f, "no memory for {bytes} bytes"),
            Self::Header(error) => write!(f, "bad header: {error}"),
            Self::Valkey(error) => error.fmt(f),
            Self::Cuckoo(error) => error.fmt(f),
            Self::CuckooErrorRate(e) => write!(
                f,
                "error rate {e:?} of a cuckoo filter is out of range: 5e-7 or above, below 1"
            ),
            Self::Chunk(error) => write!(f, "bad chunk: {error}"),
            Self::Windowed => f.write_str("the filter has a window"),
            Self::OfValkeyBloom => f.write_str("the filter has valkey-bloom's layout"),
            Self::Differs(parameter) => write!(f, "the filters differ in {parameter}"),
            Self::RateExceeded { rate, target } => {
                let target = short(*target);
                write!(f, "the false-positive rate would be {rate:.3e}, above the target {target}")
            }
            Self::LayerFull { layer, items, capacity } => {
                write!(f, "layer {layer} would hold {items} items, above its capacity {capacity}")
            }
        }
    }
}

/// A number in four digits, without zeros at their end: `1e-2`, `2.917e-7`.
fn short(number: f64) -> String {
    let text = format!("{number:.3e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(n) => write!(f, "{n} bytes long"),
            Self::Magic => write!(f, "bad magic"),
            Self::Version(n) => write!(f, "version {n} is unknown"),
            Self::Sizing(n) => write!(f, "sizing revision {n} is unknown"),
            Self::Growth(n) => write!(f, "growth kind {n} is unknown"),
            Self::Reserved => write!(f, "a reserved byte is not zero"),
            Self::Range { field, number } => write!(f, "{field} {number} is out of range"),
            Self::Options(bits) => write!(f, "options {bits:#x} without a meaning"),
            Self::Total(n) => write!(f, "{n} items, which is not the sum of those in the links"),
            Self::Layer(n) => write!(f, "the numbers of link {n} contradict each other"),
            Self::Layers(n) => write!(f, "{n} layers"),
            Self::Irregular(n) => write!(f, "the record of layer {n} is not valid"),
            Self::Len(n) => write!(f, "{n} items in the newest layer, more than its capacity"),
            Self::Window(n) => write!(f, "window kind {n} is unknown"),
            Self::Generations(n) => write!(f, "{n} generations"),
            Self::Generation(n) => {
                write!(f, "the numbers of generation {n} contradict each other")
            }
            Self::Offset(n) => write!(f, "offset {n} of its bytes is out of range"),
            Self::Cuckoo(error) => error.fmt(f),
            Self::Other => f.write_str("the header of another filter"),
        }
    }
}

impl fmt::Display for ValkeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity(n) => write!(
                f,
                "capacity {n} is out of range: 1 to 9223372036854775807, for all layers together"
            ),
            Self::Expansion(n) => write!(f, "expansion {n} is out of range: 0 to 4294967295"),
            Self::ErrorRate(e) => {
                write!(f, "error rate {e} is out of range: above 0, below 1")
            }
            Self::Tightening(t) => {
                write!(f, "tightening ratio {t} is out of range: above 0, below 1")
            }
            Self::SeedFlag(n) => write!(f, "{n} says neither that the seed is random nor that not"),
            Self::FixedSeed => f.write_str("the seed is not the fixed one, but is said to be"),
            Self::Seed(n) => write!(f, "layer {n} has another seed than the first"),
            Self::Layers(n) => write!(f, "{n} layers are out of range: 1 to 4096"),
            Self::Items { layer, items, capacity } => write!(
                f,
                "layer {layer} of capacity {capacity} cannot hold {items} items: only the newest \
                 may hold fewer than its capacity, and none more"
            ),
            Self::Hashes { layer, hashes, needed } => write!(
                f,
                "layer {layer} has {hashes} bits per item, and its capacity and rate need {needed}"
            ),
            Self::Bytes { layer, bytes, needed } => write!(
                f,
                "layer {layer} has {bytes} bytes of bits, and its capacity and rate need {needed}"
            ),
            Self::LayerVersion(n) => write!(f, "version {n} of a layer is unknown"),
            Self::PayloadVersion(n) => write!(f, "version {n} of the payload is unknown"),
            Self::Length(n) => write!(f, "{n} bytes are too short or too long"),
        }
    }
}

impl fmt::Display for CuckooError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BucketSize(n) => write!(f, "bucket size {n} is out of range: 1 to 255"),
            Self::MaxIterations(n) => {
                write!(f, "maximum of {n} iterations is out of range: 1 to 65535")
            }
            Self::Expansion(n) => {
                write!(f, "expansion {n} is neither 0 nor a power of two up to 32768")
            }
            Self::Tables(n) => write!(f, "a filter of these parameters cannot have {n} tables"),
            Self::Buckets(n) => write!(f, "{n} buckets, which is not a power of two below 2^56"),
            Self::Items(n) => write!(f, "{n} items, more than there are slots"),
            Self::Table(n) => write!(f, "the numbers of table {n} contradict each other"),
            Self::List(n) => write!(f, "the list of table {n} is not valid"),
            Self::Doubling(n) => write!(f, "no table can be doubled from slot {n} on"),
        }
    }
}

impl fmt::Display for ChunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offset(n) => write!(f, "the filter has no bytes at offset or iterator {n}"),
            Self::TooLong(n) => write!(f, "{n} bytes are more than its layer has left"),
            Self::Empty => f.write_str("no bytes"),
            Self::Length { len, expected } => write!(f, "{len} bytes instead of {expected}"),
        }
    }
}

impl std::error::Error for Error {}
