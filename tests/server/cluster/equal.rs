//! When two servers hold the same filters: the same bytes, digests and numbers under every key.

use redis::Value;

use bloomline_harness::{Client, Kind, Setup, bulk, show, until};

/// A server that answers DEBUG DIGEST and can be reached by replicas.
pub fn setup(kind: &Kind) -> Setup {
    let setup = Setup::new().on_tcp();
    if kind.is_before_7() { setup } else { setup.line("enable-debug-command local") }
}

/// Settings of which each would make another filter, or none at all.
pub const OTHER_SETTINGS: &str =
    "bf-error-rate 0.1 bf-initial-size 17 bf-expansion-factor 5 bf-max-filter-bytes 1";

/// Waits until the replica has run all that its primary, or the primary of that, has written by
/// now.
pub fn catch_up(primary: &mut Client, replica: &mut Client) {
    let written = offset(primary, "master_repl_offset");
    until("the replica to be in step", || {
        let is_up = replica.info("master_link_status") == "up";
        (is_up && offset(replica, "slave_repl_offset") >= written).then_some(())
    });
}

fn offset(client: &mut Client, field: &str) -> u64 {
    client.info(field).parse().expect("a number")
}

/// Asserts that both servers hold the same keys, and the same filter under each.
pub fn assert_equal(one: &mut Client, other: &mut Client) {
    for client in [&mut *one, &mut *other] {
        // The replica of a cluster's node answers only after this; elsewhere it means nothing.
        client.call("READONLY");
    }
    let keys = keys(one);
    assert_eq!(keys, self::keys(other));
    for key in &keys {
        assert_same_filter(one, other, key);
    }
    assert_eq!(one.ask("DEBUG DIGEST"), other.ask("DEBUG DIGEST"));
}

/// Asserts that both servers hold the same filter under a key, byte for byte.
fn assert_same_filter(one: &mut Client, other: &mut Client, key: &str) {
    assert_same_digest(one, other, key);
    let dump = format!("DUMP {key}");
    // Not compared by assert_eq: that would print megabytes.
    assert!(bulk(&one.call(&dump)) == bulk(&other.call(&dump)), "{key} has other bytes");
}

/// Asserts that both servers hold the same filter under a key, by all that can be told without
/// moving its bits.
pub fn assert_same_digest(one: &mut Client, other: &mut Client, key: &str) {
    for question in ["TYPE", "BF.INFO", "BF.DEBUG", "DEBUG DIGEST-VALUE"] {
        let question = format!("{question} {key}");
        let answer = one.ask(&question);
        assert_eq!(answer, other.ask(&question), "{question}");
        // What a server answers for a type that has no digest.
        assert!(!answer.ends_with("0000000000000000"), "{question}: {answer}");
    }
}

fn keys(client: &mut Client) -> Vec<String> {
    let Value::Array(keys) = client.call("KEYS *") else { panic!("no keys") };
    let mut keys: Vec<String> =
        keys.iter().map(|key| String::from_utf8_lossy(bulk(key)).into()).collect();
    keys.sort();
    keys
}

/// Makes `count` small filters of several layers, for a data set that takes its time to be saved.
pub fn many_small(client: &mut Client, count: usize) {
    for i in 0..count {
        let items = bloomline_harness::numbered("small", 10 + i);
        let added = show(&client.items("BF.MADD", &format!("small:{i}"), &items));
        assert!(added.starts_with("*[:1"), "{added}");
    }
}
