//! The value in the keyspace: what the server asks of a native type.

mod aof;
mod callbacks;
pub mod copies;
mod defrag;
pub mod handle;
mod rdb;
mod rdb_chain;
mod value;
