//! Memory of filters: when it is taken, how it is counted, moved and freed.

mod defrag;
mod freeing;
mod generations;
#[cfg(target_os = "linux")]
mod huge;
mod neighbours;
mod resident;
mod usage;

use bloomline_harness::{Client, int};

/// MEMORY USAGE of a key.
fn usage(client: &mut Client, key: &str) -> u64 {
    int(&client.call(&format!("MEMORY USAGE {key}"))).try_into().expect("bytes")
}
