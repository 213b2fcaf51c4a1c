//! Why an operation on a filter failed, with the values that caused it.
//!
//! The numbers in the texts are constants of files that import this one.

/// Why a filter could not be created, grown, filled or decoded.
///
/// The filter is unchanged, unless the function that returned the error documents otherwise.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("capacity {0} is out of range: 1 to 1099511627776")]
    Capacity(u64),
    #[error(
        "error rate {0} is out of range: above 0, at most 0.25, in RedisBloom's layout below 1"
    )]
    ErrorRate(f64),
    #[error("expansion {0} is out of range: 1 to 32768")]
    Expansion(u32),
    #[error("window of {0} ms is out of range: 1 to 9007199254740992 ms")]
    Window(u64),
    #[error("{0} generations are out of range: 2 to 64")]
    Generations(u32),
    #[error("capacity {capacity} is below the number of generations, {generations}")]
    TooFewItems { capacity: u64, generations: u32 },
    /// A layer would need this target rate, which is below the minimum of its layout
    /// ([`MIN_LAYER_ERROR`](crate::bloom::bloomline::sizing::MIN_LAYER_ERROR)) or cannot be reached
    /// with 64-bit hashes.
    #[error("a layer error rate of {0:e} is below the minimum of this layout")]
    ErrorRateTooSmall(f64),
    #[error("the filter has {0} layers, the most there can be")]
    TooManyLayers(u32),
    #[error("a generation has {0} overflow layers, the most there can be")]
    TooManyOverflowLayers(u32),
    #[error("the filter has {0} tables, the most there can be")]
    TooManyTables(u32),
    /// The filter is fixed and full. The number is the capacity of its newest layer.
    #[error("the filter is full with {0} items")]
    Full(u64),
    /// The permit refused a filter of this many bytes.
    #[error("a filter of {0} bytes exceeds a limit")]
    Refused(u64),
    #[error("no memory for {0} bytes")]
    OutOfMemory(u64),
    #[error("bad header: {0}")]
    Header(#[from] HeaderError),
    /// A filter in valkey-bloom's layout cannot have this number, or not in these bytes.
    #[error(transparent)]
    Valkey(#[from] ValkeyError),
    #[error(transparent)]
    Cuckoo(#[from] CuckooError),
    #[error("error rate {0:?} of a cuckoo filter is out of range: 5e-7 or above, below 1")]
    CuckooErrorRate(f64),
    #[error("bad chunk: {0}")]
    Chunk(#[from] ChunkError),
    /// A windowed filter is neither merged nor compacted.
    #[error("the filter has a window")]
    Windowed,
    /// Such a filter is neither merged nor compacted.
    #[error("the filter has valkey-bloom's layout")]
    OfValkeyBloom,
    /// Such filters cannot be merged.
    #[error("the filters differ in {0}")]
    Differs(Parameter),
    #[error("the false-positive rate would be {rate:.3e}, above the target {}", short(*target))]
    RateExceeded { rate: f64, target: f64 },
    /// A layer of the merged filter, not the newest, would hold more items than its capacity. The
    /// oldest has index 0; the items are an estimate.
    #[error("layer {layer} would hold {items} items, above its capacity {capacity}")]
    LayerFull { layer: u32, items: u64, capacity: u64 },
}

/// A number in four digits, without zeros at their end: `1e-2`, `2.917e-7`.
fn short(number: f64) -> String {
    let text = format!("{number:.3e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// What a sizing revision is that no filter may have.
fn sizing_kind(revision: u16) -> &'static str {
    match revision {
        1 | 2 => "that of builds before the first release, whose filters are not read",
        _ => "unknown",
    }
}

/// What two filters that cannot be merged differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Parameter {
    #[error("layout")]
    Layout,
    #[error("seed")]
    Seed,
    /// In RedisBloom's layout.
    #[error("hash or rounding of sizes")]
    Options,
    #[error("capacity")]
    Capacity,
    #[error("error rate")]
    ErrorRate,
    /// The expansion, or whether they grow.
    #[error("expansion")]
    Expansion,
    /// One of the layers with this index was compacted or merged before.
    #[error("size of layer {0}")]
    Layer(u32),
}

/// Why bytes are not a header of a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// No header has this many bytes, or not with these layers.
    #[error("{0} bytes long")]
    Length(usize),
    #[error("bad magic")]
    Magic,
    #[error("version {0} is unknown")]
    Version(u16),
    #[error("sizing revision {0} is {kind}", kind = sizing_kind(*.0))]
    Sizing(u16),
    #[error("growth kind {0} is unknown")]
    Growth(u8),
    #[error("a reserved byte is not zero")]
    Reserved,
    #[error("{field} {number} is out of range")]
    Range { field: &'static str, number: u64 },
    /// In RedisBloom's layout, as the next two.
    #[error("options {0:#x} without a meaning")]
    Options(u32),
    #[error("{0} items, which is not the sum of those in the links")]
    Total(u64),
    #[error("the numbers of link {0} contradict each other")]
    Layer(u32),
    /// A filter of these parameters cannot have as many.
    #[error("{0} layers")]
    Layers(u32),
    /// The layer with this index cannot have the pages or the capacity of its record.
    #[error("the record of layer {0} is not valid")]
    Irregular(u32),
    #[error("{0} items in the newest layer, more than its capacity")]
    Len(u64),
    #[error("window kind {0} is unknown")]
    Window(u8),
    /// A filter of these parameters cannot have as many.
    #[error("{0} generations")]
    Generations(u32),
    #[error("the numbers of generation {0} contradict each other")]
    Generation(u32),
    /// The bytes of the filter cannot begin or end there.
    #[error("offset {0} of its bytes is out of range")]
    Offset(u64),
    #[error(transparent)]
    Cuckoo(#[from] CuckooError),
    #[error("the header of another filter")]
    Other,
}

/// What a filter in valkey-bloom's layout cannot have.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ValkeyError {
    #[error("capacity {0} is out of range: 1 to 9223372036854775807, for all layers together")]
    Capacity(u64),
    #[error("expansion {0} is out of range: 0 to 4294967295")]
    Expansion(u64),
    #[error("error rate {0} is out of range: above 0, below 1")]
    ErrorRate(f64),
    #[error("tightening ratio {0} is out of range: above 0, below 1")]
    Tightening(f64),
    #[error("{0} says neither that the seed is random nor that not")]
    SeedFlag(u64),
    #[error("the seed is not the fixed one, but is said to be")]
    FixedSeed,
    #[error("layer {0} has another seed than the first")]
    Seed(u32),
    #[error("{0} layers are out of range: 1 to 4096")]
    Layers(u64),
    #[error(
        "layer {layer} of capacity {capacity} cannot hold {items} items: only the newest may hold \
         fewer than its capacity, and none more"
    )]
    Items { layer: u32, items: u64, capacity: u64 },
    #[error("layer {layer} has {hashes} bits per item, and its capacity and rate need {needed}")]
    Hashes { layer: u32, hashes: u32, needed: u32 },
    #[error("layer {layer} has {bytes} bytes of bits, and its capacity and rate need {needed}")]
    Bytes { layer: u32, bytes: u64, needed: u64 },
    #[error("version {0} of a layer is unknown")]
    LayerVersion(u8),
    /// Of BF.LOAD.
    #[error("version {0} of the payload is unknown")]
    PayloadVersion(u8),
    /// The bytes end before the filter does, or after it.
    #[error("{0} bytes are too short or too long")]
    Length(u64),
}

/// A number that a cuckoo filter cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CuckooError {
    #[error("bucket size {0} is out of range: 1 to 255")]
    BucketSize(u64),
    #[error("maximum of {0} iterations is out of range: 1 to 65535")]
    MaxIterations(u64),
    #[error("expansion {0} is neither 0 nor a power of two up to 32768")]
    Expansion(u64),
    /// Not 1 to 65,535, more than one in a filter that does not grow, or a number with which the
    /// newest would have 2^56 buckets or more.
    #[error("a filter of these parameters cannot have {0} tables")]
    Tables(u64),
    /// Of the first table.
    #[error("{0} buckets, which is not a power of two below 2^56")]
    Buckets(u64),
    #[error("{0} items, more than there are slots")]
    Items(u64),
    /// Or those of the table before it.
    #[error("the numbers of table {0} contradict each other")]
    Table(u32),
    /// It is not ascending, or has prefixes that the table cannot have, or none of their copies
    /// (Bloomline's layout).
    #[error("the list of table {0} is not valid")]
    List(u32),
    /// In Bloomline's layout.
    #[error("no table can be doubled from slot {0} on")]
    Doubling(u64),
}

/// Why a chunk of bits does not fit the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    #[error("the filter has no bytes at offset or iterator {0}")]
    Offset(u64),
    #[error("{0} bytes are more than its layer has left")]
    TooLong(u64),
    #[error("no bytes")]
    Empty,
    /// A string of bits, and its part of the layer or table.
    #[error("{len} bytes instead of {expected}")]
    Length { len: u64, expected: u64 },
}
