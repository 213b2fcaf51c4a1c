//! Active defragmentation of loaded filters: neighbours in memory and items stay intact.

use std::sync::atomic::{AtomicUsize, Ordering};

use bloomline_harness::{Client, report_missing, until};

use crate::cluster::equal::setup;

use super::strings::{Neighbours, Shape};

/// Filters of each shape: so many that an allocator fills several slabs per size.
const COPIES: usize = 200;

/// Capacities whose bits lie in slabs, 130 bytes to 12 KiB, because an allocator moves only these.
fn shapes() -> impl Iterator<Item = Shape> {
    let capacities = [100, 700, 2_500, 9_000];
    capacities
        .into_iter()
        .flat_map(|capacity| ["redisbloom", "bloomline"].map(|layout| (capacity, layout)))
}

#[test]
fn freed_moved_filters_leave_their_neighbours_intact() {
    let tested = AtomicUsize::new(0);
    setup().line("hz 100").on_each_build(|mut client, server| {
        if client.ask("CONFIG SET activedefrag yes") != "+OK" {
            return report_missing(&server.kind, "active defragmentation");
        }
        client.ok("CONFIG SET activedefrag no");
        let mut neighbours = Neighbours::new();
        neighbours.make(&mut client, shapes(), COPIES, 50);
        // Half of the filters own the strings that the server has read.
        client.ok("DEBUG RELOAD");
        neighbours.delete_every_second(&mut client);
        move_blocks(&mut client);
        neighbours.assert_whole(&mut client, "moves");
        neighbours.delete_every_second(&mut client);
        neighbours.assert_whole(&mut client, "moves and deletions");
        neighbours.flush(&mut client);
        client.assert_answers_ping("FLUSHALL");
        tested.fetch_add(1, Ordering::Relaxed);
    });
    assert!(tested.into_inner() > 0, "no server here has active defragmentation");
}

/// Lets the server move blocks until it has visited all keys and moved enough of them.
fn move_blocks(client: &mut Client) {
    for line in [
        "active-defrag-ignore-bytes 1",
        "active-defrag-threshold-lower 0",
        "active-defrag-threshold-upper 1",
        "active-defrag-cycle-min 50",
        "active-defrag-cycle-max 75",
        "activedefrag yes",
    ] {
        client.ok(&format!("CONFIG SET {line}"));
    }
    let mut number = |field: &str| client.info_number(field);
    until("blocks to be moved", || {
        let seen = number("active_defrag_key_hits") + number("active_defrag_key_misses");
        (number("active_defrag_hits") > COPIES as u64 && seen > 4 * COPIES as u64).then_some(())
    });
    client.ok("CONFIG SET activedefrag no");
}
