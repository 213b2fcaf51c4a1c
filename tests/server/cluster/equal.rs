//! Equality of two servers: the same bytes, digests and numbers under every key.

use bloomline_harness::{Client, Setup, bulk, numbered, show, until};

use crate::inspect::without_ages;

/// A server that answers DEBUG DIGEST and accepts replicas.
pub fn setup() -> Setup {
    Setup::new().on_tcp().debug()
}

/// Settings each of which would make another filter, or none.
pub const OTHER_SETTINGS: &str = "bf-error-rate 0.1 bf-initial-size 17 bf-expansion-factor 5 \
     bf-max-filter-bytes 1 cf-initial-size 18 cf-bucket-size 5 cf-max-iterations 3 \
     cf-expansion-factor 4 cf-max-expansions 1";

/// Waits until the replica has run everything that its primary, or the primary of that, has
/// written.
pub fn catch_up(primary: &mut Client, replica: &mut Client) {
    let written = offset(primary, "master_repl_offset");
    until("the replica to be in step", || {
        let is_up = replica.info("master_link_status") == "up";
        (is_up && offset(replica, "slave_repl_offset") >= written).then_some(())
    });
}

fn offset(client: &mut Client, field: &str) -> u64 {
    client.info_number(field)
}

/// Asserts that both servers hold the same keys, and the same filter under each.
pub fn assert_equal(one: &mut Client, other: &mut Client) {
    for client in [&mut *one, &mut *other] {
        // A replica in a cluster answers only after READONLY, which has no effect elsewhere.
        client.call("READONLY");
    }
    let keys = one.keys();
    assert_eq!(keys, other.keys());
    for key in &keys {
        assert_same_filter(one, other, key);
    }
    assert_eq!(one.ask("DEBUG DIGEST"), other.ask("DEBUG DIGEST"));
}

/// Asserts that both servers hold the same filter under a key, byte for byte.
fn assert_same_filter(one: &mut Client, other: &mut Client, key: &str) {
    assert_same_digest(one, other, key);
    let dump = format!("DUMP {key}");
    // `assert_eq` would print megabytes.
    assert!(bulk(&one.call(&dump)) == bulk(&other.call(&dump)), "{key} has other bytes");
}

/// Asserts that both servers hold the same filter under a key, by everything they report without
/// moving its bits.
pub fn assert_same_digest(one: &mut Client, other: &mut Client, key: &str) {
    // Some keys hold strings, to which the commands of either family reply with the same error.
    let family = if one.ask(&format!("TYPE {key}")) == "+MBbloomCF" { "CF" } else { "BF" };
    for question in ["TYPE", "DEBUG DIGEST-VALUE", ".INFO", ".DEBUG"] {
        let prefix = if question.starts_with('.') { family } else { "" };
        let question = format!("{prefix}{question} {key}");
        // A second may pass between the two.
        let [answer, others] = [&mut *one, &mut *other].map(|it| without_ages(&it.ask(&question)));
        assert_eq!(answer, others, "{question}");
        // The reply for a type that has no digest.
        assert!(!answer.ends_with("0000000000000000"), "{question}: {answer}");
    }
}

/// Makes `count` small filters of several layers, so that saving the data set takes a while.
pub fn many_small(client: &mut Client, count: usize) {
    for i in 0..count {
        let items = numbered("small", 10 + i);
        let added = show(&client.items("BF.MADD", &format!("small:{i}"), &items));
        assert!(added.starts_with("*[:1"), "{added}");
    }
}
