//! A writable replica that loads the primary's data set beside its own.

use bloomline_harness::{
    Client, Kind, Server, arguments, for_each_server_long, numbered, report_missing, show, until,
};

use crate::inspect::totals;

use super::equal::{OTHER_SETTINGS, assert_equal, catch_up, many_small, setup};

/// Filters of the data set. Each is loaded with a delay of [`DELAY`].
const FILTERS: usize = 200;

/// The delay per key, in microseconds.
const DELAY: &str = "2000";

/// A primary and a writable replica with equal data sets. The replica is in a full synchronisation.
struct Pair {
    primary: Server,
    replica: Server,
    /// True if the replica answers while it loads a data set.
    answers: bool,
}

impl Pair {
    fn loading(kind: &Kind) -> Self {
        let primary =
            setup().line("repl-diskless-sync yes").line("repl-backlog-size 16kb").start(kind);
        let mut client = primary.resp2();
        for layout in ["bloomline", "redisbloom"] {
            client.ok(&format!("BF.RESERVE growing:{layout} 0.001 10 LAYOUT {layout}"));
            client.ok(&format!("BF.RESERVE fixed:{layout} 0.001 10 NONSCALING LAYOUT {layout}"));
            client.call(&format!("BF.MADD growing:{layout} old"));
            client.call(&format!("BF.MADD fixed:{layout} old"));
        }
        many_small(&mut client, FILTERS);
        client.ok("SET old 1");
        // A low limit would refuse the writes of the replica's clients.
        let settings = OTHER_SETTINGS.replace(" bf-max-filter-bytes 1", "");
        let replica = setup()
            .module_args(&settings)
            .line("repl-diskless-load swapdb")
            .line("replica-read-only no")
            .follows(&primary)
            .start(kind);
        let mut follower = replica.resp2();
        catch_up(&mut client, &mut follower);
        follower.ok(&format!("CONFIG SET key-load-delay {DELAY}"));
        let answers =
            follower.ask("CONFIG SET loading-process-events-interval-bytes 1024") == "+OK";
        // More than the backlog holds, written before the replica can request what it missed.
        client.ok("MULTI");
        client.call("CLIENT KILL TYPE replica");
        client.run(&[&b"SET"[..], b"filler".as_slice(), &[b'x'; 100_000]]);
        client.call("DEL old");
        for layout in ["bloomline", "redisbloom"] {
            client.items("BF.MADD", &format!("growing:{layout}"), &numbered("missed", 200));
        }
        client.call("EXEC");
        if answers {
            follower.wait_for("async_loading", "1");
        } else {
            report_missing(kind, "answers while it loads a full sync");
        }
        Pair { primary, replica, answers }
    }

    /// Lets the replica load the rest, and asserts that the writes of its own clients are gone.
    fn finish(self) {
        let (mut client, mut follower) = (self.primary.resp2(), self.replica.resp2());
        if self.answers {
            follower.ok("CONFIG SET key-load-delay 0");
            follower.wait_for("async_loading", "0");
        }
        client.call("BF.MADD growing:bloomline after");
        catch_up(&mut client, &mut follower);
        assert_eq!(client.info("sync_full"), "2");
        assert_eq!(follower.ask("EXISTS old"), ":0");
        assert_equal(&mut client, &mut follower);
        // The server may free the old data set in the background.
        let expected = totals(&mut client);
        until("the totals to equal the primary's", || {
            (totals(&mut follower) == expected).then_some(())
        });
        assert_eq!(follower.ask("BF.EXISTS growing:redisbloom missed:7"), ":1");
    }
}

/// Sends all lines at once, because a loading server answers late, and asserts every reply.
fn assert_replies(client: &mut Client, lines: &[(&str, &str)]) {
    lines.iter().for_each(|(line, _)| client.send(&arguments(line)));
    for (line, expected) in lines {
        assert_eq!(show(&client.receive(line)), *expected, "{line}");
    }
}

#[test]
fn a_loading_replica_takes_writes_and_drops_them_later() {
    for_each_server_long(|kind| {
        let pair = Pair::loading(kind);
        if !pair.answers {
            return pair.finish();
        }
        let mut follower = pair.replica.resp2();
        for layout in ["bloomline", "redisbloom"] {
            let mut lines = Vec::new();
            let mut line = |text: &str, reply: &str| {
                lines.push((text.replace("LL", layout), reply.to_owned()));
            };
            // The old data set answers.
            line("EXISTS old", ":1");
            line("BF.MEXISTS growing:LL old missed:7", "*[:1 :0]");
            // Creations.
            line("BF.RESERVE reserved:LL 0.01 100 LAYOUT LL", "+OK");
            line("BF.INSERT inserted:LL CAPACITY 2 LAYOUT LL ITEMS a b c", "*[:1 :1 :1]");
            line("BF.ADD added:LL a", ":1");
            line("BF.RESERVE growing:LL 0.01 100", "-ERR item exists");
            line("BF.RESERVE large:LL 0.01 1000000 LAYOUT LL", "+OK");
            // Full filters, deletions, copies.
            line("BF.MADD small:3 x:LL y:LL z:LL", "*[:1 :1 :1]");
            line("DEL small:5 small:6 large:LL", if layout == "bloomline" { ":3" } else { ":1" });
            line("COPY growing:LL copied:LL", ":1");
            line("BF.ADD copied:LL own", ":1");
            line("BF.MEXISTS copied:LL old own", "*[:1 :1]");
            line("BF.INFO reserved:LL CAPACITY", "*[:100]");
            let lines: Vec<(&str, &str)> =
                lines.iter().map(|(line, reply)| (&**line, &**reply)).collect();
            assert_replies(&mut follower, &lines);
            // Growth by several layers.
            let own = numbered("own", 300);
            let added = show(&follower.items("BF.MADD", &format!("growing:{layout}"), &own));
            assert!(added.starts_with("*[:1 :1"), "{added}");
            let found = show(&follower.items("BF.MEXISTS", &format!("growing:{layout}"), &own));
            assert_eq!(found.matches(":1").count(), own.len());
            let full = show(&follower.items("BF.MADD", &format!("fixed:{layout}"), &own[..20]));
            assert!(full.ends_with("-ERR non scaling filter is full]"), "{full}");
        }
        assert_eq!(follower.ask("EXISTS old"), ":1");
        assert_eq!(follower.info("async_loading"), "1", "the load ended too early");
        pair.finish();
    });
}

#[test]
fn a_loading_replica_may_be_emptied() {
    for_each_server_long(|kind| {
        let pair = Pair::loading(kind);
        if !pair.answers {
            return;
        }
        let mut follower = pair.replica.resp2();
        assert_replies(
            &mut follower,
            &[
                ("BF.MADD own a b", "*[:1 :1]"),
                ("UNLINK growing:bloomline growing:redisbloom", ":2"),
                ("BF.ADD growing:bloomline a", ":1"),
                ("RENAME own growing:redisbloom", "+OK"),
                ("BF.MEXISTS growing:redisbloom a b c", "*[:1 :1 :0]"),
            ],
        );
        let refused_or_done = follower.ask("FLUSHALL");
        if refused_or_done == "+OK" {
            assert_replies(
                &mut follower,
                &[
                    ("DBSIZE", ":0"),
                    ("BF.EXISTS own a", ":0"),
                    ("BF.ADD growing:bloomline a", ":1"),
                ],
            );
        } else {
            assert!(refused_or_done.starts_with("-"), "{refused_or_done}");
        }
        assert_eq!(follower.info("async_loading"), "1", "the load ended too early");
        pair.finish();
    });
}
