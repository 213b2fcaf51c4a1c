//! RedisBloom's layout: recorded filters, its stream of commands, mixed fleets.

mod fleet;
pub mod forged;
mod four_gib;
mod natively;
mod packed_items;
mod recorded;
mod recorded_cuckoo;
pub mod seen;
mod stream;
