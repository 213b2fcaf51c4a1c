//! Why an operation on a filter failed, with the values that caused it.

use std::fmt;

/// Why a filter could not be created, grown, filled or decoded.
///
/// The filter is unchanged, unless the function that returned the error documents otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The capacity is not 1 to [`MAX_CAPACITY`](crate::bloomline::sizing::MAX_CAPACITY) items.
    Capacity(u64),
    /// The target rate is not above 0 and at most
    /// [`MAX_ERROR_RATE`](crate::bloomline::sizing::MAX_ERROR_RATE).
    ErrorRate(f64),
    /// The expansion is not 1 to [`MAX_EXPANSION`](crate::MAX_EXPANSION).
    Expansion(u32),
    /// The window is not 1 to
    /// [`MAX_WINDOW_MILLIS`](crate::window::MAX_WINDOW_MILLIS) milliseconds.
    Window(u64),
    /// The number of generations is not [`MIN_GENERATIONS`](crate::window::MIN_GENERATIONS) to
    /// [`MAX_GENERATIONS`](crate::window::MAX_GENERATIONS).
    Generations(u32),
    /// A layer would need this target rate, which is below the minimum of its layout
    /// ([`MIN_LAYER_ERROR`](crate::bloomline::sizing::MIN_LAYER_ERROR)) or cannot be reached with
    /// 64-bit hashes.
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
    /// The chunk does not fit the filter.
    Chunk(ChunkError),
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
#[non_exhaustive]
pub enum Parameter {
    /// The layout.
    Layout,
    /// Whether and when they forget.
    Window,
    /// The seed of the hash.
    Seed,
    /// The capacity.
    Capacity,
    /// The target rate.
    ErrorRate,
    /// The expansion, or whether they grow.
    Expansion,
    /// The size of the layer with this index: one of them was compacted or merged before.
    Layer(u32),
    /// A generation that was opened at this time, in milliseconds, is missing from the destination.
    Generation(u64),
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout => f.write_str("layout"),
            Self::Window => f.write_str("window"),
            Self::Seed => f.write_str("seed"),
            Self::Capacity => f.write_str("capacity"),
            Self::ErrorRate => f.write_str("error rate"),
            Self::Expansion => f.write_str("expansion"),
            Self::Layer(index) => write!(f, "size of layer {index}"),
            Self::Generation(opened) => write!(f, "generation opened at {opened}"),
        }
    }
}

/// Why bytes are not a header of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// The generations before the oldest cannot have had this many bytes.
    Offset(u64),
}

/// Why a chunk of bits does not fit the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkError {
    /// No layer has a byte at this offset.
    Offset(u64),
    /// The chunk is longer than the rest of its layer.
    TooLong(u64),
}

impl From<HeaderError> for Error {
    fn from(error: HeaderError) -> Self {
        Self::Header(error)
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
            Self::Capacity(n) => write!(f, "capacity {n} is out of range"),
            Self::ErrorRate(e) => write!(f, "error rate {e} is out of range"),
            Self::Expansion(n) => write!(f, "expansion {n} is out of range"),
            Self::Window(n) => write!(f, "window of {n} ms is out of range"),
            Self::Generations(n) => write!(f, "{n} generations are out of range"),
            Self::ErrorRateTooSmall(e) => {
                write!(f, "a layer error rate of {e:e} is below the minimum of this layout")
            }
            Self::TooManyLayers(n) => write!(f, "the filter has {n} layers, the most there can be"),
            Self::Full(n) => write!(f, "the filter is full with {n} items"),
            Self::Refused(bytes) => write!(f, "a filter of {bytes} bytes exceeds a limit"),
            Self::OutOfMemory(bytes) => write!(f, "no memory for {bytes} bytes"),
            Self::Header(error) => write!(f, "bad header: {error}"),
            Self::Chunk(error) => write!(f, "bad chunk: {error}"),
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
            Self::Offset(n) => write!(f, "{n} bytes before the oldest generation"),
        }
    }
}

impl fmt::Display for ChunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offset(n) => write!(f, "no layer has a byte {n}"),
            Self::TooLong(n) => write!(f, "{n} bytes are more than its layer has left"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Header(error) => Some(error),
            Self::Chunk(error) => Some(error),
            _ => None,
        }
    }
}

impl std::error::Error for HeaderError {}
impl std::error::Error for ChunkError {}
