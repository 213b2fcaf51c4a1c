//! Filters as keys: copies, time to live, events, WATCH and client-side caching.

pub mod events;
mod key_life;
pub mod tracking;
pub mod watch;
