//! Scripts: the same filters on replicas and in files if a server replicates their effects, and no
//! filters if it may replicate their text, as Redis 6.2 can.

use bloomline_harness::{
    Client, Replica, Stop, arguments, for_each_server, numbered, report_missing, show,
};

use crate::cluster::equal::{assert_equal, catch_up, setup};
use crate::filters::{Filter, build, compactable, observe_all};
use crate::inspect::digest;
use crate::introspection::command_table::writing_calls;
use crate::overlapping::make;

/// Scripts that create the filter of their key with options.
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

/// Lines with which Redis 6.2 replicates scripts by their text, or does not say that it does not.
const BY_TEXT: [&str; 2] = ["lua-replicate-commands no", "rename-command CONFIG \"\""];

/// The error of a script that would write filters there.
const REFUSED: &str = "ERR before Redis 7.0, scripts that write filters need \
    lua-replicate-commands yes, a CONFIG command that is not renamed, and a server that is no replica";

/// The line in the log of a server that repeats such a script.
const REPEATED: &str = "a script that a primary or a file repeats was refused to write it";

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
        let mut primary = setup().append_only().start(kind);
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
                state.push(client.ask(&format!("BF.STATS {key} layout error_rate expansion")));
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
    });
}

#[test]
fn scripts_by_text_write_no_filters() {
    for_each_server(|kind| {
        if !kind.is_before_7() {
            return report_missing(kind, BY_TEXT[0]);
        }
        for line in BY_TEXT {
            let mut primary = setup().line(line).append_only().start(kind);
            let replica = setup().follows(&primary).start(kind);
            let (mut client, mut follower) = (primary.resp2(), replica.resp2());
            catch_up(&mut client, &mut follower);
            assert_eq!(client.ask("BF.MADD bloom a b"), "*[:1 :1]");
            assert_eq!(client.ask("CF.INSERT cuckoo ITEMS a b"), "*[:1 :1]");
            client.ok("BF.RESERVE windowed 0.01 100 GENERATIONS 3");
            let keys = ["bloom", "cuckoo", "windowed"];
            let before = keys.map(|key| digest(&mut client, key));
            // Each script writes something else, so the server replicates its text.
            for call in writing_calls() {
                for (key, chooses) in [
                    ("new", ""),
                    ("bloom", ""),
                    ("cuckoo", ""),
                    ("windowed", ""),
                    ("bloom", "redis.replicate_commands() "),
                ] {
                    let script = format!(
                        "{chooses}redis.call('INCR', KEYS[1]) return redis.pcall(unpack(ARGV)).err"
                    );
                    let call = call.replace("KEY", key);
                    let mut words = vec![b"EVAL".to_vec(), script.into(), b"1".into(), b"n".into()];
                    words.extend(arguments(&call));
                    let reply = show(&client.run(&words));
                    assert_eq!(reply, format!("${} {REFUSED}", REFUSED.len()), "{call}");
                }
            }
            let script = "redis.call('INCR', KEYS[1]) return redis.call('BF.ADD', KEYS[2], 'c')";
            let reply = client.ask(&format!("EVAL \"{script}\" 2 n bloom"));
            assert!(reply.starts_with('-') && reply.contains(REFUSED), "{reply}");
            // What only reads works.
            eval(&mut client, "return redis.call('BF.MEXISTS', KEYS[1], 'a', 'c')", "bloom");
            eval(&mut client, "return redis.call('CF.INFO', KEYS[1])", "cuckoo");
            assert_eq!(keys.map(|key| digest(&mut client, key)), before);
            assert_eq!(client.ask("EXISTS n new"), ":1");
            catch_up(&mut client, &mut follower);
            assert_equal(&mut client, &mut follower);
            let is_repeated = line == BY_TEXT[0];
            assert_eq!(replica.log().contains(REPEATED), is_repeated);
            assert!(!primary.log().contains(REPEATED));
            let digest = client.ask("DEBUG DIGEST");
            primary.restart(Stop::NoSave);
            assert_eq!(primary.resp2().ask("DEBUG DIGEST"), digest);
            assert_eq!(primary.log().contains(REPEATED), is_repeated);
        }
    });
}

#[test]
fn a_replica_has_the_effects_of_scripts_and_writes_none_by_its_own() {
    for_each_server(|kind| {
        let primary = setup().start(kind);
        let mut client = primary.resp2();
        let mut link = Replica::attach(&primary);
        let [mut reading, mut writing] = ["yes", "no"].map(|value| {
            let replica = setup().line(format!("replica-read-only {value}")).follows(&primary);
            let replica = replica.start(kind);
            let mut follower = replica.resp2();
            catch_up(&mut client, &mut follower);
            (replica, follower)
        });
        let script = "redis.call('BF.ADD', KEYS[1], 'a') return redis.call('CF.ADD', KEYS[2], 'a')";
        assert_eq!(client.ask(&format!("EVAL \"{script}\" 2 k c")), ":1");
        assert_eq!(
            link.lines(&primary),
            ["MULTI", "BF.LOADCHUNK k 1 <data>", "CF.LOADCHUNK c 1 <data>", "CF.ADD c a", "EXEC"]
        );
        for (replica, follower) in [&mut reading, &mut writing] {
            catch_up(&mut client, follower);
            assert_equal(&mut client, follower);
            assert!(!replica.log().contains(REPEATED));
            let reply = follower.ask("EVAL \"return redis.call('BF.EXISTS', KEYS[1], 'a')\" 1 k");
            assert_eq!(reply, ":1");
        }
        let add = "EVAL \"return redis.pcall('BF.ADD', KEYS[1], 'b')\" 1 k";
        let refused = reading.1.ask(add);
        assert!(refused.contains("READONLY"), "{refused}");
        let expected = if kind.is_before_7() { format!("-{REFUSED}") } else { ":1".into() };
        assert_eq!(writing.1.ask(add), expected);
        assert_eq!(writing.1.ask("BF.ADD k c"), ":1");
    });
}
