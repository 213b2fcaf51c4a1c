//! Single calls of BF.COMPACT: what they free, replicate, refuse and report.

use bloomline_harness::{Client, Replica, Setup, for_each_server, int, numbered, show};

use crate::cluster::equal::{assert_equal, catch_up, setup};
use crate::inspect::{digest, info_field, number, sum_of_infos, totals, with_debug};
use crate::keyspace::events::Listener;

/// Options of BF.RESERVE, one for each kind of filter.
const KINDS: [&str; 4] =
    ["", "NONSCALING", "LAYOUT REDISBLOOM EXPANSION 2", "LAYOUT REDISBLOOM NONSCALING"];

/// Creates a filter that is much too large for its items.
fn reserve(client: &mut Client, key: &str, options: &str) {
    client.ok(&format!("BF.RESERVE {key} 0.001 100000 {options}"));
    client.items("BF.MADD", key, &numbered("item", 2_000));
}

fn compact(client: &mut Client, key: &str) -> u64 {
    int(&client.call(&format!("BF.COMPACT {key}"))) as u64
}

/// The replies that must not depend on the size.
fn answers(client: &mut Client, key: &str) -> [String; 2] {
    let present = show(&client.items("BF.MEXISTS", key, &numbered("item", 2_000)));
    assert!(!present.contains(":0"), "{key} lost an item");
    [present, client.ask(&format!("BF.CARD {key}"))]
}

#[test]
fn reply_is_what_the_size_falls_by() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for options in KINDS {
            reserve(&mut client, "k", options);
            let (before, seen) = (info_field(&mut client, "k", "SIZE"), answers(&mut client, "k"));
            let freed = compact(&mut client, "k");
            let after = info_field(&mut client, "k", "SIZE");
            assert_eq!(before - freed, after, "{options}");
            // A link of RedisBloom's layout has only the sizes that divide its own.
            let times = if options.starts_with("LAYOUT") { 2 } else { 20 };
            assert!(after * times < before, "{options}: {before} to {after}");
            assert_eq!(answers(&mut client, "k"), seen, "{options}");
            assert_eq!(compact(&mut client, "k"), 0, "{options}");
            // The false-positive rate of 2,000 lookups is far below 1 %.
            let absent = show(&client.items("BF.MEXISTS", "k", &numbered("absent", 2_000)));
            assert!(absent.matches(":1").count() < 20, "{options}");
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn memory_of_the_server_falls() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.001 20000000");
        client.items("BF.MADD", "k", &numbered("item", 1_000));
        let used = |client: &mut Client| client.info_number("used_memory");
        let usage = |client: &mut Client| int(&client.call("MEMORY USAGE k")) as u64;
        let (before, usage_before) = (used(&mut client), usage(&mut client));
        let freed = compact(&mut client, "k");
        assert!(freed > 30 << 20, "{freed}");
        let (after, usage_after) = (used(&mut client), usage(&mut client));
        assert!(before - after > freed / 10 * 9, "{before} to {after}, {freed} freed");
        assert!(usage_before - usage_after > freed / 10 * 9, "{usage_before} to {usage_after}");
        assert!(usage_after < 20_000, "{usage_after}");
        assert_eq!(totals(&mut client), sum_of_infos(&mut client, &["k"]));
    });
}

#[test]
fn an_empty_reservation_becomes_a_page() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.01 500000000");
        assert!(info_field(&mut client, "k", "SIZE") > 600 << 20);
        compact(&mut client, "k");
        assert!(info_field(&mut client, "k", "SIZE") < 8_192);
        // It takes items and grows.
        client.items("BF.MADD", "k", &numbered("item", 5_000));
        assert_eq!(info_field(&mut client, "k", "FILTERS"), 2);
        answers(&mut client, "k");
    });
}

#[test]
fn small_and_full_filters_stay_as_they_are() {
    for_each_server(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE page 0.01 300");
        client.ok("BF.RESERVE full 0.0001 5000 NONSCALING");
        client.items("BF.MADD", "full", &numbered("item", 4_990));
        for key in ["page", "full"] {
            let before = digest(&mut client, key);
            assert_eq!(compact(&mut client, key), 0, "{key}");
            assert_eq!(digest(&mut client, key), before, "{key}");
        }
        assert_eq!(client.ask("BF.COMPACT missing"), "-ERR not found");
        client.ok("SET text x");
        assert!(client.ask("BF.COMPACT text").starts_with("-WRONGTYPE"));
        assert!(client.ask("BF.COMPACT page page").starts_with("-ERR wrong number"));
    });
}

#[test]
fn a_fixed_filter_is_full_at_its_new_capacity() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        reserve(&mut client, "k", "NONSCALING");
        compact(&mut client, "k");
        let capacity = info_field(&mut client, "k", "CAPACITY");
        assert!((2_000..4_000).contains(&capacity), "{capacity}");
        let reply = show(&client.items("BF.MADD", "k", &numbered("more", 5_000)));
        assert!(reply.ends_with("-ERR non scaling filter is full]"));
        assert_eq!(info_field(&mut client, "k", "ITEMS"), capacity);
    });
}

#[test]
fn only_a_change_is_replicated_and_reported() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        reserve(&mut client, "k", "");
        let mut replica = Replica::attach(&server);
        let mut listener = Listener::start(&server, "EA");
        let freed = compact(&mut client, "k");
        assert_eq!(replica.lines(&server), ["BF.COMPACT k"]);
        assert_eq!(compact(&mut client, "k"), 0);
        client.ok("SET end 1");
        assert_eq!(replica.lines(&server), ["SET end 1"]);
        let events = listener.received();
        let of_filter: Vec<_> = events.iter().filter(|event| event.ends_with(" k")).collect();
        assert_eq!(of_filter, ["bloom.compact k"]);
        assert_eq!(number(&mut client, "compactions"), 1);
        assert_eq!(number(&mut client, "bytes_compacted"), freed);
    });
}

#[test]
fn a_replica_has_the_same_bytes() {
    for_each_server(|kind| {
        let (primary, replica) = (setup(kind).start(kind), setup(kind).start(kind));
        let (mut client, mut copy) = (primary.resp2(), replica.resp2());
        copy.ok(&format!("REPLICAOF 127.0.0.1 {}", primary.port));
        for (index, options) in KINDS.iter().enumerate() {
            let key = format!("k{index}");
            reserve(&mut client, &key, options);
            compact(&mut client, &key);
            client.items("BF.MADD", &key, &numbered("more", 500));
            compact(&mut client, &key);
        }
        catch_up(&mut client, &mut copy);
        assert_equal(&mut client, &mut copy);
    });
}

#[test]
fn runs_when_maxmemory_is_reached() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        reserve(&mut client, "k", "");
        client.ok("CONFIG SET maxmemory 1");
        assert!(client.ask("BF.ADD k x").starts_with("-OOM"));
        assert!(compact(&mut client, "k") > 0);
        answers(&mut client, "k");
    });
}

#[test]
fn a_dump_that_began_before_is_refused() {
    for_each_server(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        // Two chunks.
        client.ok("BF.RESERVE k 0.001 10000000");
        client.items("BF.MADD", "k", &numbered("item", 2_000));
        let (start, _) = client.scandump("k", 0);
        let (next, _) = client.scandump("k", start);
        compact(&mut client, "k");
        let refused = client.ask(&format!("BF.SCANDUMP k {next}"));
        assert!(refused.starts_with("-ERR the filter was compacted or"), "{refused}");
        let mut at = 0;
        loop {
            let (next, data) = client.scandump("k", at);
            if next == 0 {
                break;
            }
            assert_eq!(client.loadchunk("copy", next, &data), "+OK");
            at = next;
        }
        assert_eq!(digest(&mut client, "copy"), digest(&mut client, "k"));
    });
}

#[test]
fn compacts_while_a_child_saves() {
    for_each_server(|kind| {
        let mut server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.001 5000000");
        client.items("BF.MADD", "k", &numbered("item", 2_000));
        client.call("BGSAVE");
        assert!(compact(&mut client, "k") > 0);
        client.wait_for_saves();
        answers(&mut client, "k");
        // The child saved the filter as it was before.
        let size = info_field(&mut client, "k", "SIZE");
        server.kill();
        server.revive();
        let mut client = server.resp2();
        assert!(info_field(&mut client, "k", "SIZE") > size);
        answers(&mut client, "k");
    });
}
