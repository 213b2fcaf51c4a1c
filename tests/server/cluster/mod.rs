//! Several servers that hold one data set: replicas, promoted replicas, the nodes of a cluster.

mod atomic_slots;
mod equal;
mod failover;
mod filled;
mod large;
mod nodes;
mod replication;
mod router;
mod slots;
mod traffic;
mod upgrade;
