//! DEBUG DIGEST: equal for equal filters after every entry point, different after any change.

use std::collections::BTreeSet;

use bloomline_harness::{Client, Kind, Server, Stop, bulk, for_each_server, numbered, show, until};

use crate::cluster::equal::catch_up;
use crate::entry_points::scenario::{Made, build};
use crate::inspect::{digest, with_debug};

fn digests(client: &mut Client, made: &[Made]) -> Vec<String> {
    made.iter().map(|filter| digest(client, filter.key)).collect()
}

#[test]
fn copies_and_restored_dumps_have_the_same_digest() {
    for_each_server(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        for filter in build(&mut client) {
            let origin = digest(&mut client, filter.key);
            assert_eq!(client.ask(&format!("COPY {} copied", filter.key)), ":1");
            let dump = client.call(&format!("DUMP {}", filter.key));
            assert_eq!(
                show(&client.run(&[b"RESTORE", b"restored".as_slice(), b"0", bulk(&dump)])),
                "+OK"
            );
            client.copy_by_chunks(filter.key, "loaded");
            for key in ["copied", "restored", "loaded"] {
                assert_eq!(digest(&mut client, key), origin, "{} {key}", filter.key);
            }
            client.call("DEL copied restored loaded");
        }
    });
}

#[test]
fn replicas_have_the_digest_of_their_primary() {
    for_each_server(|kind| {
        let primary = with_debug(kind).on_tcp().start(kind);
        let mut client = primary.resp2();
        let early = replica_of(kind, primary.port);
        catch_up(&mut client, &mut early.resp2());
        // One replica follows the stream, the other one receives a full synchronisation.
        let made = build(&mut client);
        let late = replica_of(kind, primary.port);
        for replica in [&early, &late] {
            let mut other = replica.resp2();
            until("both replicas to be in step", || {
                let is_up = other.info("master_link_status") == "up";
                (is_up && client.ask("WAIT 2 2000") == ":2").then_some(())
            });
            assert_eq!(digests(&mut other, &made), digests(&mut client, &made));
            assert_eq!(other.ask("DEBUG DIGEST"), client.ask("DEBUG DIGEST"));
        }
    });
}

/// A replica whose settings differ from its primary's.
fn replica_of(kind: &Kind, port: u16) -> Server {
    let setup =
        with_debug(kind).module_args("bf-error-rate 0.1 bf-initial-size 17 bf-max-filter-bytes 1");
    setup.line(format!("replicaof 127.0.0.1 {port}")).start(kind)
}

#[test]
fn restarts_keep_the_digest() {
    for_each_server(|kind| {
        for (stop, lines) in [
            (Stop::Save, &[][..]),
            (Stop::NoSave, &["appendonly yes", "aof-use-rdb-preamble no"]),
            (Stop::NoSave, &["appendonly yes", "aof-use-rdb-preamble yes"]),
        ] {
            let setup = lines.iter().fold(with_debug(kind), |setup, line| setup.line(*line));
            let mut server = setup.start(kind);
            let mut client = server.resp2();
            let made = build(&mut client);
            let before = digests(&mut client, &made);
            if !lines.is_empty() {
                // Half of the data comes from the rewritten file, half from the commands after it.
                client.call("BGREWRITEAOF");
                until("the append-only file to be rewritten", || {
                    let is_busy = client.info("aof_rewrite_in_progress") != "0"
                        || client.info("aof_rewrite_scheduled") != "0";
                    (!is_busy).then_some(())
                });
            }
            server.restart(stop);
            let mut client = server.resp2();
            assert_eq!(digests(&mut client, &made), before, "{lines:?}");
        }
    });
}

#[test]
fn any_change_gives_another_digest() {
    for_each_server(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        let mut seen = BTreeSet::new();
        client.ok("BF.RESERVE k 0.0000001 10");
        assert!(seen.insert(digest(&mut client, "k")));
        // Add items one at a time while two layers are added.
        for item in numbered("item", 40) {
            assert_eq!(show(&client.items("BF.ADD", "k", &[item])), ":1");
            assert!(seen.insert(digest(&mut client, "k")), "an item did not change the digest");
        }
        assert_eq!(client.ask("BF.INFO k FILTERS"), "*[:3]");
        // Change bits but not the header, in the oldest layer.
        let (next, mut bits) = client.scandump("k", 1);
        bits[3] ^= 1;
        for expected_new in [true, false] {
            assert_eq!(client.loadchunk("k", next, &bits), "+OK");
            assert_eq!(seen.insert(digest(&mut client, "k")), expected_new);
        }
    });
}

#[test]
fn calls_that_change_nothing_keep_the_digest() {
    for_each_server(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.0000001 3 NONSCALING");
        assert_eq!(client.ask("BF.MADD k a b c"), "*[:1 :1 :1]");
        let before = digest(&mut client, "k");
        for line in [
            "BF.ADD k a",
            "BF.ADD k x",
            "BF.MADD k a b x y",
            "BF.INSERT k ITEMS x",
            "BF.RESERVE k 0.01 100",
            "BF.LOADCHUNK k 1 garbage",
            "BF.EXISTS k a",
            "BF.INFO k",
            "BF.SCANDUMP k 0",
        ] {
            client.call(line);
            assert_eq!(digest(&mut client, "k"), before, "{line}");
        }
    });
}

#[test]
fn other_parameters_give_other_digests() {
    for_each_server(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        let mut seen = BTreeSet::new();
        for (key, parameters) in [
            ("plain", "0.01 100"),
            ("capacity", "0.01 101"),
            ("rate", "0.0100001 100"),
            ("expansion", "0.01 100 EXPANSION 3"),
            ("fixed", "0.01 100 NONSCALING"),
            // Another seed maps every item to other bits.
            ("reseeded", "0.01 100"),
        ] {
            client.ok(&format!("BF.RESERVE {key} {parameters}"));
            assert!(seen.insert(digest(&mut client, key)), "{key}");
        }
    });
}
