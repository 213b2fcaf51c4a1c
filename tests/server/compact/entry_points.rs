//! Compacted filters through every entry point: equal afterwards.

use bloomline_harness::{Client, Server, Stop, bulk, for_each_server, show};

use super::filters::{
    FILTERS, assert_nothing_lost, compact_all, compact_all_twice, observe, observe_all, use_all,
};
use crate::inspect::with_debug;
use crate::windows::fixture::restore;

type Build = fn(&mut Client);

/// Filters that were compacted once, and those that have grown since and were compacted again.
const BUILDS: [Build; 2] = [compact_all, compact_all_twice];

/// Builds filters, restarts the server twice, compares them, and uses them.
fn restart_keeps_everything(lines: &[&str], stop: Stop, before_stop: impl Fn(&mut Client) + Sync) {
    for_each_server(|kind| {
        for build in BUILDS {
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
            assert_nothing_lost(&mut server.resp2());
            use_all(&mut server.resp2());
            let used = observe_all(&mut server.resp2());
            server.restart(stop);
            assert_eq!(observe_all(&mut server.resp2()), used);
        }
    });
}

fn rewrite(client: &mut Client) {
    client.call("BGREWRITEAOF");
    client.wait_for_saves();
    assert_eq!(client.info("aof_last_bgrewrite_status").trim(), "ok");
}

#[test]
fn compacted_filters_survive_an_rdb_file() {
    restart_keeps_everything(&[], Stop::Save, |_| ());
}

#[test]
fn compacted_filters_survive_an_aof_rewritten_as_rdb() {
    let lines = ["appendonly yes", "aof-use-rdb-preamble yes"];
    restart_keeps_everything(&lines, Stop::NoSave, rewrite);
}

#[test]
fn compacted_filters_survive_an_aof_rewritten_as_commands() {
    let lines = ["appendonly yes", "aof-use-rdb-preamble no"];
    restart_keeps_everything(&lines, Stop::NoSave, rewrite);
}

#[test]
fn compacted_filters_survive_an_aof_never_rewritten() {
    let lines = ["appendonly yes", "aof-use-rdb-preamble no"];
    restart_keeps_everything(&lines, Stop::NoSave, |_| ());
}

/// Builds filters on one server, carries each to a second one, compares them, and uses both.
fn carrying_keeps_everything(carry: impl Fn(&Server, &mut Client, &mut Client, &str) + Sync) {
    for_each_server(|kind| {
        for build in BUILDS {
            let here = with_debug(kind).start(kind);
            let there = with_debug(kind).on_tcp().start(kind);
            let (mut from, mut to) = (here.resp2(), there.resp2());
            build(&mut from);
            let before = observe_all(&mut from);
            for (filter, before) in FILTERS.iter().zip(&before) {
                carry(&there, &mut from, &mut to, filter.key);
                assert_eq!(&observe(&mut to, filter.key), before, "{}", filter.key);
            }
            assert_nothing_lost(&mut to);
            for (one, other) in use_all(&mut to).iter().zip(use_all(&mut from)) {
                assert_eq!(*one, other);
            }
        }
    });
}

#[test]
fn dump_and_restore_carry_a_compacted_filter() {
    carrying_keeps_everything(|_, from, to, key| {
        let dump = from.call(&format!("DUMP {key}"));
        restore(to, key, &dump);
        assert!(to.call(&format!("DUMP {key}")) == dump, "{key} is dumped to other bytes");
    });
}

#[test]
fn chunks_carry_a_compacted_filter() {
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
fn migrate_carries_a_compacted_filter() {
    carrying_keeps_everything(|there, from, _, key| {
        from.ok(&format!("MIGRATE 127.0.0.1 {} {key} 0 10000 COPY", there.port));
    });
}

#[test]
fn copies_of_compacted_filters_are_equal_and_independent() {
    for_each_server(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        compact_all_twice(&mut client);
        for filter in &FILTERS {
            let before = observe(&mut client, filter.key);
            assert_eq!(client.ask(&format!("COPY {} copy", filter.key)), ":1");
            assert_eq!(observe(&mut client, "copy"), before, "{}", filter.key);
            client.call("BF.MADD copy more and more");
            client.call("BF.COMPACT copy");
            assert_eq!(observe(&mut client, filter.key), before, "{}", filter.key);
            assert_eq!(client.ask("DEL copy"), ":1");
        }
    });
}

#[test]
fn a_reload_keeps_compacted_filters() {
    for_each_server(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        compact_all_twice(&mut client);
        let (before, all) = (observe_all(&mut client), client.ask("DEBUG DIGEST"));
        client.ok("DEBUG RELOAD");
        assert_eq!(observe_all(&mut client), before);
        assert_eq!(client.ask("DEBUG DIGEST"), all);
    });
}

#[test]
fn equal_filters_are_equal_after_compacting() {
    for_each_server(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        for filter in &FILTERS {
            filter.make(&mut client);
            let dump = client.call(&format!("DUMP {}", filter.key));
            restore(&mut client, "twin", &dump);
            for key in [filter.key, "twin"] {
                client.call(&format!("BF.COMPACT {key}"));
            }
            assert_eq!(observe(&mut client, "twin"), observe(&mut client, filter.key));
            let [one, other] =
                [filter.key, "twin"].map(|key| show(&client.call(&format!("DUMP {key}"))));
            assert!(one == other, "{} has other bytes", filter.key);
            assert!(!bulk(&dump).is_empty());
            assert_eq!(client.ask("DEL twin"), ":1");
        }
    });
}
