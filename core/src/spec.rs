//! What a caller specifies of a filter: capacity, target rate, growth, layout, memory.

/// The largest expansion: 32,768, as in RedisBloom.
pub const MAX_EXPANSION: u32 = 32_768;

/// The largest number of layers of a filter.
pub const MAX_LAYERS: u32 = 4_096;

/// What happens when the newest layer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// A layer is added with `expansion` times the capacity of the newest one.
    Scaling {
        /// 1 to [`MAX_EXPANSION`], both included.
        expansion: u32,
    },
    /// New items are refused.
    Fixed,
}

/// Capacity, target rate and growth of a filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// Items that the first layer is sized for, 1 to 2^40.
    pub capacity: u64,
    /// The target rate of the whole filter, however far it grows: above 0, at most 0.25.
    pub error_rate: f64,
    /// What happens when the newest layer is full.
    pub growth: Growth,
}

/// How items map to bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// This project's layout: blocked and seeded.
    Bloomline,
    /// RedisBloom's layout, bit for bit.
    RedisBloom,
}

/// The memory that new layers need, for a [`Permit`] to grant or refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Bytes of the bits of all new layers.
    pub new_bytes: u64,
    /// Bytes of the bits of the largest of them.
    pub largest_layer: u64,
    /// [`ScalableFilter::size_bytes`](crate::host::ScalableFilter::size_bytes) with the new layers.
    pub filter_bytes: u64,
    /// The filter's layout.
    pub layout: Layout,
}

/// Decides whether new layers may be allocated. It is called before memory is allocated.
pub type Permit<'a> = &'a mut dyn FnMut(Demand) -> bool;
