//! Free loopback ports for servers.

use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};

use super::wait::until;

/// The ports of servers: this one and those after it, up to [`CLUSTER_BUS`] of them.
///
/// The system gives ports from 32768 on to connections, on Linux by default, and to sockets without
/// a port of their choice. A server that is started again could not listen on such a port if a
/// connection had got it meanwhile.
const FIRST: u16 = 10_000;

/// A node of a cluster listens to the other nodes on its port plus this number.
const CLUSTER_BUS: u16 = 10_000;

/// A free loopback port whose port for the cluster bus is free as well. Each call in this process
/// returns another one, until all were returned.
pub fn free_port() -> u16 {
    /// Where the search begins: at random, because several processes run tests at the same time.
    static NEXT: LazyLock<AtomicU16> =
        LazyLock::new(|| AtomicU16::new(RandomState::new().hash_one(()) as u16));
    until("a free pair of ports", || {
        let port = FIRST + NEXT.fetch_add(1, Ordering::Relaxed) % CLUSTER_BUS;
        let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
        (is_free(port) && is_free(port + CLUSTER_BUS)).then_some(port)
    })
}
