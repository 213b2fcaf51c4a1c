//! RedisBloom's layout, bit for bit. Filters from RedisBloom keep it, and grow by its rules.
//!
//! ```text
//! filter  layers of growing capacity, each with half the target rate of the layer before
//! layer   one array of bits; an item sets `hashes` bits anywhere in it
//! bit i   (a + i b mod 2^64) mod bits, where a and b are two hashes of the item with fixed seeds
//! ```
//!
//! RedisBloom calls a layer a link. Older filters have numbers of bits that are powers of two, or
//! hashes of 32 bits. They keep them, and so do the layers that they add.
//!
//! The bits of an item are an arithmetic progression. For one difference `b` in `bits`, it returns
//! to its first bit after few steps. So the false-positive rate of a layer is at least about `4 /
//! (hashes * bits)`, whatever its target rate is: 3e-6 for 1,000 items at 1e-9
//! (`core/tests/bloom/rates/redisbloom.rs`).
//!
//! The hash has no secret seed: whoever knows the layout can choose items that collide.

pub mod geometry;
pub mod header;
pub mod layer;
mod rdb;

pub use layer::{RedisBloomLayer, RedisBloomParams};

pub type RedisBloomFilter = crate::bloom::scalable::ScalableFilter<geometry::RedisBloomShape>;
