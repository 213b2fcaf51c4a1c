//! Filters recorded from RedisBloom, through every entry point of real servers.

mod entry_points;
mod fleet;
pub mod forged;
mod four_gib;
mod natively;
mod seen;
mod stream;
