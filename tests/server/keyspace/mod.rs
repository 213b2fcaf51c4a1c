//! Filters as keys: copies, time to live, events, WATCH, client-side caching, transactions.

mod compacting;
mod cuckoo;
pub mod events;
mod key_life;
mod merging;
mod packed_items;
mod rotations;
pub mod tracking;
mod ttl_option;
pub mod watch;
