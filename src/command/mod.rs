//! From the words of a client to a reply.

mod args;
mod dump;
mod general;
mod handler;
mod info;
mod read;
pub mod table;
mod text;
mod write;
