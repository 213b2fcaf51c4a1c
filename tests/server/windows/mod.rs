//! Filters that forget, on one server: creation, forgetting, replies, events, limits, entry points.

mod by_count;
mod by_hand;
mod by_time;
mod changes;
mod dumps;
mod entry_points;
pub mod fixture;
mod forged;
mod introspection;
mod limits;
mod memory;
mod options;
mod refusals;
mod scripts;
mod totals;
mod ttl;
