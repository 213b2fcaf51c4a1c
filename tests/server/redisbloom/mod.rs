//! Filters recorded from RedisBloom, through every entry point of real servers.

mod entry_points;
#[path = "../../core_redisbloom/fixture.rs"]
#[allow(dead_code, reason = "the core's tests use the rest")]
mod fixture;
mod fleet;
pub mod forged;
mod four_gib;
mod natively;
mod seen;
mod stream;
