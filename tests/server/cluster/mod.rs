//! Several servers with one data set: replicas, promoted replicas, nodes of a cluster.

mod atomic_slots;
mod dual_channel;
pub mod equal;
mod failover;
pub mod filled;
mod large;
pub mod nodes;
mod replication;
pub mod router;
mod slots;
pub mod traffic;
mod upgrade;
mod writable_replica;
