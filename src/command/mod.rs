//! From the words of a client to a reply.

mod args;
mod dump;
mod general;
mod handler;
mod help;
mod info;
mod read;
pub mod table;
mod takes;
mod text;
mod write;
