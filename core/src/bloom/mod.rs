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
//! A small layer, of up to 512 bytes, is one block of 4 to 64 sectors. While such a filter has few
//! items, their hashes take the [place of the bits](small).
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
//! # Modules
//!
//! | module | holds |
//! |---|---|
//! | [`any`] | a filter of any layout, or a windowed one |
//! | [`bloomline`], [`redisbloom`], [`valkey`] | the layouts: geometry, layer, header |
//! | [`small`] | filters in one allocation: of one small layer, and of small generations |
//! | `word` | a filter as the word that a host stores |
//! | [`classic`] | the bits of an item in RedisBloom's layout and valkey-bloom's |
//! | [`length`] | the lengths of headers, which distinguish the layouts |
//! | [`layer`], [`scalable`], [`batch`] | a layer; layers as one filter; single items and batches in it |
//! | [`merge`], [`compact`] | the union of filters; smaller layers: a file for each layout |
//! | [`window`] | windowed filters: a ring of generations |
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

pub mod any;
pub mod batch;
pub mod bloomline;
pub mod classic;
pub mod compact;
pub mod layer;
pub mod length;
pub mod merge;
pub mod redisbloom;
pub mod scalable;
pub mod small;
pub mod valkey;
pub mod window;
#[allow(unsafe_code)]
mod word;
