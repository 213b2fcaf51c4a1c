//! Scalable Bloom filters: blocked, seeded and fast, and the layouts of RedisBloom and valkey-bloom
//! bit for bit.
//!
//! # What a Bloom filter promises
//!
//! A Bloom filter is a set that stores a few bits per item instead of the items. It answers one
//! question: was this item inserted?
//!
//! * "No" is always true. An inserted item is found forever, unless the filter has a
//!   [window].
//! * "Yes" may be false, with a probability that is chosen beforehand: the *target rate*.
//!
//! It suits questions where a rare false yes does no harm and a no saves much: a URL that need not
//! be fetched again, a row that need not be looked up. It cannot list its items or delete one,
//! because its bits may belong to other items too.
//!
//! # How it works
//!
//! A filter has `m` bits, all 0 at first. A hash of the item selects `k` of them. To insert the
//! item, set these bits; to test it, check that all of them are set. The more bits other items have
//! set, the likelier a false yes. With `n` items, and bits that are uniform and independent:
//!
//! ```text
//! rate = (1 - e^(-k n / m))^k          least for k = ln 2 * m / n, when half of the bits are set:
//! m / n = log2(1 / rate) / ln 2        1.44 bits per item for each halving of the rate
//! ```
//!
//! | bits per item, m / n | bits set, k | rate |
//! |---|---|---|
//! | 5 | 3 | 0.0918 |
//! | 10 | 7 | 0.0082 |
//! | 15 | 10 | 0.00074 |
//! | 20 | 14 | 0.000067 |
//! | 30 | 21 | 0.00000055 |
//!
//! To check the second row by hand: `e^(-7/10)` is 0.497, so 0.503 of the bits are set, and
//! `0.503^7` is 0.0082. The number and the length of the items do not matter, only bits per item.
//!
//! # What is different here
//!
//! **It grows.** The number of items is seldom known. A scalable filter is a list of layers, each a
//! Bloom filter of fixed capacity. When the newest layer is full, a larger one is added. An absent
//! item may be reported by any layer, so the rates of all layers together must not exceed the
//! target rate: each new layer gets a share of the error budget that the earlier layers have left.
//! The series is tightening, but its ratio is not constant (`docs/explanation/math.md`).
//!
//! **An item stays on one page.** Bits that are scattered over memory cost a cache miss each, and
//! on fresh memory a page fault each. Here all bits of an item lie in one page, in one to four
//! blocks of it. So the formula above is only an approximation; [`bloomline::rate`] has the exact
//! one. This blocked layout takes 2 to 6 % more bits than the classic filter for target rates from
//! 5 % down to 1e-9.
//!
//! ```text
//! filter   | layer 0 | layer 1       | layer 2                   |    oldest first
//!             full      full           newest: takes the items
//!
//! layer    | page 0 | page 1 | page 2 | ... |                        one page per item
//! page     | block 0 | block 1 | ... | block 63 |                    4 KiB: 1 to 4 blocks per item
//!              ^ first   ^ + stride
//! block    | sector 0 | sector 1 | ... | sector 7 |                  64 bytes: 1 to 8 consecutive
//!                                                                    sectors per item
//! sector   | 64 bits, one of them the item's |
//! ```
//!
//! **It can forget.** Bits cannot be cleared, but whole filters can be dropped. A
//! [windowed filter](window) is a ring of generations, and keeps its promises inside a window of
//! time or of items.
//!
//! **It is seeded.** Each filter hashes with its own seed, which the host chooses at random, so
//! that nobody who does not know the seed can prepare items that collide. Filters that are to be
//! merged need the same seed.
//!
//! **It reads RedisBloom's and valkey-bloom's filters.** The bits of a filter cannot be moved
//! without its items. So filters from RedisBloom keep their [layout](redisbloom): bits anywhere in
//! a layer, half the rate for each further layer, and no seed. Filters from valkey-bloom keep
//! [theirs](valkey).
//!
//! # Where to begin
//!
//! The module uses [`host`] and [`error`] only, which `tests/layering.rs` checks: filters whose
//! host decides about memory and moves it. The tests, tools and benches of this project use the
//! other modules too.
//!
//! ```
//! use bloomline_core::Error;
//! use bloomline_core::host::{AnyFilter, Demand, Filter, Growth, Spec};
//!
//! # fn main() -> Result<(), Error> {
//! let mut permit = |demand: Demand| demand.filter_bytes <= 1 << 20; // the filter takes 1 MiB at most
//! let spec = Spec { capacity: 100, error_rate: 0.01, growth: Growth::Scaling { expansion: 2 } };
//! let mut filter = AnyFilter::from(Filter::new(spec, 42, &mut permit)?);
//! assert!(filter.insert(b"user1", &mut permit)?.is_new());
//! assert!(!filter.insert(b"user1", &mut permit)?.is_new());
//! assert!(filter.contains(b"user1", 0));
//! assert!(!filter.contains(b"user2", 0));
//!
//! // It grows.
//! for number in 0..10_000u32 {
//!     filter.insert(&number.to_le_bytes(), &mut permit)?;
//! }
//! assert!((0..10_000u32).all(|number| filter.contains(&number.to_le_bytes(), 0)));
//! assert_eq!(filter.layer_count(), 7);
//!
//! // To bytes and back: the header determines the sizes, and the bits follow.
//! let mut copy = AnyFilter::decode_header(&filter.encode_header(), &mut permit)?;
//! let mut offset = 0;
//! while let Some(chunk) = filter.chunk(offset) {
//!     copy.write_chunk(offset, chunk)?;
//!     offset += chunk.len() as u64;
//! }
//! assert_eq!(copy, filter);
//! # Ok(())
//! # }
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`host`] | what the module uses: filters, permits, relocation, lists of allocations |
//! | [`any`] | a filter of any layout, or a windowed one |
//! | [`bloomline`], [`redisbloom`], [`valkey`] | the layouts: hash, geometry, layer, header |
//! | [`layer`], [`scalable`], [`batch`] | a layer; layers as one filter; single items and batches in it |
//! | [`merge`], [`compact`] | the union of filters; smaller layers: a file for each layout |
//! | [`estimate`] | the number of items, estimated from the bits |
//! | [`window`] | windowed filters: a ring of generations |
//! | [`cuckoo`] | cuckoo filters, from which items can be deleted, in both layouts |
//! | [`simd`] | blocks, and the backends that test and set their bits |
//! | [`memory`] | bit arrays: zeroed lazily, aligned to pages, fallible |
//! | [`chunk`], [`error`] | bits as bytes, what can go wrong |
//! | [`spec`], [`permit`] | what a filter is asked to be; the memory it asks for |
//!
//! # Glossary
//!
//! | term | is |
//! |---|---|
//! | backend | the instructions that test and set bits: scalar, AVX2, AVX-512, NEON |
//! | baseline | the least that a command could cost, measured beside it |
//! | batch | the items of one call |
//! | bits per item | `m / n`: bits of a layer divided by its capacity |
//! | block | 512 bits, one cache line |
//! | blocked filter | a filter with all bits of an item in few blocks |
//! | block hash | the half of an item's hash that selects its page and first block |
//! | bucket | consecutive slots of a table, any of which may hold a fingerprint |
//! | capacity, `n` | items that a layer is sized for |
//! | chunk | at most 16 MiB of the bits of one layer |
//! | classic filter | a filter with the bits of an item anywhere in its layer |
//! | compact, to | to free the memory that the items of a filter do not need |
//! | entry point | a way in for bytes: RESTORE, BF.LOADCHUNK, RDB, replication |
//! | error budget | the part of the target rate that the layers so far have left |
//! | expansion | the capacity of a layer divided by that of the layer before it |
//! | false-positive rate | the probability that an absent item is reported as present, computed or measured |
//! | fill | the share of bits that are set |
//! | fingerprint | a few bits of an item's hash, which a cuckoo filter stores |
//! | fold | to merge pages of a layer by OR, so that it has fewer pages in memory |
//! | generation | the items that were inserted during one slot of a window |
//! | geometry | pages, blocks per page, blocks per item and bits per block of a layer |
//! | group | up to 64 items of a batch that are prefetched together |
//! | header | everything about a filter but its bits |
//! | host | the program that decides about the memory of filters |
//! | inserted | was new, and counted; an item that seems to be there is not inserted again |
//! | irregular layer | a layer that does not follow from those before it: it was folded, or merged above its capacity |
//! | kick | an insertion that moves a fingerprint to its other bucket to take its slot |
//! | layer | one filter of fixed capacity |
//! | layout | how items are hashed, and where their bits or entries lie: Bloomline's own, or RedisBloom's, or valkey-bloom's |
//! | merge, to | to make a filter the union of itself and others |
//! | overflow layer | a layer for more items than a generation was sized for |
//! | packed items | the items of a batch in one string: of a fixed width, after their lengths, or as lines |
//! | page | up to 64 blocks, at most 4 KiB |
//! | part | the first or the other blocks (or bits) of an item |
//! | pattern | the half of an item's hash that selects the bits in a block |
//! | permit | the host's decision about the memory of new layers |
//! | prefix | the hash of an item, scaled to a number of values and cut: what a cuckoo filter stores |
//! | reference model | a slow implementation that tests compare with |
//! | refreshed | found in an older generation, and written to the newest one too |
//! | ring | the generations of a windowed filter |
//! | rotation | opening a generation, and dropping the oldest |
//! | scalable filter | layers that together are one filter |
//! | sector | one 64-bit word of a block |
//! | seed | the number that makes the hash of a filter its own |
//! | slot | room for one fingerprint |
//! | spot | where an item lies in one layer |
//! | stride | blocks from one of an item's blocks to the next, around the page |
//! | table | one cuckoo filter of fixed capacity, of several that together are one filter |
//! | target rate | the false-positive rate that a filter was asked for |
//! | union | the filter to which the items of several were added: the OR of their bits |
//! | window | the time, or the number of further items, for which an item is found |
//! | windowed filter | a filter that drops items after a window |
//!
//! # Literature
//!
//! * B. H. Bloom, *Space/Time Trade-offs in Hash Coding with Allowable Errors*, 1970: the filter.
//! * A. Kirsch, M. Mitzenmacher, *Less Hashing, Same Performance: Building a Better Bloom Filter*,
//!   2006: two hash values are enough.
//! * F. Putze, P. Sanders, J. Singler, *Cache-, Hash- and Space-Efficient Bloom Filters*, 2007: all
//!   bits of an item in one block, and its price.
//! * H. Lang, T. Neumann, A. Kemper, P. Boncz, *Performance-Optimal Filtering: Bloom Overtakes
//!   Cuckoo at High Throughput*, VLDB 2019: register-blocked, sectorized and cache-sectorized
//!   filters, the family of this layout.
//! * P. S. Almeida, C. Baquero, N. Preguiça, D. Hutchison, *Scalable Bloom Filters*, 2007: layers
//!   whose rates add up.
//! * R. Pagh, G. Segev, U. Wieder, *How to Approximate a Set without Knowing Its Size in Advance*,
//!   2013: the cost of growing.
//! * M. Naor, E. Yogev, *Bloom Filters in Adversarial Environments*, 2015: why the seed must be
//!   secret.
//!
//! The bytes are described in `docs/format.md`, the decisions in `docs/design.md`.

#![deny(unsafe_code)]

#[cfg(not(target_endian = "little"))]
compile_error!(
    "the bits of a filter are bytes of a file as they lie in memory: little-endian only"
);

pub mod any;
pub mod batch;
pub mod bloomline;
pub mod chunk;
pub mod compact;
pub mod cuckoo;
pub mod error;
pub mod estimate;
pub mod fields;
pub mod frozen;
pub mod host;
pub mod insertion;
pub mod layer;
#[allow(unsafe_code)]
pub mod memory;
pub mod merge;
pub mod permit;
pub mod redisbloom;
pub mod scalable;
pub mod scale;
#[allow(unsafe_code)]
pub mod simd;
pub mod spec;
pub mod valkey;
pub mod window;

pub use error::Error;
pub use spec::Layout;
