//! RedisBloom's layout: recorded filters, its stream of commands, and ours.

pub mod forged;
mod four_gib;
mod natively;
mod packed_items;
mod recorded;
mod recorded_cuckoo;
pub mod seen;
mod stream;
