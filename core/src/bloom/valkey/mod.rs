//! valkey-bloom's layout, bit for bit. Filters from valkey-bloom keep it, and grow by its rules.
//!
//! ```text
//! filter  layers of growing capacity; the rate of each is the tightening ratio times that of the
//!         layer before
//! layer   one array of whole bytes; an item sets `hashes` bits anywhere in it
//! bit i   a mod bits, b mod bits, and from i = 2 on (a + i b mod 2^64) mod (2^64 - 59) mod bits,
//!         where a and b are SipHash-1-3 of the item with the two halves of the seed
//! ```
//!
//! The first layer has the whole target rate, so a filter that has grown reports up to
//! 1 / (1 - tightening) times as many false positives as its target. The bits of an item are
//! an arithmetic progression, as in RedisBloom's layout, and all layers have the same one. So the
//! measured rate is still higher: 2.3 times the target after growth by 13 layers.
//!
//! The seed is random unless the filter was created with another one.

pub mod blob;
pub mod filter;
pub mod header;
pub mod indexes;
pub mod layer;
pub mod payload;
pub mod rdb;
pub mod sizing;
pub mod valid;

pub use layer::{ValkeyLayer, ValkeyParams};

pub type ValkeyFilter = crate::bloom::scalable::ScalableFilter<layer::ValkeyShape>;
