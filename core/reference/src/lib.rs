//! What tests and fuzzers compare the filters with.
//!
//! | module | holds |
//! |---|---|
//! | [`bloomline`], [`redisbloom`], [`valkey`] | reference models of the layouts, written from their documentation, slow and simple |
//! | [`folding`] | which pages of a layer are joined when it is folded |
//! | [`bloomline_cuckoo`] | what a cuckoo filter must contain, as a multiset |
//! | [`cuckoo_header`] | the header of a cuckoo filter as numbers |
//! | [`redisbloom_cuckoo`] | the reference model of RedisBloom's cuckoo filters |
//! | [`windowed`] | the reference model of windowed filters |
//! | [`calls`] | the calls that test and insert items, compiled once |
//! | [`fixture`], [`valkey_fixture`], [`payload`], [`forged`] | recorded filters, and forged headers |
//! | [`edges`] | forged filters at the edges of what is valid, in every encoding |
//! | [`strict_loader`] | what a RedisBloom checks before it loads a filter |
//! | [`items`] | items for benches |
//! | [`random`] | random numbers with fixed seeds, and means with standard errors |
//! | [`golden`] | golden files |
//! | [`rate_of_bits`] | the exact false-positive rate of a filled layer |
//! | [`checks`] | the bodies of the fuzz targets |
//! | [`life`] | random lives of filters of all kinds, beside the models and an exact set |

pub mod bloomline;
pub mod bloomline_cuckoo;
pub mod calls;
pub mod checks;
pub mod cuckoo_header;
pub mod edges;
pub mod fixture;
pub mod folding;
pub mod forged;
pub mod golden;
pub mod items;
pub mod life;
pub mod payload;
pub mod random;
pub mod rate_of_bits;
pub mod redisbloom;
pub mod redisbloom_cuckoo;
pub mod strict_loader;
pub mod valkey;
pub mod valkey_fixture;
pub mod windowed;
