//! Limits of memory: what a client may create, grow, rotate, merge or copy; what a server loads in
//! spite of them.

mod available;
mod changes;
mod compacting;
mod full;
mod growth_ends;
mod rotations;

use bloomline_harness::Client;

/// Sets `maxmemory` so that this many bytes are left.
fn leave(client: &mut Client, bytes: u64) {
    let max = client.info_number("used_memory") + bytes;
    client.ok(&format!("CONFIG SET maxmemory {max}"));
}
