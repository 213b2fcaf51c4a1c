//! Dual-channel replication (Valkey since 8.0): one connection carries the data set, another one
//! the commands that are written meanwhile.

use std::ops::Range;

use bloomline_harness::{Client, for_each_server_long, numbered, report_missing, until};

use crate::inspect::totals;

use super::equal::{OTHER_SETTINGS, assert_equal, catch_up, many_small, setup};
use super::traffic::{assert_has_rounds, while_adding};

const LAYOUTS: [&str; 2] = ["bloomline", "redisbloom"];

/// The keys to which the client adds: a growing filter and one of fixed size in each layout.
const KEYS: [&str; 4] =
    ["growing:bloomline", "growing:redisbloom", "fixed:bloomline", "fixed:redisbloom"];

/// Filters that exist before the synchronisation. Each is saved with a delay of 2 ms.
const FILTERS: usize = 300;

/// Creates, copies, replaces and deletes filters of each layout in `LAYOUTS`, one per kind and
/// round.
fn change_keys(client: &mut Client, round: usize) {
    for layout in LAYOUTS {
        client.ok(&format!("BF.RESERVE reserved:{layout}:{round} 0.001 50 LAYOUT {layout}"));
        let inserted = client.ask(&format!(
            "BF.INSERT inserted:{layout}:{round} CAPACITY 2 LAYOUT {layout} ITEMS a b c d e"
        ));
        assert_eq!(inserted, "*[:1 :1 :1 :1 :1]");
        assert_eq!(client.ask(&format!("COPY growing:{layout} copied:{layout} REPLACE")), ":1");
        client.call(&format!("BF.MADD copied:{layout} copy:{round} copy:{round}:2"));
        if round > 0 {
            assert_eq!(client.ask(&format!("DEL reserved:{layout}:{}", round - 1)), ":1");
        }
    }
    // One filter that may already be saved, and one that is not.
    client.call(&format!("DEL small:{round} small:{}", FILTERS - 1 - round));
    client.items(
        "BF.MADD",
        &format!("small:{}", FILTERS / 2),
        &numbered(&format!("late:{round}"), 40),
    );
}

/// Asserts that both servers give the same answers for added and absent items.
fn assert_same_answers(client: &mut Client, follower: &mut Client, items: Range<usize>) {
    let items: Vec<Vec<u8>> = items.map(|i| format!("round:{i}:{}", i % 10).into_bytes()).collect();
    for key in KEYS {
        for batch in items.chunks(1000) {
            let answers = client.items("BF.MEXISTS", key, batch);
            assert_eq!(answers, follower.items("BF.MEXISTS", key, batch), "{key}");
        }
    }
}

#[test]
fn a_dual_channel_sync_under_traffic_loses_nothing() {
    for_each_server_long(|kind| {
        for load in ["disabled", "swapdb"] {
            let primary = setup().line("repl-diskless-sync yes").start(kind);
            let mut client = primary.resp2();
            if client.ask("CONFIG SET dual-channel-replication-enabled yes") != "+OK" {
                return report_missing(kind, "dual-channel replication");
            }
            client.ok("CONFIG SET rdb-key-save-delay 2000");
            for layout in LAYOUTS {
                client.ok(&format!("BF.RESERVE growing:{layout} 0.001 10 LAYOUT {layout}"));
                // Larger than a fast client can fill before the deadline of a test.
                client.ok(&format!(
                    "BF.RESERVE fixed:{layout} 0.001 10000000 NONSCALING LAYOUT {layout}"
                ));
            }
            many_small(&mut client, FILTERS);
            let replica = setup()
                .module_args(OTHER_SETTINGS)
                .line("dual-channel-replication-enabled yes")
                .line(format!("repl-diskless-load {load}"))
                .start(kind);
            let mut follower = replica.resp2();
            let mut adding = primary.resp2();
            let run = move |args: &[&[u8]]| adding.run(args);
            let rounds = while_adding(&KEYS, run, |rounds| {
                rounds.pass(2);
                follower.ok(&format!("REPLICAOF 127.0.0.1 {}", primary.port));
                until("both channels to be open", || {
                    let text = client.ask("INFO replication");
                    (text.contains("type=rdb-channel") && text.contains("type=main-channel"))
                        .then_some(())
                });
                for round in 0..20 {
                    change_keys(&mut client, round);
                    rounds.pass(1);
                }
                let text = client.ask("INFO replication");
                assert!(
                    text.contains("type=rdb-channel"),
                    "the synchronisation ended before the writes: {text}"
                );
                follower.wait_for("master_link_status", "up");
                rounds.pass(2);
            });
            catch_up(&mut client, &mut follower);
            assert_eq!(client.info("sync_full"), "1");
            // The commands written meanwhile waited in the replica and not in the primary.
            let log = replica.log();
            assert!(log.contains("Successfully streamed replication data into memory"), "{log}");
            let waited: u64 = follower.info_number("replicas_repl_buffer_peak");
            assert!(waited > 0, "nothing was written during the synchronisation");
            assert_has_rounds(&mut follower, &KEYS, rounds);
            assert_same_answers(&mut client, &mut follower, 0..5000);
            assert_equal(&mut client, &mut follower);
            let expected = totals(&mut client);
            until("the totals to equal the primary's", || {
                (totals(&mut follower) == expected).then_some(())
            });
        }
    });
}
