//! Active defragmentation moves filters of all kinds while clients use them, and changes none.

use std::sync::atomic::{AtomicUsize, Ordering};

use bloomline_harness::{Client, Server, Setup, numbered, report_missing, show, until};

use crate::filters::{assert_observed, build_all, change, compact, observe_all};
use crate::inspect::number;

/// Capacities of the filters.
///
/// The bits take 130 bytes to 13 KiB in blocks of which an allocator keeps several in one slab. The
/// last two capacities take blocks with pages of their own, which are scanned with a cursor.
const CAPACITIES: [usize; 10] = [100, 100, 100, 700, 1_200, 2_500, 5_000, 9_000, 40_000, 400_000];
const FILTERS: usize = 8_000;

#[test]
fn defragmentation_moves_filters_and_loses_no_item() {
    let tested = AtomicUsize::new(0);
    Setup::new().line("hz 100").on_each_build(|mut client, server| {
        if !can_defragment(&mut client, &server) {
            return;
        }
        make_filters(&mut client);
        // The gaps between filters that were made consecutively are the padding of the allocator.
        let packed = gap_bytes(&mut client);
        delete_odd(&mut client);
        let before = client.ask("DEBUG DIGEST");
        let gaps = until("the gaps to be reported", || {
            Some(gap_bytes(&mut client)).filter(|gaps| *gaps > 2 * packed)
        });

        // The goal, one eighth of the gaps, is reached only if the bits are moved: everything else
        // is a tenth of the memory.
        defragment(&server, &mut client, packed + (gaps - packed) / 8);
        assert_eq!(client.ask("DEBUG DIGEST"), before);
        for i in (0..FILTERS).step_by(2) {
            let found = show(&client.items("BF.MEXISTS", &key(i), &items(i)));
            assert!(!found.contains(":0"), "{} lost an item: {found}", key(i));
        }
        // The filters still grow, and are freed at their new addresses.
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
        "no server here has active defragmentation; `scripts/servers.sh redis-6.2-defrag` fetches one that can"
    );
}

#[test]
fn no_filter_moves_without_the_setting() {
    let setup = Setup::new().line("hz 100").module_args("bloom-defrag-enabled no");
    setup.on_each_build(|mut client, server| {
        if !can_defragment(&mut client, &server) {
            return;
        }
        make_filters(&mut client);
        delete_odd(&mut client);
        begin(&mut client, "1");
        until("all keys to be visited", || {
            let visited = ["active_defrag_key_hits", "active_defrag_key_misses"];
            let visited: u64 = visited.iter().map(|field| client.info_number(field)).sum();
            (visited > FILTERS as u64).then_some(())
        });
        for field in ["bloom_defrag_hits", "bloom_defrag_misses"] {
            assert_eq!(number(&mut client, field), 0, "{field}");
        }
    });
}

/// True if the server can remove small gaps.
fn can_defragment(client: &mut Client, server: &Server) -> bool {
    let kind = &server.kind;
    if client.ask("CONFIG SET activedefrag yes") != "+OK" {
        let has_bundled_allocator =
            kind.name.ends_with("-bundled") || kind.name.ends_with("-defrag");
        assert!(!has_bundled_allocator, "the build has lost active defragmentation");
        report_missing(kind, "active defragmentation");
        return false;
    }
    client.ok("CONFIG SET activedefrag no");
    if kind.has_large_pages() {
        report_missing(kind, "an allocator whose small gaps can be removed");
    }
    !kind.has_large_pages()
}

/// Lets the server move blocks from gaps of `least` bytes on.
fn begin(client: &mut Client, least: &str) {
    for line in [
        &format!("active-defrag-ignore-bytes {least}"),
        // The large filters are most of the 300 MB. One percent would exceed the goal, and the
        // server would stop too early.
        "active-defrag-threshold-lower 0",
        "active-defrag-threshold-upper 5",
        "active-defrag-cycle-min 40",
        "active-defrag-cycle-max 60",
        // A filter of more than eight pages is set aside and scanned with a cursor.
        "active-defrag-max-scan-fields 8",
        "activedefrag yes",
    ] {
        client.ok(&format!("CONFIG SET {line}"));
    }
}

fn key(i: usize) -> String {
    format!("filter:{i}")
}

fn items(i: usize) -> Vec<Vec<u8>> {
    // Every tenth filter, of the smallest capacity, has grown to several layers.
    numbered(&format!("item:{i}"), if i.is_multiple_of(10) { 1000 } else { 10 })
}

fn make_filters(client: &mut Client) {
    for i in 0..FILTERS {
        // An even and an odd filter get the same capacity in turn, so that half of each size can be
        // deleted.
        let capacity = CAPACITIES[i / 2 % CAPACITIES.len()];
        client.ok(&format!("BF.RESERVE {} 0.01 {capacity}", key(i)));
        client.items("BF.MADD", &key(i), &items(i));
    }
}

/// Deletes every second filter, which leaves gaps.
fn delete_odd(client: &mut Client) {
    let odd: Vec<String> = (1..FILTERS).step_by(2).map(key).collect();
    client.run(&[&["DEL".to_owned()], &odd[..]].concat());
}

/// Bytes in slabs of the allocator that nobody uses, as the server last sampled them: ten times per
/// second.
fn gap_bytes(client: &mut Client) -> u64 {
    client.info_number("allocator_frag_bytes")
}

/// Waits until the server has removed the gaps, while a client adds and looks up.
fn defragment(server: &Server, client: &mut Client, goal: u64) {
    begin(client, "100kb");
    let mut adding = server.resp2();
    let mut round = 0;
    until("the gaps to be removed", || {
        let new = numbered(&format!("meanwhile:{round}"), 10);
        round += 1;
        adding.items("BF.MADD", "meanwhile", &new);
        let found = show(&adding.items("BF.MEXISTS", "meanwhile", &new));
        assert!(!found.contains(":0"), "{found}");
        (gap_bytes(client) < goal).then_some(())
    });
    // The counts of the server include keys, values of other types and its own structures.
    let (hits, misses) =
        (number(client, "bloom_defrag_hits"), number(client, "bloom_defrag_misses"));
    assert!(hits > 0 && hits <= client.info_number("active_defrag_hits"), "{hits}");
    assert!(misses > 0, "{misses}");
    assert!(client.info_number("active_defrag_key_hits") > 0);
    client.ok("CONFIG SET activedefrag no");
    client.call("DEL meanwhile");
}

/// Copies of each filter. Three of four are deleted, so that the others lie between gaps.
const KIND_COPIES: usize = 40;

/// Blocks that must move. Some servers find no more gaps after 1,950.
const MOVES: u64 = 1000;

#[test]
fn every_kind_of_filter_moves_unchanged() {
    let tested = AtomicUsize::new(0);
    Setup::new().debug().line("hz 100").on_each_build(|mut client, server| {
        if !can_defragment(&mut client, &server) {
            return;
        }
        let filters = build_all(&mut client);
        let expected = observe_all(&mut client, &filters);
        let copy = |number: usize, key: &str| format!("copy:{number}:{key}");
        for number in 0..KIND_COPIES {
            for filter in &filters {
                let key = copy(number, &filter.key);
                assert_eq!(client.ask(&format!("COPY {} {key}", filter.key)), ":1");
            }
        }
        for number in (0..KIND_COPIES).filter(|number| number % 4 != 0) {
            for filter in &filters {
                client.call(&format!("DEL {}", copy(number, &filter.key)));
            }
        }
        let before = client.ask("DEBUG DIGEST");
        begin(&mut client, "1");
        // One filter is added to and rotated, and one compacted meanwhile.
        client.ok("BF.RESERVE meanwhile 0.000000001 40000 GENERATIONS 4");
        let mut round = 0;
        until("filters to be moved", || {
            let new = numbered(&format!("meanwhile:{round}"), 30);
            round += 1;
            client.items("BF.MADD", "meanwhile", &new);
            client.ok("BF.ROTATE meanwhile");
            client.ok("BF.RESERVE folded 0.01 40000");
            assert!(compact(&mut client, "folded") > 0);
            assert_eq!(client.ask("DEL folded"), ":1");
            let found = show(&client.items("BF.MEXISTS", "meanwhile", &new));
            assert!(!found.contains(":0"), "{found}");
            (client.info_number("active_defrag_hits") > MOVES).then_some(())
        });
        client.ok("CONFIG SET activedefrag no");
        assert_eq!(client.ask("DEL meanwhile"), ":1");
        assert_eq!(client.ask("DEBUG DIGEST"), before);
        assert_observed(&mut client, &filters, &expected, "moves");
        // Moved filters change as one another, and are freed at their new addresses.
        for filter in &filters {
            let replies = change(&mut client, &filter.key);
            for number in (0..KIND_COPIES).step_by(4) {
                let key = copy(number, &filter.key);
                assert_eq!(change(&mut client, &key), replies, "{key}");
            }
        }
        client.ok("FLUSHALL");
        client.assert_answers_ping("FLUSHALL");
        tested.fetch_add(1, Ordering::Relaxed);
    });
    assert!(tested.into_inner() > 0, "no server here has active defragmentation");
}
