//! Active defragmentation: filters are moved together while they are in use, and nothing happens to
//! them.

use std::sync::atomic::{AtomicUsize, Ordering};

use bloomline_harness::{Client, Server, Setup, for_each_build, numbered, report_missing, show, until};

/// Capacities of the filters that are made over and over.
///
/// From 130 bytes to 13 KiB of bits, the blocks an allocator keeps several of in one place; beyond
/// that, blocks that have pages of their own and are visited with a cursor.
const CAPACITIES: [usize; 10] = [100, 100, 100, 700, 1_200, 2_500, 5_000, 9_000, 40_000, 400_000];
const FILTERS: usize = 8_000;

#[test]
fn filters_with_gaps_between_them_are_moved_together_and_keep_every_item() {
    let tested = AtomicUsize::new(0);
    for_each_build(|kind| {
        let server = Setup::new().line("hz 100").start(kind);
        let mut client = server.resp2();
        if client.ask("CONFIG SET activedefrag yes") != "+OK" {
            let has_bundled_allocator =
                kind.name.ends_with("-bundled") || kind.name.ends_with("-defrag");
            assert!(!has_bundled_allocator, "the build has lost active defragmentation");
            return report_missing(kind, "active defragmentation");
        }
        client.ok("CONFIG SET activedefrag no");
        make_filters(&mut client);
        // What lies between filters that were made one after the other: the allocator's own
        // padding.
        let packed = gap_bytes(&mut client);
        let odd: Vec<String> = (1..FILTERS).step_by(2).map(key).collect();
        client.run(&[&["DEL".to_owned()], &odd[..]].concat());
        let before = client.ask("DEBUG DIGEST");
        let gaps = until("the gaps to be seen", || {
            Some(gap_bytes(&mut client)).filter(|gaps| *gaps > 2 * packed)
        });

        // Seven eighths of the gaps can't be closed without moving the bits: all the rest is a
        // tenth of the memory.
        defragment(&server, &mut client, packed + (gaps - packed) / 8);
        assert_eq!(client.ask("DEBUG DIGEST"), before);
        for i in (0..FILTERS).step_by(2) {
            let found = show(&client.items("BF.MEXISTS", &key(i), &items(i)));
            assert!(!found.contains(":0"), "{} lost an item: {found}", key(i));
        }
        // They go on, grow, and are freed from where they lie now.
        for i in (0..FILTERS).step_by(20) {
            let added = show(&client.items("BF.MADD", &key(i), &numbered("more", 200)));
            assert!(added.contains(":1") && !added.contains('-'), "{added}");
        }
        client.ok("FLUSHALL");
        client.assert_answers_ping("FLUSHALL");
        tested.fetch_add(1, Ordering::Relaxed);
    });
    assert!(
        tested.into_inner() > 0,
        "no server here can do it; `scripts/servers.sh redis-6.2-defrag` fetches one that can"
    );
}

fn key(i: usize) -> String {
    format!("filter:{i}")
}

fn items(i: usize) -> Vec<Vec<u8>> {
    // Every tenth one, of the smallest kind, has grown to several layers.
    numbered(&format!("item:{i}"), if i.is_multiple_of(10) { 1000 } else { 10 })
}

fn make_filters(client: &mut Client) {
    for i in 0..FILTERS {
        // A size is given to an even and to an odd one in turn, so that half of each size can go.
        let capacity = CAPACITIES[i / 2 % CAPACITIES.len()];
        client.ok(&format!("BF.RESERVE {} 0.01 {capacity}", key(i)));
        client.items("BF.MADD", &key(i), &items(i));
    }
}

/// Bytes that the allocator has taken for its slabs and nobody uses, as the server saw last: it
/// looks ten times a second.
fn gap_bytes(client: &mut Client) -> u64 {
    client.info("allocator_frag_bytes").parse().expect("bytes")
}

/// Lets the server work until the gaps are gone, while a client adds and looks up.
fn defragment(server: &Server, client: &mut Client, goal: u64) {
    for line in [
        "active-defrag-ignore-bytes 100kb",
        // The large filters are most of the 300 MB: one per cent would be more than the goal, and
        // the server would stop there.
        "active-defrag-threshold-lower 0",
        "active-defrag-threshold-upper 5",
        "active-defrag-cycle-min 40",
        "active-defrag-cycle-max 60",
        // A filter of more than eight pages is put aside and comes with a cursor.
        "active-defrag-max-scan-fields 8",
        "activedefrag yes",
    ] {
        client.ok(&format!("CONFIG SET {line}"));
    }
    let mut adding = server.resp2();
    let mut round = 0;
    until("the gaps to be closed", || {
        let new = numbered(&format!("meanwhile:{round}"), 10);
        round += 1;
        adding.items("BF.MADD", "meanwhile", &new);
        let found = show(&adding.items("BF.MEXISTS", "meanwhile", &new));
        assert!(!found.contains(":0"), "{found}");
        (gap_bytes(client) < goal).then_some(())
    });
    let mut number = |field: &str| client.info(field).parse::<u64>().expect("a number");
    assert!(number("active_defrag_hits") > 0);
    assert!(number("active_defrag_key_hits") > 0);
    client.ok("CONFIG SET activedefrag no");
    client.call("DEL meanwhile");
}
