//! The layout of RedisBloom, bit for bit: what filters have that came from it, and grow by its
//! rules.
//!
//! ```text
//! filter  links of growing capacity, each with half the error rate of the one before
//! link    one array of bits; an item sets `hashes` bits anywhere in it
//! bit i   (a + i b mod 2^64) mod bits, where a and b are two hashes of the item with fixed seeds
//! ```
//!
//! Older filters have bit counts that are powers of two, or hashes of 32 bits; they keep them, and
//! so do the links they add. An item's bits are a progression, and for one step in `bits` it closes
//! after few bits. So the rate of a link is at least about `4 / (hashes * bits)`, whatever was
//! asked for: 3e-6 for 1,000 items at 1e-9 (`tests/core_redisbloom_rate.rs`).
//! Its hash has no secret seed: whoever knows the layout can choose items that collide.

pub mod geometry;
pub mod hash;
pub mod header;
#[allow(unsafe_code)]
pub mod indexes;
pub mod layer;

pub mod ln;

pub use layer::{ClassicLayer, Common};

/// A filter in RedisBloom's layout.
pub type ClassicFilter = crate::ScalableFilter<ClassicLayer>;
