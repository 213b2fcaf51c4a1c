//! What can go wrong with a filter, with the numbers; replies are made of it elsewhere.

use std::fmt;

/// Why a filter could not be created, grown, filled or decoded.
///
/// In every case nothing was changed, unless the function that returned it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A capacity outside 1 to [`MAX_CAPACITY`](crate::bloomline::geometry::MAX_CAPACITY) items.
    Capacity(u64),
    /// An error rate that is not above 0 and at most
    /// [`MAX_ERROR_RATE`](crate::bloomline::geometry::MAX_ERROR_RATE).
    ErrorRate(f64),
    /// An expansion outside 1 to [`MAX_EXPANSION`](crate::MAX_EXPANSION).
    Expansion(u32),
    /// A layer would need this error rate, below
    /// [`MIN_LAYER_ERROR`](crate::bloomline::geometry::MIN_LAYER_ERROR).
    ErrorRateTooSmall(f64),
    /// The filter has as many layers as one may have.
    TooManyLayers(u32),
    /// A filter of a fixed size holds this many items, its capacity.
    Full(u64),
    /// The caller's limits forbid a filter of this many bytes.
    Refused(u64),
    /// The allocator cannot provide this many bytes.
    OutOfMemory(u64),
    /// Bytes that are no header of a filter.
    Header(HeaderError),
    /// A chunk of bits that does not fit the filter.
    Chunk(ChunkError),
}

/// Why bytes are no header of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderError {
    /// Not as long as a header is.
    Length(usize),
    /// Does not begin with the magic bytes.
    Magic,
    /// A version of the format that this release does not know.
    Version(u16),
    /// A revision of the sizing rule that this release does not know.
    Sizing(u16),
    /// A kind of growth that this release does not know.
    Growth(u8),
    /// A reserved byte is not zero.
    Reserved,
    /// Option bits of RedisBloom's layout that mean nothing.
    Options(u32),
    /// A sum of items that is not that of the links.
    Total(u64),
    /// A link of RedisBloom's layout whose numbers contradict each other, by its index.
    Layer(u32),
    /// A number of layers that such a filter can't have.
    Layers(u32),
    /// More items in the newest layer than it has capacity for.
    Len(u64),
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
            Self::ErrorRateTooSmall(e) => {
                write!(f, "a layer error rate of {e:e} is below the minimum of this layout")
            }
            Self::TooManyLayers(n) => write!(f, "the filter has {n} layers, the most there can be"),
            Self::Full(n) => write!(f, "the filter is full with {n} items"),
            Self::Refused(bytes) => write!(f, "a filter of {bytes} bytes exceeds a limit"),
            Self::OutOfMemory(bytes) => write!(f, "no memory for {bytes} bytes"),
            Self::Header(error) => write!(f, "bad header: {error}"),
            Self::Chunk(error) => write!(f, "bad chunk: {error}"),
        }
    }
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
            Self::Len(n) => write!(f, "{n} items in the newest layer, more than its capacity"),
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
