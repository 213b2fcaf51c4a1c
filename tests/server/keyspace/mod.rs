//! Filters as keys: copies, time to live, events, WATCH and client-side caching.

mod events;
mod key_life;
mod tracking;
mod watch;
