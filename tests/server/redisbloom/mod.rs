//! Filters recorded from RedisBloom, through every door of real servers.

mod entry_points;
#[path = "../../core_redisbloom/fixture.rs"]
#[allow(dead_code, reason = "the tests of the core use the rest")]
mod fixture;
mod fleet;
pub mod forged;
mod four_gib;
mod natively;
mod seen;
mod stream;
