//! Scripts that a server replicates by their text (Redis 6.2). Each replica runs them again.

use bloomline_harness::{
    Client, Kind, Replica, Setup, Stop, for_each_server, numbered, report_missing,
};

use crate::cluster::equal::{OTHER_SETTINGS, assert_equal, catch_up, setup};

/// Scripts that create the filter of their key and state all its parameters.
const CREATIONS: [(&str, &str); 4] = [
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
];

/// Scripts that create a filter with the default settings.
const DEFAULTS: [(&str, &str); 2] = [
    ("added", "return redis.call('BF.ADD', KEYS[1], 'a')"),
    ("many", "redis.call('BF.MADD', KEYS[1], 'a', 'b'); return redis.call('BF.ADD', KEYS[1], 'c')"),
];

/// A script that makes filters grow by several layers.
const GROWTH: &str =
    "for i = 1, 500 do redis.pcall('BF.ADD', KEYS[1], 'item' .. i) end return 'done'";

/// A server that replicates scripts by their text; none on servers that cannot.
fn by_text(kind: &Kind) -> Option<Setup> {
    if kind.is_before_7() {
        return Some(setup().line("lua-replicate-commands no"));
    }
    report_missing(kind, "lua-replicate-commands no");
    None
}

/// Runs a script that must not fail.
fn eval(client: &mut Client, script: &str, key: &str) {
    let reply = client.ask(&format!("EVAL \"{script}\" 1 {key}"));
    assert!(!reply.contains('-'), "{script}: {reply}");
}

#[test]
fn scripts_by_text_make_the_same_filter_on_a_replica() {
    for_each_server(|kind| {
        let Some(setup_of_primary) = by_text(kind) else { return };
        let primary = setup_of_primary.start(kind);
        let replica = setup().follows(&primary).start(kind);
        let (mut client, mut follower) = (primary.resp2(), replica.resp2());
        catch_up(&mut client, &mut follower);
        let mut link = Replica::attach(&primary);
        for (key, script) in CREATIONS.into_iter().chain(DEFAULTS) {
            for script in [script, GROWTH] {
                eval(&mut client, script, key);
                // Only the text is replicated. The server drops what the module replicates.
                let written = link.received(&primary);
                assert_eq!(
                    written,
                    [["EVAL", script, "1", key].map(|word| word.as_bytes().to_vec())]
                );
            }
        }
        catch_up(&mut client, &mut follower);
        assert_equal(&mut client, &mut follower);
        // Outside scripts only new items are replicated, so an item that is new here must be new on
        // the replica.
        for (key, _) in CREATIONS.into_iter().chain(DEFAULTS) {
            client.items("BF.MADD", key, &numbered("outside", 300));
        }
        catch_up(&mut client, &mut follower);
        assert_equal(&mut client, &mut follower);
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

#[test]
fn scripts_in_an_append_only_file_make_the_same_filters() {
    for_each_server(|kind| {
        let Some(setup_of_primary) = by_text(kind) else { return };
        let mut server = setup_of_primary.append_only().start(kind);
        let mut client = server.resp2();
        for (key, script) in CREATIONS.into_iter().chain(DEFAULTS) {
            eval(&mut client, script, key);
            eval(&mut client, GROWTH, key);
            // Only items that are new with the seed of the script are logged.
            client.items("BF.MADD", key, &numbered("outside", 300));
        }
        let state_of = |client: &mut Client| {
            let mut answers = Vec::new();
            for (key, _) in CREATIONS.into_iter().chain(DEFAULTS) {
                answers.push(client.ask(&format!("DEBUG DIGEST-VALUE {key}")));
                for field in ["LAYOUT", "ERROR", "EXPANSION"] {
                    answers.push(client.ask(&format!("BF.INFO {key} {field}")));
                }
                // An item that was not added may be found with one seed and not with another.
                let added = if key == "fixed" { "item1" } else { "item1 item250 item500" };
                let found = client.ask(&format!("BF.MEXISTS {key} {added}"));
                assert!(!found.contains('0'), "{key} lost items: {found}");
            }
            answers
        };
        let before = state_of(&mut client);
        server.restart(Stop::NoSave);
        assert_eq!(state_of(&mut server.resp2()), before);
    });
}
