//! The commands: from the arguments of a call to its reply.

mod add;
mod answers;
mod bulk;
mod compact;
mod create;
mod dump;
mod error;
mod float;
#[allow(unsafe_code)]
mod handler;
mod help;
mod info;
mod lifetime;
mod merge;
mod options;
mod packed;
mod read;
mod rotate;
mod syntax;
pub mod table;
