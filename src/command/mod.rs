//! The commands: from the arguments of a call to its reply.

mod access;
mod add;
mod answers;
mod bulk;
mod compact;
mod create;
pub mod cuckoo;
mod dump;
mod error;
mod float;
#[allow(unsafe_code)]
mod handler;
mod hash_check;
mod help;
mod info;
mod lifetime;
mod lines;
mod merge;
mod option;
mod options;
mod packed;
mod parse;
mod read;
mod redisbloom_dialect;
mod rotate;
mod stats;
mod syntax;
pub mod table;
