//! The value in the keyspace: what the server asks of a native type.

mod aof;
mod callbacks;
pub mod handle;
mod rdb;
