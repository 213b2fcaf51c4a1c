//! Scripts: the same filters on replicas and in files, whether a server replicates a script by its
//! text, as Redis 6.2 can, or by its effects.

use bloomline_harness::{
    Client, Kind, Replica, Setup, Stop, for_each_server, numbered, report_missing,
};

use crate::cluster::equal::{OTHER_SETTINGS, assert_equal, catch_up, setup};
use crate::filters::{Filter, build, compactable, observe_all};
use crate::inspect::digest;
use crate::overlapping::make;

/// Scripts that create the filter of their key and state all its parameters.
const CREATIONS: [(&str, &str); 6] = [
    ("reserved", "return redis.call('BF.RESERVE', KEYS[1], 0.001, 10, 'EXPANSION', 2)"),
    (
        "stored",
        "return redis.call('BF.RESERVE', KEYS[1], 0.1, 9, 'EXPANSION', 4, 'LAYOUT', 'redisbloom')",
    ),
    (
        "inserted",
        "return redis.call('BF.INSERT', KEYS[1], 'CAPACITY', 3, 'ERROR', 0.2, 'EXPANSION', 3, 'ITEMS', 'a')",
    ),
    (
        "fixed",
        "return redis.call('BF.INSERT', KEYS[1], 'CAPACITY', 9, 'ERROR', 0.2, 'NONSCALING', 'ITEMS', 'a')",
    ),
    (
        "seeded",
        "return redis.call('BF.RESERVE', KEYS[1], 0.01, 100, 'EXPANSION', 2, 'SEED', '9223372036854775808')",
    ),
    (
        "given",
        "return redis.call('BF.INSERT', KEYS[1], 'CAPACITY', 9, 'ERROR', 0.01, 'EXPANSION', 2, 'SEED', '9223372036854775808', 'ITEMS', 'a')",
    ),
];

/// Scripts that create a filter with the default settings.
const DEFAULTS: [(&str, &str); 3] = [
    ("added", "return redis.call('BF.ADD', KEYS[1], 'a')"),
    ("many", "redis.call('BF.MADD', KEYS[1], 'a', 'b'); return redis.call('BF.ADD', KEYS[1], 'c')"),
    // x comes first: later it may be a false positive.
    (
        "packed",
        "local data = '' for i = 1, 900 do data = data .. (1000 + i % 700) end \
         redis.call('BF.BULKADD', KEYS[1], 'LINES', 'x', 'COUNT') \
         return redis.call('BF.BULKADD', KEYS[1], 'FIXED', 4, data)[1]",
    ),
];

/// A script that makes filters grow by several layers.
const GROWTH: &str =
    "for i = 1, 500 do redis.pcall('BF.ADD', KEYS[1], 'item' .. i) end return 'done'";

/// A merge, one that is refused, and an addition.
const MERGE: &str = "redis.call('BF.MERGE', KEYS[1], 'a', 'b') local why = redis.pcall('BF.MERGE', KEYS[1], 'missing') \
     redis.call('BF.ADD', KEYS[1], 'by script') return why.err";

/// A server that replicates scripts by their text; none on servers that cannot.
fn by_text(kind: &Kind) -> Option<Setup> {
    if kind.is_before_7() {
        return Some(setup().line("lua-replicate-commands no"));
    }
    report_missing(kind, "lua-replicate-commands no");
    None
}

/// Runs a script that must not fail.
fn eval(client: &mut Client, script: &str, key: &str) -> String {
    let reply = client.ask(&format!("EVAL \"{script}\" 1 {key}"));
    assert!(!reply.contains('-'), "{script}: {reply}");
    reply
}

/// Runs all scripts, and returns the filters that they have compacted.
fn run_all(client: &mut Client) -> Vec<Filter> {
    make(client, "SEED 7");
    assert!(eval(client, MERGE, "merged").contains("ERR source"));
    for (key, script) in CREATIONS.into_iter().chain(DEFAULTS) {
        eval(client, script, key);
        eval(client, GROWTH, key);
    }
    let compacted = compactable();
    build(client, &compacted);
    for filter in &compacted {
        assert_ne!(eval(client, "return redis.call('BF.COMPACT', KEYS[1])", &filter.key), ":0");
    }
    // Outside scripts only new items are replicated, so an item that is new here must be new on the
    // replica and in the file.
    for (key, _) in CREATIONS.into_iter().chain(DEFAULTS) {
        client.items("BF.MADD", key, &numbered("outside", 300));
    }
    compacted
}

#[test]
fn scripts_leave_equal_filters_on_replicas_and_in_files() {
    for_each_server(|kind| {
        for setup_of_primary in [Some(setup()), by_text(kind)].into_iter().flatten() {
            let mut primary = setup_of_primary.append_only().start(kind);
            let replica = setup().follows(&primary).start(kind);
            let (mut client, mut follower) = (primary.resp2(), replica.resp2());
            catch_up(&mut client, &mut follower);
            let compacted = run_all(&mut client);
            catch_up(&mut client, &mut follower);
            assert_equal(&mut client, &mut follower);
            let state = |client: &mut Client| {
                let keys = CREATIONS.into_iter().chain(DEFAULTS).map(|(key, _)| key);
                let mut state = vec![digest(client, "merged")];
                for key in keys {
                    state.push(digest(client, key));
                    for field in ["LAYOUT", "ERROR", "EXPANSION"] {
                        state.push(client.ask(&format!("BF.INFO {key} {field}")));
                    }
                    // An item that was not added may be found with one seed and not with another.
                    let added = if key == "fixed" { "item1" } else { "item1 item250 item500" };
                    let found = client.ask(&format!("BF.MEXISTS {key} {added}"));
                    assert!(!found.contains('0'), "{key} lost items: {found}");
                }
                (state, observe_all(client, &compacted))
            };
            let before = state(&mut client);
            primary.restart(Stop::NoSave);
            assert_eq!(state(&mut primary.resp2()), before);
        }
    });
}

#[test]
fn only_the_text_of_a_script_is_replicated() {
    for_each_server(|kind| {
        let Some(setup_of_primary) = by_text(kind) else { return };
        let primary = setup_of_primary.start(kind);
        let (mut client, mut link) = (primary.resp2(), Replica::attach(&primary));
        for (key, script) in CREATIONS.into_iter().chain(DEFAULTS) {
            for script in [script, GROWTH] {
                eval(&mut client, script, key);
                // The server drops what the module replicates.
                let text = ["EVAL", script, "1", key].map(|word| word.as_bytes().to_vec());
                assert_eq!(link.received(&primary), [text]);
            }
        }
        // A given seed is that of filters outside of scripts.
        client.ok("BF.RESERVE outside 0.01 100 SEED 9223372036854775808");
        for i in 1..=500 {
            client.call(&format!("BF.ADD outside item{i}"));
        }
        assert_eq!(digest(&mut client, "seeded"), digest(&mut client, "outside"));
    });
}

#[test]
fn scripts_by_effects_make_the_same_filter_on_a_replica() {
    for_each_server(|kind| {
        let Some(setup_of_primary) = by_text(kind) else { return };
        let primary = setup_of_primary.start(kind);
        let replica = setup().module_args(OTHER_SETTINGS).follows(&primary).start(kind);
        let (mut client, mut follower) = (primary.resp2(), replica.resp2());
        catch_up(&mut client, &mut follower);
        let mut link = Replica::attach(&primary);
        let script = "redis.replicate_commands() return redis.call('BF.ADD', KEYS[1], 'a')";
        eval(&mut client, script, "k");
        assert_eq!(
            link.lines(&primary),
            ["MULTI", "BF.LOADCHUNK k 1 <data>", "BF.ADD k a", "EXEC"]
        );
        catch_up(&mut client, &mut follower);
        assert_equal(&mut client, &mut follower);
    });
}

#[test]
fn limits_of_a_replica_do_not_apply_to_scripts_by_text() {
    for_each_server(|kind| {
        let Some(setup_of_primary) = by_text(kind) else { return };
        let primary = setup_of_primary.start(kind);
        let replica = setup().module_args(OTHER_SETTINGS).follows(&primary).start(kind);
        let (mut client, mut follower) = (primary.resp2(), replica.resp2());
        catch_up(&mut client, &mut follower);
        for (key, script) in CREATIONS {
            eval(&mut client, script, key);
            eval(&mut client, GROWTH, key);
        }
        catch_up(&mut client, &mut follower);
        assert_equal(&mut client, &mut follower);
        assert_eq!(
            follower.ask("BF.INFO reserved FILTERS"),
            client.ask("BF.INFO reserved FILTERS")
        );
    });
}

#[test]
fn scripts_by_text_derive_the_seed_from_the_key() {
    for_each_server(|kind| {
        let Some(setup_of_primary) = by_text(kind) else { return };
        let digests = |setup: Setup| {
            let server = setup.start(kind);
            let mut client = server.resp2();
            ["one", "other"].map(|key| {
                eval(&mut client, "return redis.call('BF.ADD', KEYS[1], 'a')", key);
                client.ask(&format!("DEBUG DIGEST-VALUE {key}"))
            })
        };
        let [one, other] = digests(setup_of_primary.clone());
        assert_ne!(one, other);
        assert_eq!(digests(setup_of_primary), [one.clone(), other]);
        // With replication of effects the seed is random, so that nobody can compute it.
        assert_ne!(digests(setup())[0], one);
    });
}
