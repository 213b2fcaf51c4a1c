//! Filters of every kind of window through every entry point: equal afterwards.

use bloomline_harness::{Client, Server, Stop, for_each_build, for_each_server, numbered, show};

use super::fixture::{RATE, age, info, restore};
use crate::inspect::{digest, with_debug};

const SLOT: u64 = 1_000_000_000;

/// The key and the options of each filter.
const FILTERS: [(&str, &str); 11] = [
    ("empty", "80 WINDOW 8000000"),
    ("window", "80 WINDOW 8000000"),
    ("window:once", "80 WINDOW 4000000 GENERATIONS 4 NOREFRESH"),
    ("window:fixed", "80 WINDOW 8000000 NONSCALING"),
    ("last", "80 LAST"),
    ("last:once", "80 LAST GENERATIONS 3 NOREFRESH"),
    ("last:many", "6400 LAST GENERATIONS 64"),
    ("hand", "80 GENERATIONS 4 EXPANSION 1"),
    ("hand:once", "80 GENERATIONS 2 NOREFRESH"),
    ("hand:fixed", "80 GENERATIONS 8 NONSCALING"),
    ("hand:compacted", "40000 GENERATIONS 8"),
];

/// Builds all filters: with dropped generations, refreshed items and overflow layers.
fn build(client: &mut Client) {
    for (key, options) in FILTERS {
        client.ok(&format!("BF.RESERVE {key} {RATE} {options}"));
    }
    for step in 0..12 {
        // Half of the items of a step are those of the step before.
        let items = &numbered("item", 300)[step * 20..step * 20 + 40];
        for (key, _) in &FILTERS[1..] {
            client.items("BF.MADD", key, items);
            if key.starts_with("hand") {
                client.ok(&format!("BF.ROTATE {key}"));
            }
            if key.starts_with("window") {
                age(client, key, SLOT);
            }
        }
    }
    client.items("BF.MADD", "last:many", &numbered("many", 8000));
    client.items("BF.MADD", "window", &numbered("burst", 300));
    client.items("BF.MADD", "hand", &numbered("burst", 300));
    assert_ne!(client.ask("BF.COMPACT hand:compacted"), ":0");
    // They have all that an entry point could lose.
    for key in ["window", "window:once", "last", "last:many", "hand"] {
        let (_, header) = client.scandump(key, 0);
        let dropped = super::fixture::number_at(&header, super::fixture::DROPPED_BYTES);
        assert!(dropped > 0, "{key} has dropped nothing");
    }
    let layers = crate::inspect::info_field(client, "window", "FILTERS");
    assert!(layers > 9, "{layers} layers");
}

/// Everything that a client can see of a filter, but the age of its generations.
fn observe(client: &mut Client, key: &str) -> Vec<String> {
    let mut seen = vec![digest(client, key), client.ask(&format!("BF.INFO {key}"))];
    for field in ["WINDOW", "GENERATIONS", "OLDEST", "NEWEST", "FILL", "FPRATE", "ERROR"] {
        seen.push(info(client, key, field));
    }
    seen.push(client.ask(&format!("BF.CARD {key}")));
    for name in ["item", "burst", "many", "absent"] {
        seen.push(show(&client.items("BF.MEXISTS", key, &numbered(name, 300))));
    }
    seen
}

fn observe_all(client: &mut Client) -> Vec<Vec<String>> {
    FILTERS.iter().map(|(key, _)| observe(client, key)).collect()
}

/// Adds items and rotates, and returns all replies.
fn use_all(client: &mut Client) -> String {
    let mut replies = String::new();
    for (key, _) in FILTERS {
        for step in 0..4 {
            let more = numbered("item", 400);
            replies += &show(&client.items("BF.MADD", key, &more[step * 40..step * 40 + 80]));
            replies += &client.ask(&format!("BF.ROTATE {key}"));
        }
        replies += &show(&client.items("BF.MEXISTS", key, &numbered("item", 400)));
        replies += &client.ask(&format!("BF.INFO {key}"));
    }
    replies
}

/// Builds filters, restarts the server twice, and compares.
fn restart_keeps_everything(lines: &[&str], stop: Stop, before_stop: impl Fn(&mut Client) + Sync) {
    for_each_build(|kind| {
        let setup = lines.iter().fold(with_debug(kind), |setup, line| setup.line(*line));
        let mut server: Server = setup.start(kind);
        let mut client = server.resp2();
        build(&mut client);
        let before = observe_all(&mut client);
        before_stop(&mut client);
        for _ in 0..2 {
            server.restart(stop);
            assert_eq!(observe_all(&mut server.resp2()), before);
        }
        use_all(&mut server.resp2());
        let used = observe_all(&mut server.resp2());
        server.restart(stop);
        assert_eq!(observe_all(&mut server.resp2()), used);
    });
}

fn rewrite(client: &mut Client) {
    client.call("BGREWRITEAOF");
    client.wait_for_saves();
    assert_eq!(client.info("aof_last_bgrewrite_status").trim(), "ok");
}

#[test]
fn windows_survive_an_rdb_file() {
    restart_keeps_everything(&[], Stop::Save, |_| ());
}

#[test]
fn windows_survive_an_aof_rewritten_as_rdb() {
    let lines = ["appendonly yes", "aof-use-rdb-preamble yes"];
    restart_keeps_everything(&lines, Stop::NoSave, rewrite);
}

#[test]
fn windows_survive_an_aof_rewritten_as_commands() {
    let lines = ["appendonly yes", "aof-use-rdb-preamble no"];
    restart_keeps_everything(&lines, Stop::NoSave, rewrite);
}

#[test]
fn windows_survive_an_aof_that_is_never_rewritten() {
    let lines = ["appendonly yes", "aof-use-rdb-preamble no"];
    restart_keeps_everything(&lines, Stop::NoSave, |_| ());
}

#[test]
fn windows_survive_a_reload() {
    for_each_build(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        build(&mut client);
        let before = observe_all(&mut client);
        client.ok("DEBUG RELOAD");
        assert_eq!(observe_all(&mut client), before);
    });
}

/// Builds filters on one server, carries each to a second one, compares them, and uses both.
fn carrying_keeps_everything(carry: impl Fn(&Server, &mut Client, &mut Client, &str) + Sync) {
    for_each_build(|kind| {
        let (here, there) = (with_debug(kind).start(kind), with_debug(kind).on_tcp().start(kind));
        let (mut from, mut to) = (here.resp2(), there.resp2());
        build(&mut from);
        let before = observe_all(&mut from);
        for ((key, _), before) in FILTERS.iter().zip(&before) {
            carry(&there, &mut from, &mut to, key);
            assert_eq!(&observe(&mut to, key), before, "{key}");
        }
        assert_eq!(use_all(&mut to), use_all(&mut from));
    });
}

#[test]
fn dump_and_restore_carry_a_window() {
    carrying_keeps_everything(|_, from, to, key| {
        let dump = from.call(&format!("DUMP {key}"));
        restore(to, key, &dump);
        assert!(to.call(&format!("DUMP {key}")) == dump, "{key} is dumped to other bytes");
    });
}

#[test]
fn chunks_carry_a_window() {
    carrying_keeps_everything(|_, from, to, key| {
        let mut at = 0;
        loop {
            let (next, data) = from.scandump(key, at);
            if next == 0 {
                break;
            }
            assert_eq!(to.loadchunk(key, next, &data), "+OK", "{key} at {next}");
            at = next;
        }
    });
}

#[test]
fn migrate_carries_a_window() {
    carrying_keeps_everything(|there, from, _, key| {
        from.ok(&format!("MIGRATE 127.0.0.1 {} {key} 0 10000 COPY", there.port));
    });
}

#[test]
fn copies_are_equal_and_independent() {
    for_each_build(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        build(&mut client);
        let before = observe_all(&mut client);
        for ((key, _), before) in FILTERS.iter().zip(&before) {
            assert_eq!(client.ask(&format!("COPY {key} copy")), ":1");
            assert_eq!(&observe(&mut client, "copy"), before, "{key}");
            client.items("BF.MADD", "copy", &numbered("more", 200));
            client.ask("BF.ROTATE copy");
            assert_eq!(&observe(&mut client, key), before, "{key}");
            assert_eq!(client.ask("DEL copy"), ":1");
        }
    });
}

#[test]
fn generations_of_several_chunks_are_carried() {
    for_each_server(|kind| {
        let mut server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        // A generation takes about 25 MB.
        client.ok("BF.RESERVE k 0.01 30000000 GENERATIONS 2");
        for step in 0..4 {
            client.items("BF.MADD", "k", &numbered(&format!("step{step}"), 1000));
            client.ok("BF.ROTATE k");
        }
        let before = digest(&mut client, "k");
        client.copy_by_chunks("k", "loaded");
        assert_eq!(client.ask("COPY k copied"), ":1");
        server.restart(Stop::Save);
        let mut client = server.resp2();
        for key in ["k", "loaded", "copied"] {
            assert_eq!(digest(&mut client, key), before, "{key}");
            for (step, answer) in [(1, ":0"), (2, ":1"), (3, ":1")] {
                let found =
                    show(&client.items("BF.MEXISTS", key, &numbered(&format!("step{step}"), 1000)));
                assert_eq!(found.matches(answer).count(), 1000, "{key}, step {step}");
            }
        }
    });
}
