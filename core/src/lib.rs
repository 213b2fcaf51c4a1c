//! Bloom filters and cuckoo filters that grow, without a server: in Bloomline's own layouts, and in
//! those of RedisBloom and valkey-bloom bit for bit.
//!
//! What they promise, and how they work, is in [`bloom`] and [`cuckoo`].
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
//! // The time, which matters for a windowed filter only.
//! let now = 0;
//! assert!(filter.insert(b"user1", now, &mut permit)?.is_new());
//! assert!(!filter.insert(b"user1", now, &mut permit)?.is_new());
//! assert!(filter.contains(b"user1", now));
//! assert!(!filter.contains(b"user2", now));
//!
//! // It grows.
//! for number in 0..10_000u32 {
//!     filter.insert(&number.to_le_bytes(), now, &mut permit)?;
//! }
//! assert!((0..10_000u32).all(|number| filter.contains(&number.to_le_bytes(), now)));
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
//! | [`bloom`] | Bloom filters: a folder for each of three layouts, windows, merges |
//! | [`cuckoo`] | cuckoo filters, from which items can be deleted: a folder for each of two layouts |
//!
//! Both families use these modules, which use neither:
//!
//! | module | holds |
//! |---|---|
//! | [`hash`] | the hash functions of the layouts |
//! | [`math`] | functions and estimates that are equal on every processor |
//! | [`simd`] | blocks, and the backends that test and set their bits |
//! | [`memory`] | bit arrays: zeroed lazily, aligned to pages, fallible |
//! | [`stream`] | a value as the numbers and strings of an RDB file |
//! | [`chunk`], `header_fields` | bits as bytes; fields of a header |
//! | `mask` | some items of a group |
//! | [`spec`], [`permit`] | what a filter is created with; the memory that it requests |
//! | [`insertion`], [`error`] | what an insertion did; what can go wrong |
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
//! | candidate slots | the slots of a table in which an item may lie: two windows of two |
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
//! | list | the hashes of the few items of a small filter, in the place of its bits; in a cuckoo filter the items with many copies |
//! | locate, to | to compute where an item lies in one layer: its spot |
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
//! | small filter | a filter of one small layer, in one allocation: a list, or bits |
//! | small layer | one block of 4 to 64 sectors |
//! | spot | where an item lies in one layer |
//! | stride | blocks from one of an item's blocks to the next, around the page |
//! | table | one cuckoo filter of fixed capacity, of several that together are one filter |
//! | target rate | the false-positive rate that a filter is created with |
//! | union | the filter to which the items of several were added: the OR of their bits |
//! | window | the time, or the number of further items, for which an item is found |
//! | window of slots | two consecutive slots of our cuckoo tables; windows overlap, buckets do not |
//! | windowed filter | a filter that drops items after a window |
//!
//! The bytes are described in `docs/format.md`, the decisions in `docs/design.md`.

#![deny(unsafe_code)]

#[cfg(not(target_endian = "little"))]
compile_error!(
    "the bits of a filter are bytes of a file as they lie in memory: little-endian only"
);

pub mod bloom;
pub mod chunk;
pub mod cuckoo;
pub mod error;
pub mod hash;
mod header_fields;
pub mod host;
pub mod insertion;
mod mask;
pub mod math;
#[allow(unsafe_code)]
pub mod memory;
pub mod permit;
#[allow(unsafe_code)]
pub mod simd;
pub mod spec;
pub mod stream;
pub mod work;

pub use error::Error;
pub use spec::Layout;
