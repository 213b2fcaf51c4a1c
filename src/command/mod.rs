//! The commands: from the arguments of a call to its reply.

mod add;
mod create;
mod dump;
mod error;
mod float;
#[allow(unsafe_code)]
mod handler;
mod help;
mod info;
mod options;
mod read;
mod syntax;
pub mod table;
