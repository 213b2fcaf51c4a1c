//! Bloom filters that grow: the core, which knows no server.
//!
//! # What is promised
//!
//! A Bloom filter is a set that forgets its items and keeps a few bits of each. It answers one
//! question: was this item added?
//!
//! * "No" is always true. An item that was added is found for ever.
//! * "Yes" may be false, with a probability that was chosen beforehand: the *error rate*.
//!
//! So it suits questions where a rare false yes does no harm and a yes that is true saves much: an
//! address that need not be fetched again, a row that need not be looked for. It can't list its
//! items, nor give one up, since its bits may belong to others too.
//!
//! # How it works
//!
//! There are `m` bits, all 0 at first. A hash of the item chooses `k` of them. To add it, set them;
//! to ask for it, look whether all are set. The more of them others have set, the likelier a false
//! yes. With `n` items, places being uniform and independent:
//!
//! ```text
//! rate = (1 - e^(-k n / m))^k          least for k = ln 2 * m / n, when half of the bits are set:
//! m / n = log2(1 / rate) / ln 2        1.44 bits an item for each halving of the rate
//! ```
//!
//! | bits an item, m / n | bits set, k | rate |
//! |---|---|---|
//! | 5 | 3 | 0.0918 |
//! | 10 | 7 | 0.0082 |
//! | 15 | 10 | 0.00074 |
//! | 20 | 14 | 0.000067 |
//! | 30 | 21 | 0.00000055 |
//!
//! To check the second row by hand: `e^(-7/10)` is 0.497, so 0.503 of the bits are set, and
//! `0.503^7` is 0.0082. Neither the number nor the length of the items counts, only bits an item.
//!
//! # What is different here
//!
//! **It grows.** `n` is seldom known. A [`Filter`] is a series of layers, each a Bloom filter of a
//! fixed capacity. When the newest is full, a larger one is added. An absent item may be reported
//! by any of them, so the rates of all layers must add up to at most the one asked for: each new
//! layer gets its share of what the earlier ones have left (`Spec::layer_error`).
//!
//! **An item stays on one page.** Bits that are scattered over the memory cost a cache line each,
//! and on fresh memory a page fault each. Here all bits of an item lie in one page, in one to four
//! lines of it; so the formula above is only near the truth, and [`rate`] has the true one. It
//! takes 2 to 6 % more bits than the classic filter from an error rate of 5 % down to 1e-9.
//!
//! ```text
//! Filter   | layer 0 | layer 1       | layer 2                   |      oldest first; only the newest takes items
//!             full      full           newest
//!
//! layer    | page 0 | page 1 | page 2 | ... |                          one page an item
//! page     | line 0 | line 1 | ... | line 63 |                         4 KiB: one to four lines an item
//!              ^ first   ^ + stride
//! line     | word 0 | word 1 | ... | word 7 |                          64 bytes: up to eight neighbouring words an item
//! word     | 64 bits, one of them the item's |
//! ```
//!
//! **It has a seed.** The hash is another one for each filter, so that nobody who does not know the
//! seed can prepare items that collide.
//!
//! # The other layout
//!
//! Bits without their items can't be moved to other places. So filters that come from RedisBloom
//! keep its [layout](redisbloom): bits anywhere in a layer, as in the classic filter, half of the
//! error rate for each further layer, and no seed. The series is the same [`Filter`], over layers
//! of another kind ([`Layer`](member::Layer)); [`AnyFilter`] holds either.
//!
//! # Names
//!
//! | name | is |
//! |---|---|
//! | `capacity` | items a layer is sized for (n) |
//! | `len` | items counted as added |
//! | `error_rate` | the probability of a false yes that was asked for |
//! | `fp_rate` | that probability as computed or measured, never as asked |
//! | `bits`, `hashes` | bits of a layer (m), bits an item sets in it (k) |
//! | [`Layer`](layer::Layer) | one filter of fixed capacity, a member of the series |
//! | [`Filter`] | the series |
//! | [`ClassicLayer`](redisbloom::ClassicLayer), [`ClassicFilter`](redisbloom::ClassicFilter) | layer and series in RedisBloom's layout |
//! | [`AnyFilter`], [`Layout`] | a filter of either layout, and which it is |
//! | `expansion` | how many times as large each further layer is |
//! | [`Growth`] | what happens when the newest layer is full |
//! | `page`, `line`, `word` | 4 KiB, 64 bytes, 64 bits |
//! | [`Spec`] | what a filter is asked to be |
//! | [`Geometry`](sizing::Geometry) | what follows from that for a layer: pages, lines, bits |
//! | [`Permit`] | the caller's say in how much memory may be taken |
//!
//! # Example
//!
//! ```
//! use bloomline_core::{Filter, Growth, Spec};
//!
//! # fn main() -> Result<(), bloomline_core::Error> {
//! let spec = Spec { capacity: 100, error_rate: 0.01, growth: Growth::Scaling { expansion: 2 } };
//! let mut permit = |demand: bloomline_core::Demand| demand.filter_bytes < 1 << 20;
//! let mut filter = Filter::new(spec, 42, &mut permit)?;
//!
//! assert!(filter.insert(b"user1", &mut permit)?); // was new
//! assert!(!filter.insert(b"user1", &mut permit)?);
//! assert!(filter.contains(b"user1"));
//! assert!(!filter.contains(b"user2"));
//!
//! for number in 0..10_000u32 {
//!     filter.insert(&number.to_le_bytes(), &mut permit)?;
//! }
//! assert_eq!(filter.layer_count(), 7);
//! assert!(filter.fp_rate() < 0.01);
//! assert!((0..10_000u32).all(|number| filter.contains(&number.to_le_bytes())));
//!
//! // As bytes and back: the header, then the bits.
//! let mut copy = Filter::decode_header(&filter.encode_header(), &mut permit)?;
//! let mut offset = 0;
//! while let Some(chunk) = filter.chunk(offset) {
//!     copy.write_chunk(offset, chunk)?;
//!     offset += chunk.len() as u64;
//! }
//! assert_eq!(copy.len(), filter.len());
//! assert!(copy.contains(b"user1"));
//! # Ok(())
//! # }
//! ```
//!
//! # To read
//!
//! * B. H. Bloom, *Space/Time Trade-offs in Hash Coding with Allowable Errors*, 1970: the filter.
//! * A. Kirsch, M. Mitzenmacher, *Less Hashing, Same Performance: Building a Better Bloom Filter*,
//!   2006: few hashes are enough.
//! * F. Putze, P. Sanders, J. Singler, *Cache-, Hash- and Space-Efficient Bloom Filters*, 2007: all
//!   bits of an item in one block, and its price.
//! * P. S. Almeida, C. Baquero, N. Preguiça, D. Hutchison, *Scalable Bloom Filters*, 2007: layers
//!   whose error rates add up.
//! * R. Pagh, G. Segev, U. Wieder, *How to Approximate a Set without Knowing Its Size in Advance*,
//!   2013: what growing must cost.
//! * M. Naor, E. Yogev, *Bloom Filters in Adversarial Environments*, 2015: why the seed must be
//!   secret.
//!
//! What was measured, and what was rejected, stands in `docs/design.md`; the bytes in
//! `docs/format.md`.

#[cfg(not(target_endian = "little"))]
compile_error!(
    "the bits of a filter are bytes of a file as they lie in memory: little-endian only"
);

pub mod any;
pub mod batch;
mod bloom_filter;
pub mod bloomline;
pub mod chunk;
pub mod error;
mod fields;
pub mod layer;
pub mod memory;
pub mod redisbloom;
pub mod scalable;
mod scale;
pub mod simd;
pub mod spec;

pub use any::AnyFilter;
pub use bloom_filter::{BloomFilter, Builder};
pub use bloomline::Filter;
pub use error::Error;
pub use scalable::ScalableFilter;
pub use spec::{Demand, Growth, Layout, MAX_EXPANSION, MAX_LAYERS, Permit, Spec};
