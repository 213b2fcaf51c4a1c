//! What a call does to its key: creation by the settings, a time to live, transactions.

use bloomline_harness::{Client, Setup, for_each_server};

use crate::inspect::digest;
use crate::packed::{FORMS, Form, add, answers, plain, send};

/// Settings of a missing filter. At their rates no reply of these tests is a false positive.
const SETTINGS: [&str; 4] = [
    "bf-error-rate 0.00000001",
    "bf-error-rate 0.0000001 bf-initial-size 33 bf-expansion-factor 3",
    "bf-error-rate 0.0000001 bf-initial-size 5000 bf-layout redisbloom",
    "bf-error-rate 0.0000001 bf-initial-size 20 bf-expansion-factor 0",
];

/// Items of four bytes.
fn items(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{at:04}")).collect()
}

/// What is reported of a filter, whose seed is random.
fn reported(client: &mut Client, key: &str) -> [String; 3] {
    ["BF.INFO", "BF.INFO KEY LAYOUT", "BF.INFO KEY ERROR"].map(|line| {
        let line =
            if line.contains("KEY") { line.replace("KEY", key) } else { format!("{line} {key}") };
        client.ask(&line)
    })
}

#[test]
fn a_missing_filter_is_created_by_the_settings() {
    for_each_server(|kind| {
        for settings in SETTINGS {
            let server = Setup::new().debug().module_args(settings).start(kind);
            let mut client = server.resp2();
            for form in FORMS {
                let expected = plain(&mut client, "BF.MADD", "plain", &items(20));
                assert_eq!(add(&mut client, "packed", form, &items(20)), expected, "{settings}");
                assert_eq!(reported(&mut client, "packed"), reported(&mut client, "plain"));
                assert_eq!(client.ask("DBSIZE"), ":2");
                if settings.contains("redisbloom") {
                    assert_eq!(digest(&mut client, "packed"), digest(&mut client, "plain"));
                }
                client.ok("FLUSHALL");
            }
        }
    });
}

#[test]
fn a_filter_that_is_created_too_small_ends_the_call() {
    for_each_server(|kind| {
        let settings = "bf-error-rate 0.000001 bf-initial-size 20 bf-expansion-factor 0";
        let server = Setup::new().module_args(settings).start(kind);
        let mut client = server.resp2();
        for form in FORMS {
            let reply = send(&mut client, "BF.BULKADD", "k", form, &items(30), &[]);
            let error = "-ERR non scaling filter is full".to_owned();
            assert_eq!(answers(&reply), (vec![true; 20], Some(error)), "{form:?}");
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn additions_keep_the_time_to_live() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok("BF.RESERVE k 0.01 100");
        assert_eq!(client.ask("EXPIRE k 100000"), ":1");
        add(&mut client, "k", Form::Lines, &items(500));
        let left: i64 = client.ask("TTL k").trim_start_matches(':').parse().expect("seconds");
        assert!(left > 90_000, "{left} s");
        // The key of a lookup is not created, and one that has expired is a missing one.
        assert_eq!(client.ask("PEXPIRE k -1"), ":1");
        assert_eq!(client.ask("BF.BULKEXISTS k LINES 0001"), r"*[:1 $1 \x00]");
        assert_eq!(client.ask("BF.BULKADD k LINES 0001"), r"*[:1 $1 \x80]");
        assert_eq!(client.ask("TTL k"), ":-1");
    });
}

#[test]
fn a_transaction_queues_and_replies_in_order() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok("SET text value");
        client.ok("MULTI");
        for line in [
            "BF.BULKEXISTS k FIXED 1 ab",
            "BF.BULKADD k FIXED 1 ab",
            "BF.BULKADD k FIXED 2 abc",
            "BF.BULKADD text FIXED 1 ab",
            "BF.BULKEXISTS k FIXED 1 ab COUNT",
        ] {
            assert_eq!(client.ask(line), "+QUEUED");
        }
        let width = "-ERR the data has 3 bytes, which is no multiple of 2";
        let of_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
        let expected = format!(r"*[*[:2 $1 \x00] *[:2 $1 \xc0] {width} {of_type} *[:2 :2]]");
        assert_eq!(client.ask("EXEC"), expected);
    });
}
