//! What a host uses, which is the module: filters whose host decides about memory layer by layer,
//! lists what a filter has allocated, and moves it.
//!
//! A *permit* is asked before memory for new layers is allocated. It gets the [`Demand`] and
//! answers whether the host grants it:
//!
//! ```
//! use bloomline_core::Error;
//! use bloomline_core::host::{AnyFilter, Demand, Filter, Growth, Spec};
//!
//! # fn main() -> Result<(), Error> {
//! let spec = Spec { capacity: 100, error_rate: 0.01, growth: Growth::Scaling { expansion: 2 } };
//! let mut permit = |demand: Demand| demand.filter_bytes < 1_000;
//! let mut filter = AnyFilter::from(Filter::new(spec, 42, &mut permit)?);
//! let mut number = 0u64;
//! let refusal = loop {
//!     match filter.insert(&number.to_le_bytes(), 0, &mut permit) {
//!         Ok(_) => number += 1,
//!         Err(refusal) => break refusal,
//!     }
//! };
//! assert!(matches!(refusal, Error::Refused(bytes) if bytes >= 1_000));
//! assert_eq!(filter.layer_count(), 2);
//!
//! let mut allocations = 0;
//! filter.each_allocation(|_| allocations += 1);
//! assert_eq!(allocations, 4); // the filter, the bits of two layers, and the table of the older
//! # Ok(())
//! # }
//! ```

pub use crate::bloom::any::{AnyFilter, AnyRef, LayerNumbers};
pub use crate::bloom::bloomline::Filter;
pub use crate::bloom::bloomline::sizing::{MAX_CAPACITY, MAX_ERROR_RATE};
pub use crate::bloom::redisbloom::RedisBloomFilter;
pub use crate::bloom::window::{
    Generation, MAX_GENERATIONS, MAX_WINDOW_MILLIS, MIN_GENERATIONS, Window, WindowSpec,
    WindowedFilter,
};
pub use crate::chunk::{Chunk, MAX_CHUNK_BYTES};
pub use crate::insertion::Insertion;
pub use crate::math::estimate::Estimate;
#[cfg(feature = "audit")]
pub use crate::memory::ledger;
pub use crate::memory::sparse::SparseBytes;
pub use crate::memory::stored::Stored;
pub use crate::memory::words::{Mover, Words};
pub use crate::permit::{Demand, Permit};
pub use crate::spec::{Growth, MAX_EXPANSION, Spec};

/// Pages of memory, for the allocator of a host.
pub mod pages {
    pub use crate::memory::pages::{LARGE, zero};
}

/// Huge pages behind large layers, for a thread of a host.
#[cfg(all(target_os = "linux", not(miri)))]
pub mod huge {
    pub use crate::memory::huge::{Collapser, FROM};
}

/// valkey-bloom's layout, for hosts that read and write valkey-bloom's own formats.
pub mod valkey {
    pub use crate::error::ValkeyError;
    /// Bytes before the bits of a layer in a file.
    pub const LAYER_HEADER_BYTES: u64 = crate::bloom::valkey::blob::HEADER_BYTES as u64;
    pub use crate::bloom::valkey::sizing::{MAX_CAPACITY, MAX_LAYER_BYTES};
    pub use crate::bloom::valkey::{ValkeyFilter, ValkeyParams};
    pub use crate::hash::siphash::{FIXED_SEED, Seed};
}

/// A value as numbers and strings, for hosts that store it so.
pub mod stream {
    pub use crate::stream::{OwnedBytes, ReadFields, VERSION, WriteFields};
}

/// Cuckoo filters, from which items can be deleted.
pub mod cuckoo {
    pub use crate::cuckoo::bloomline::CuckooSpec;
    pub use crate::cuckoo::options::CuckooOptions;
    pub use crate::cuckoo::{AnyCuckoo, Compaction, CuckooKind};
}
