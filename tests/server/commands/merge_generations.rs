//! BF.MERGE of windowed filters: generations are merged with those that were opened at the same
//! time.

use bloomline_harness::{Client, Clock, Kind, Server, Setup, bulk, for_each_server, matches};
use redis::Value;

use crate::inspect::{digest, sum_of_infos, totals};
use crate::overlapping::{add, assert_same_bits, digests};

/// A server whose clock the test moves, since a rotation must not be in the future.
fn start(setup: Setup, kind: &Kind) -> (Server, Clock) {
    let clock = Clock::new();
    (setup.clock(&clock).start(kind), clock)
}

/// A time in milliseconds after the filters so far were created, with minutes until now.
fn past(client: &mut Client, clock: &Clock) -> u64 {
    clock.advance(1000);
    let Value::Array(now) = client.call("TIME") else { panic!("a time") };
    let seconds = String::from_utf8_lossy(bulk(&now[0])).parse::<u64>().expect("a number");
    (seconds - 500) * 1000
}

/// Makes empty copies of one filter.
fn copies(client: &mut Client, options: &str, keys: &[&str]) {
    client.ok("FLUSHALL");
    client.wait_for_frees();
    client.ok(&format!("BF.RESERVE {} {options}", keys[0]));
    for key in &keys[1..] {
        assert_eq!(client.ask(&format!("COPY {} {key}", keys[0])), ":1");
    }
}

/// Fills `a` and `b` with different items, and `whole` with all, through these rotations: the first
/// one at the time that is returned, each other one a millisecond later.
fn fill(client: &mut Client, clock: &Clock, rotations: u64) -> u64 {
    copies(client, "0.000001 300 SEED 7 GENERATIONS 3", &["a", "b", "whole"]);
    let first_at = past(client, clock);
    for rotation in 0..=rotations {
        let first = rotation as usize * 100;
        for (key, range) in [("a", first..first + 30), ("b", first + 30..first + 60)] {
            add(client, key, range.clone());
            add(client, "whole", range);
        }
        if rotation < rotations {
            for key in ["a", "b", "whole"] {
                client.ok(&format!("BF.ROTATE {key} AT {}", first_at + rotation));
            }
        }
    }
    first_at
}

#[test]
fn generations_of_equal_times_are_merged() {
    for_each_server(|kind| {
        let (server, clock) = start(Setup::new().debug(), kind);
        let mut client = server.resp2();
        for rotations in [0, 1, 3, 7] {
            fill(&mut client, &clock, rotations);
            let before = digests(&mut client, ["a", "b"]);
            client.ok("BF.MERGE d a b");
            client.ok("BF.MERGE e b a b");
            assert_eq!(digests(&mut client, ["a", "b"]), before);
            for key in ["d", "e"] {
                assert_same_bits(&mut client, key, "whole");
                for field in ["GENERATIONS", "OLDEST", "NEWEST", "FILTERS"] {
                    let line = |key: &str| format!("BF.INFO {key} {field}");
                    assert_eq!(client.ask(&line(key)), client.ask(&line("whole")), "{field}");
                }
            }
            client.ok("BF.MERGE a b");
            assert_eq!(digest(&mut client, "a"), digest(&mut client, "d"));
            let keys = ["a", "b", "d", "e", "whole"];
            assert_eq!(totals(&mut client), sum_of_infos(&mut client, &keys));
        }
    });
}

#[test]
fn a_generation_without_partner_is_refused() {
    for_each_server(|kind| {
        let (server, clock) = start(Setup::new().debug(), kind);
        let mut client = server.resp2();
        let differs = "-ERR cannot merge: the filters differ in generation opened at <n>: merge \
                       filters whose generations were opened at the same times";
        let keys = ["a", "b"];
        let mut refused = |line: &str, opened: Option<u64>| {
            let before = (digests(&mut client, keys), totals(&mut client));
            let reply = client.ask(line);
            match opened {
                Some(at) => assert_eq!(reply, differs.replace("<n>", &at.to_string()), "{line}"),
                None => assert!(matches(differs, &reply), "{line}: {reply}"),
            }
            assert_eq!((digests(&mut client, keys), totals(&mut client)), before, "{line}");
        };
        let mut other = server.resp2();
        let first_at = fill(&mut other, &clock, 1);
        let at = |rotation: u64| first_at + rotation;
        // A source was rotated once more than the destination.
        other.ok(&format!("BF.ROTATE b AT {}", at(50)));
        refused("BF.MERGE a b", Some(at(50)));
        refused("BF.MERGE new a b", Some(at(50)));
        // At other times.
        other.ok(&format!("BF.ROTATE a AT {}", at(51)));
        refused("BF.MERGE a b", Some(at(50)));
        refused("BF.MERGE b a", Some(at(51)));
        // Filters that were created apart have no generation in common.
        copies(&mut other, "0.000001 300 SEED 7 GENERATIONS 3", &["a"]);
        clock.advance(1000);
        other.ok("BF.RESERVE b 0.000001 300 SEED 7 GENERATIONS 3");
        refused("BF.MERGE a b", None);
    });
}
