//! Bloom filters (`BF.*`) and cuckoo filters (`CF.*`) as native data types of Redis and Valkey.
//!
//! The filters themselves are the crate [`bloomline_core`]. This crate is the module around them.
//! Its parts, each of which uses only those above it:
//!
//! | part | what it is | uses |
//! |---|---|---|
//! | [`bloomline_core`] | the filters: hashing, sizing, growth, bytes of all layouts | memory |
//! | [`server`] | the server's C interface as safe Rust | the core's pages and memory ledger |
//! | [`policy`] | settings, limits, origin of a change, seeds, replication | core, `server` |
//! | [`data_type`] | the value of a key: callbacks, handle for commands | core, `server`, `policy` |
//! | [`command`] | from the arguments of a call to its reply | the same, [`data_type::handle`], [`data_type::replicate`] |
//! | `module` | loading: what is registered, in which order | all |
//!
//! The global allocator has the core zero large blocks lazily, and with the feature `audit` reports
//! to its memory ledger; `server` uses nothing else of it. `unsafe` occurs only in `server`,
//! `data_type`, `module` and `command::handler`.

#![deny(unsafe_code)]

#[cfg(not(all(target_endian = "little", target_pointer_width = "64")))]
compile_error!(
    "the formats are little-endian, and filters may be larger than 4 GiB: only 64-bit \
     little-endian machines are supported"
);

pub mod command;
#[allow(unsafe_code)]
pub mod data_type;
#[allow(unsafe_code)]
mod module;
pub mod policy;
#[allow(unsafe_code)]
pub mod server;
