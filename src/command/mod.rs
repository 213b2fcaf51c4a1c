//! The commands: from the arguments of a call to its reply.

mod access;
mod answers;
pub mod bloom;
mod bulk;
mod creation;
pub mod cuckoo;
mod error;
mod float;
#[allow(unsafe_code)]
mod handler;
mod help;
mod info_fields;
mod items;
mod lines;
mod option;
mod packed;
mod read;
mod row;
mod syntax;
