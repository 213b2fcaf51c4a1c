//! Active defragmentation of every kind of filter: filters move, and none changes.

use std::sync::atomic::{AtomicUsize, Ordering};

use bloomline_harness::{Setup, numbered, report_missing, show, until};

use crate::filters::{assert_observed, build_all, change, compact, observe_all};

/// Copies of each filter. Three of four are deleted, so that the others lie between gaps.
const COPIES: usize = 40;

/// Blocks that must move. Some servers find no more gaps after 1,950.
const MOVES: u64 = 1000;

#[test]
fn every_kind_of_filter_moves_unchanged() {
    let tested = AtomicUsize::new(0);
    Setup::new().debug().line("hz 100").on_each_build(|mut client, server| {
        if client.ask("CONFIG SET activedefrag yes") != "+OK" || server.kind.has_large_pages() {
            return report_missing(&server.kind, "active defragmentation");
        }
        client.ok("CONFIG SET activedefrag no");
        let filters = build_all(&mut client);
        let expected = observe_all(&mut client, &filters);
        let copy = |number: usize, key: &str| format!("copy:{number}:{key}");
        for number in 0..COPIES {
            for filter in &filters {
                let key = copy(number, &filter.key);
                assert_eq!(client.ask(&format!("COPY {} {key}", filter.key)), ":1");
            }
        }
        for number in (0..COPIES).filter(|number| number % 4 != 0) {
            for filter in &filters {
                client.call(&format!("DEL {}", copy(number, &filter.key)));
            }
        }
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
            for number in (0..COPIES).step_by(4) {
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
