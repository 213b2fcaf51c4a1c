//! BF.MERGE of windowed filters: generations are merged with those that were opened at the same time.

use bloomline_harness::{Client, Clock, Kind, Server, Setup, bulk, for_each_server, matches, show};
use redis::Value;

use crate::inspect::{digest, info_field, sum_of_infos, totals};
use crate::overlapping::{add, assert_contains, assert_same_bits, digests, items};

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
fn a_merged_filter_forgets_generation_by_generation() {
    for_each_server(|kind| {
        let (server, clock) = start(Setup::new(), kind);
        let mut client = server.resp2();
        let first_at = fill(&mut client, &clock, 3);
        client.ok("BF.MERGE d a b");
        for rotation in 0..5 {
            for unit in 0..4 {
                let first = unit * 100;
                let found = client.items("BF.MEXISTS", "d", &items(first..first + 60));
                let answer = if unit as u64 >= rotation { ":1" } else { ":0" };
                let expected = format!("*[{}]", vec![answer; 60].join(" "));
                assert_eq!(show(&found), expected, "{unit} after {rotation}");
            }
            client.ok(&format!("BF.ROTATE d AT {}", first_at + 100 + rotation));
        }
        assert_eq!(client.ask("BF.CARD d"), ":0");
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

#[test]
fn a_source_may_lack_generations_of_the_destination() {
    for_each_server(|kind| {
        let (server, clock) = start(Setup::new(), kind);
        let mut client = server.resp2();
        let first_at = fill(&mut client, &clock, 1);
        client.ok(&format!("BF.ROTATE a AT {}", first_at + 50));
        add(&mut client, "a", 500..520);
        client.ok("BF.MERGE a b");
        for range in [0..60, 100..160, 500..520] {
            assert_contains(&mut client, "a", range);
        }
        assert_eq!(info_field(&mut client, "a", "FILTERS"), 3);
        assert_eq!(client.ask("BF.MERGE b a").split(' ').next(), Some("-ERR"));
    });
}

#[test]
fn overflow_layers_of_a_source_are_copied() {
    Setup::new().debug().on_each_server(|mut client, _| {
        copies(&mut client, "0.000001 80 SEED 7 GENERATIONS 2", &["a", "b"]);
        add(&mut client, "a", 0..10);
        add(&mut client, "b", 0..200);
        let layers = info_field(&mut client, "b", "FILTERS");
        assert!(layers > 2, "{layers} layers");
        let before = digests(&mut client, ["b"]);
        client.ok("BF.MERGE a b");
        client.ok("BF.MERGE d a b");
        assert_eq!(digests(&mut client, ["b"]), before);
        for key in ["a", "d"] {
            assert_contains(&mut client, key, 0..200);
            assert_same_bits(&mut client, key, "b");
            assert_eq!(info_field(&mut client, key, "ITEMS"), 200);
            assert_eq!(info_field(&mut client, key, "FILTERS"), layers);
            add(&mut client, key, 200..300);
            assert_contains(&mut client, key, 0..300);
        }
        let keys = ["a", "b", "d"];
        assert_eq!(totals(&mut client), sum_of_infos(&mut client, &keys));
    });
}

#[test]
fn generations_above_their_capacity_are_refused() {
    Setup::new().debug().on_each_server(|mut client, _| {
        for growth in ["", " NONSCALING"] {
            // Each generation has 50 items.
            let options = format!("0.000001 100 SEED 7 GENERATIONS 2{growth}");
            copies(&mut client, &options, &["a", "b"]);
            add(&mut client, "a", 0..50);
            add(&mut client, "b", 50..100);
            let before = digests(&mut client, ["a", "b"]);
            let reply = client.ask("BF.MERGE a b");
            assert!(reply.starts_with("-ERR cannot merge: "), "{options}: {reply}");
            assert_eq!(digests(&mut client, ["a", "b"]), before);
        }
    });
}
