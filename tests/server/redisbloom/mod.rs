//! Filters recorded from RedisBloom, through every door of real servers.

mod doors;
mod fleet;
pub mod forged;
mod four_gib;
mod natively;
mod seen;
mod stream;
