//! What a filter is asked to be, and what follows from that for its layers.

/// The largest growth factor of capacity, as in RedisBloom.
pub const MAX_EXPANSION: u32 = 32_768;

/// The most layers a filter may have.
pub const MAX_LAYERS: u32 = 4_096;

/// What happens when the newest layer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// A layer of `expansion` times the capacity is added, 1 to [`MAX_EXPANSION`].
    Scaling {
        /// Growth factor of capacity.
        expansion: u32,
    },
    /// New items are refused.
    Fixed,
}

/// What a filter is asked to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// Items the first layer is sized for, 1 to 2^40.
    pub capacity: u64,
    /// False-positive probability of the whole filter, however far it grows; above 0, at most
    /// 0.25.
    pub error_rate: f64,
    /// What happens when the newest layer is full.
    pub growth: Growth,
}

/// How items map to bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// This project's own: fast, small, seeded.
    Bloomline,
    /// RedisBloom's, to the last bit.
    RedisBloom,
}

/// Memory for new layers, put before the caller's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Bytes of the bits of all new layers.
    pub new_bytes: u64,
    /// Bytes of the bits of the largest of them.
    pub largest_layer: u64,
    /// [`Filter::size_bytes`](crate::ScalableFilter::size_bytes) with the new layers.
    pub filter_bytes: u64,
    /// The filter's layout.
    pub layout: Layout,
}

/// Decides whether new layers may be allocated. Asked before memory is.
pub type Permit<'a> = &'a mut dyn FnMut(Demand) -> bool;
