//! What a caller specifies of a filter: capacity, target rate, growth, layout.

/// The largest expansion: 32,768, as in RedisBloom.
pub const MAX_EXPANSION: u32 = 32_768;

/// The largest number of layers of a filter.
pub const MAX_LAYERS: u32 = 4_096;

/// What happens when the newest layer is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// A layer is added with `expansion` times the capacity of the newest one.
    Scaling {
        /// 1 to [`MAX_EXPANSION`], both included; up to 2^32 - 1 in valkey-bloom's layout.
        expansion: u32,
    },
    /// New items are refused.
    Fixed,
}

impl Growth {
    /// The growth of an expansion as clients and files write it: 0 stands for [`Growth::Fixed`].
    pub const fn of(expansion: u32) -> Self {
        match expansion {
            0 => Self::Fixed,
            expansion => Self::Scaling { expansion },
        }
    }

    /// The expansion as clients and files write it; see [`Growth::of`].
    pub const fn expansion(self) -> u32 {
        match self {
            Self::Scaling { expansion } => expansion,
            Self::Fixed => 0,
        }
    }
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
    /// valkey-bloom's layout, bit for bit.
    ValkeyBloom,
}
