//! Replication of merges: equal filters on replicas and after a restart, and no command more than
//! was needed.

use bloomline_harness::{Clock, Kind, Replica, Server, Setup, Stop, for_each_server};

use crate::cluster::equal::{OTHER_SETTINGS, assert_equal, catch_up, setup};
use crate::overlapping::{KINDS, add, digests, make};

/// A replica whose settings would make other filters, or none.
fn follower(kind: &Kind, primary: &Server) -> Server {
    setup().module_args(OTHER_SETTINGS).follows(primary).start(kind)
}

#[test]
fn filters_above_their_capacity_stay_equal() {
    for_each_server(|kind| {
        let mut primary = setup().line("appendonly yes").start(kind);
        let replica = follower(kind, &primary);
        let (mut client, mut other) = (primary.resp2(), replica.resp2());
        for key in ["a", "b"] {
            client.ok(&format!("BF.RESERVE {key} 0.001 1000 SEED 7"));
        }
        add(&mut client, "a", 0..600);
        add(&mut client, "b", 1000..1420);
        client.ok("BF.MERGE a b");
        client.ok("BF.MERGE full b a");
        assert_eq!(client.ask("BF.ADD a grows"), ":1");
        catch_up(&mut client, &mut other);
        assert_equal(&mut client, &mut other);
        let before = digests(&mut client, ["a", "full"]);
        primary.restart(Stop::NoSave);
        let mut client = primary.resp2();
        assert_eq!(digests(&mut client, ["a", "full"]), before);
        assert_eq!(client.ask("BF.ADD full grows"), ":1");
        assert_eq!(client.ask("BF.INFO full FILTERS"), "*[:2]");
    });
}

#[test]
fn only_changes_are_replicated_and_verbatim() {
    Setup::new().on_each_server(|mut client, server| {
        for options in KINDS {
            make(&mut client, options);
            client.ok("BF.RESERVE other 0.01 10");
            client.ok("SET text value");
            let mut replica = Replica::attach(&server);
            let mut replicated = |line: &str| {
                client.call(line);
                replica.writes(&server)
            };
            for line in ["BF.MERGE d a b", "BF.MERGE d c a", "BF.MERGE e whole"] {
                assert_eq!(replicated(line), [line], "{options}");
            }
            for line in [
                "BF.MERGE d a",
                "BF.MERGE d d",
                "BF.MERGE d a b c whole",
                "BF.MERGE d other",
                "BF.MERGE new a other",
                "BF.MERGE d missing",
                "BF.MERGE d text",
                "BF.MERGE text a",
                "BF.MERGE d",
            ] {
                assert_eq!(replicated(line), [""; 0], "{options}: {line}");
            }
        }
    });
}

#[test]
fn transactions_and_scripts_replicate_merges_in_order() {
    Setup::new().on_each_server(|mut client, server| {
        make(&mut client, "SEED 7");
        let mut replica = Replica::attach(&server);
        for line in ["MULTI", "BF.MERGE d a", "BF.ADD d new", "BF.MERGE d a", "BF.MERGE d b"] {
            client.call(line);
        }
        assert_eq!(client.ask("EXEC"), "*[+OK :1 +OK +OK]");
        let expected = ["BF.MERGE d a", "BF.ADD d new", "BF.MERGE d b"];
        assert_eq!(replica.writes(&server), expected);
        let script = "redis.call('BF.MERGE', KEYS[1], KEYS[2]) redis.call('BF.MERGE', KEYS[1], KEYS[1]) return redis.call('BF.MERGE', KEYS[1], KEYS[3])";
        assert_eq!(client.ask(&format!("EVAL \"{script}\" 3 e a c")), "+OK");
        assert_eq!(replica.writes(&server), ["BF.MERGE e a", "BF.MERGE e c"]);
    });
}

#[test]
fn sources_that_have_expired_elsewhere_are_merged() {
    for_each_server(|kind| {
        let (clock, ahead) = (Clock::new(), Clock::new());
        let mut primary = setup().append_only().clock(&clock).start(kind);
        ahead.set_ahead(1_000_000);
        let replica = setup().follows(&primary).clock(&ahead).start(kind);
        let (mut client, mut other) = (primary.resp2(), replica.resp2());
        make(&mut client, "SEED 7");
        for key in ["b", "c"] {
            assert_eq!(client.ask(&format!("EXPIRE {key} 1000")), ":1");
        }
        client.ok("BF.MERGE d a b");
        client.ok("BF.MERGE a c b");
        catch_up(&mut client, &mut other);
        let before = digests(&mut client, ["a", "d"]);
        assert_eq!(digests(&mut other, ["a", "d"]), before);
        clock.advance(100_000);
        primary.restart(Stop::NoSave);
        let mut client = primary.resp2();
        assert_eq!(digests(&mut client, ["a", "d"]), before);
        assert_eq!(client.ask("BF.MERGE d b"), "-ERR source 'b' not found");
    });
}
