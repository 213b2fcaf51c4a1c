//! Memory of filters: when it is taken, how it is counted, moved and freed.

mod compacting;
mod cuckoo;
mod defrag;
mod defrag_kinds;
mod freeing;
mod generations;
#[cfg(target_os = "linux")]
mod huge;
mod neighbours;
mod neighbours_defrag;
mod resident;
mod strings;
mod usage;

use bloomline_harness::{Client, Server, int};

/// MEMORY USAGE of a key.
fn usage(client: &mut Client, key: &str) -> u64 {
    int(&client.call(&format!("MEMORY USAGE {key}"))).try_into().expect("bytes")
}

/// What the buffers of a connection take or give back between two looks at `used_memory`.
const NOISE: u64 = 64 << 10;

/// Deletes all keys; returns the bytes that `used_memory` falls by, to within [`NOISE`].
///
/// Only a new connection is there, whose buffers are small, and nothing else happens between the
/// two looks.
fn freed_by_flushall(server: &Server) -> u64 {
    let mut client = server.resp2();
    client.wait_for("connected_clients", "1");
    let before = client.info_number("used_memory");
    client.ok("FLUSHALL SYNC");
    before.saturating_sub(client.info_number("used_memory"))
}
