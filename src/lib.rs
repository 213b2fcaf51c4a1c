//! Bloom filters (`BF.*`) as a native data type of Redis and Valkey.
#![allow(missing_docs)]
pub mod bloom;
