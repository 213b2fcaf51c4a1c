//! Active defragmentation moves compacted filters, and changes none.

use bloomline_harness::{Setup, for_each_build, numbered, report_missing, show, until};

use super::filters::compact;
use crate::inspect::with_debug;

const FILTERS: usize = 1200;

/// The kinds of the filters, in turn: one of a few pages, one of many, one of a generation each.
const OPTIONS: [&str; 4] =
    ["0.01 3000", "0.01 60000", "0.01 3000 LAYOUT redisbloom", "0.01 6000 GENERATIONS 2"];

#[test]
fn defragmentation_keeps_compacted_filters() {
    for_each_build(|kind| {
        let setup: Setup = with_debug(kind).line("hz 100");
        let server = setup.start(kind);
        let mut client = server.resp2();
        if client.ask("CONFIG SET activedefrag yes") != "+OK" {
            return report_missing(kind, "active defragmentation");
        }
        client.ok("CONFIG SET activedefrag no");
        let key = |i: usize| format!("filter:{i}");
        let items = |i: usize| numbered(&format!("item:{i}"), 200);
        for i in 0..FILTERS {
            // An even and an odd filter get the same options in turn.
            client.ok(&format!("BF.RESERVE {} {}", key(i), OPTIONS[i / 2 % OPTIONS.len()]));
            client.items("BF.MADD", &key(i), &items(i));
            client.call(&format!("BF.ROTATE {}", key(i)));
            assert!(compact(&mut client, &key(i)) > 0, "{i}");
        }
        let odd: Vec<String> = (1..FILTERS).step_by(2).map(key).collect();
        client.run(&[&["DEL".to_owned()], &odd[..]].concat());
        let before = client.ask("DEBUG DIGEST");
        for line in [
            "active-defrag-ignore-bytes 1",
            "active-defrag-threshold-lower 0",
            "active-defrag-threshold-upper 1",
            "active-defrag-cycle-min 40",
            "active-defrag-cycle-max 60",
            "active-defrag-max-scan-fields 8",
            "activedefrag yes",
        ] {
            client.ok(&format!("CONFIG SET {line}"));
        }
        until("filters to be moved", || {
            (client.info_number("active_defrag_key_hits") > FILTERS as u64 / 4).then_some(())
        });
        client.ok("CONFIG SET activedefrag no");
        assert_eq!(client.ask("DEBUG DIGEST"), before);
        for i in (0..FILTERS).step_by(2) {
            let found = show(&client.items("BF.MEXISTS", &key(i), &items(i)));
            assert!(!found.contains(":0"), "{} lost an item", key(i));
            client.items("BF.MADD", &key(i), &numbered("more", 500));
            compact(&mut client, &key(i));
        }
        client.ok("FLUSHALL");
        client.assert_answers_ping("FLUSHALL");
    });
}
