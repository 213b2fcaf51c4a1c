//! Several servers with one data set: links, failover, slots that move, rolling upgrades.

mod atomic_slots;
mod dual_channel;
pub mod equal;
pub mod filled;
mod large;
pub mod nodes;
mod replication;
pub mod router;
mod slots;
pub mod traffic;
mod upgrade;
mod writable_replica;
