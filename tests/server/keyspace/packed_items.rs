//! Packed items that create their filter: by the settings of the server.

use bloomline_harness::{Client, Setup, for_each_server};

use crate::inspect::digest;
use crate::packed::{FORMS, add, answers, plain, send};

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
