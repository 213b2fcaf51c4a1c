//! Several servers with one data set: links, failover, slots that move, rolling upgrades.

mod atomic_slots;
mod dual_channel;
pub mod equal;
mod failover;
mod failover_in_window;
pub mod filled;
mod large;
mod links_in_window;
mod merging;
pub mod nodes;
mod replication;
pub mod router;
mod slots;
mod slots_in_window;
pub mod traffic;
mod upgrade;
mod writable_replica;
