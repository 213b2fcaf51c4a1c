//! BF.SCANDUMP and compacting: a dump that began before is refused, one that begins after is equal.

use bloomline_harness::{Client, Setup, numbered};

use super::DROPPED;
use crate::cluster::filled::fill;
use crate::filters::{compact, compactable, large, observe};
use crate::inspect::info_field;

/// The iterators of a dump, from that of the first bits to that after the last ones.
fn iterators(client: &mut Client, key: &str) -> Vec<i64> {
    let (mut all, mut at) = (Vec::new(), 1);
    while at != 0 {
        all.push(at);
        at = client.scandump(key, at).0;
    }
    all
}

#[test]
fn a_dump_that_began_before_is_refused_afterwards() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        let own = compactable().into_iter().filter(|filter| !filter.key.starts_with("classic"));
        // The last one has several chunks.
        for filter in own.chain(large().into_iter().take(1)) {
            let key = &filter.key;
            filter.build(&mut client);
            let old = client.scandump(key, 0).1;
            let all = iterators(&mut client, key);
            assert!(compact(&mut client, key) > 0);
            // Iterator 1 is that of the first bits there are, and the last one that of the end.
            for at in &all[1..all.len() - 1] {
                assert_eq!(client.ask(&format!("BF.SCANDUMP {key} {at}")), DROPPED, "{key}");
            }
            assert_eq!(client.ask(&format!("BF.SCANDUMP {key} 2")), DROPPED, "{key}");
            // Bits of the compacted filter do not fit the header of the old one.
            assert_eq!(client.loadchunk("copy", 1, &old), "+OK");
            let mut at = 1;
            loop {
                let (next, bits) = client.scandump(key, at);
                if next == 0 {
                    break;
                }
                let refused = "-ERR invalid offset - no link found";
                assert_eq!(client.loadchunk("copy", next, &bits), refused, "{key} at {next}");
                at = next;
            }
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn a_dump_that_begins_after_is_equal() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        for filter in compactable() {
            filter.build(&mut client);
            for _ in 0..3 {
                compact(&mut client, &filter.key);
                client.copy_by_chunks(&filter.key, "copy");
                let expected = observe(&mut client, &filter.key);
                assert_eq!(observe(&mut client, "copy"), expected, "{}", filter.key);
                assert_eq!(client.ask("DEL copy"), ":1");
                client.items("BF.MADD", &filter.key, &numbered("later", 2000));
            }
        }
    });
}

#[test]
fn a_call_that_frees_nothing_does_not_end_a_dump() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        for filter in compactable() {
            filter.build(&mut client);
            compact(&mut client, &filter.key);
            let mut at = 0;
            loop {
                assert_eq!(compact(&mut client, &filter.key), 0);
                let (next, data) = client.scandump(&filter.key, at);
                if next == 0 {
                    break;
                }
                assert_eq!(client.loadchunk("copy", next, &data), "+OK");
                at = next;
            }
            let expected = observe(&mut client, &filter.key);
            assert_eq!(observe(&mut client, "copy"), expected, "{}", filter.key);
            assert_eq!(client.ask("DEL copy"), ":1");
        }
    });
}

#[test]
fn large_compacted_filters_are_dumped_in_several_chunks() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        fill(&mut |args| client.run(args), "k", 85_000_000);
        client.items("BF.MADD", "k", &numbered("item", 1000));
        // Its bits are set, so that there is nothing to give back.
        assert_eq!(compact(&mut client, "k"), 0);
        client.ok("BF.RESERVE sparse 0.01 85000000 NONSCALING");
        client.items("BF.MADD", "sparse", &numbered("item", 1000));
        let bytes = info_field(&mut client, "sparse", "SIZE");
        let freed = compact(&mut client, "sparse");
        assert!(freed > bytes - 8192 && freed < bytes, "{freed} of {bytes}");
        client.copy_by_chunks("sparse", "copy");
        let expected = observe(&mut client, "sparse");
        assert_eq!(observe(&mut client, "copy"), expected);
    });
}
