//! The Bloomline layout: all bits of an item in one page, in one to four blocks of it.

mod filter;
pub mod fold;
pub mod geometry;
mod growth;
pub mod header;
pub mod irregular;
#[allow(unsafe_code)]
mod layer;
pub mod locate;
mod located;
pub mod rate;
pub mod sectors;
pub mod shape;
pub mod sizing;
mod table;

pub use growth::BlockedParams;
pub use shape::{BlockedLayer, BlockedPlan, BlockedShape, LayerRef};

/// A scalable filter in the Bloomline layout.
pub type Filter = crate::bloom::scalable::ScalableFilter<BlockedShape>;

// 96 bytes are a size class of the servers' allocator. A larger filter would take the next one.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Filter>() as u64 == shape::FILTER_BYTES);
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<BlockedLayer>() as u64 == shape::LAYER_BYTES);
