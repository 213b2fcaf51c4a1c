//! The totals of INFO follow filters that grow, rotate, shrink and are deleted.

use bloomline_harness::{Client, Setup, numbered, until};

use crate::inspect::{Totals, number, sum_of_infos, totals};
use crate::windowed::{RATE, age, restore};

const SLOT: u64 = 1_000_000_000;
const KEYS: [&str; 4] = ["window", "last", "hand", "plain"];

/// Filters of each kind with several generations, some with overflow layers.
fn build(client: &mut Client) {
    client.ok(&format!("BF.RESERVE window {RATE} 80 WINDOW 8000000 GENERATIONS 8"));
    client.ok(&format!("BF.RESERVE last {RATE} 80 LAST GENERATIONS 8"));
    client.ok(&format!("BF.RESERVE hand {RATE} 80 GENERATIONS 4"));
    client.ok(&format!("BF.RESERVE plain {RATE} 80"));
    for batch in numbered("item", 200).chunks(50) {
        for key in KEYS {
            client.items("BF.MADD", key, batch);
        }
        client.ok("BF.ROTATE hand");
        age(client, "window", SLOT);
    }
    // Refreshed items.
    for key in KEYS {
        client.items("BF.MADD", key, &numbered("item", 200)[100..]);
    }
}

fn windowed(client: &mut Client) -> (u64, u64) {
    (number(client, "filters_windowed"), number(client, "filters_bloomline"))
}

/// Generations that were opened and dropped.
fn counts(client: &mut Client) -> (u64, u64) {
    (number(client, "rotations"), number(client, "generations_dropped"))
}

fn assert_sums(client: &mut Client, keys: &[&str], after: &str) {
    let expected = sum_of_infos(client, keys);
    until(&format!("the totals to be {expected:?} after {after}"), || {
        (totals(client) == expected).then_some(())
    });
}

#[test]
fn totals_are_the_sum_after_every_change() {
    Setup::new().on_each_server(|mut client, _| {
        build(&mut client);
        assert_sums(&mut client, &KEYS, "additions");
        assert_eq!(windowed(&mut client), (3, 4));
        for _ in 0..6 {
            client.ok("BF.ROTATE hand");
            client.items("BF.MADD", "last", &numbered("other", 30));
            assert_sums(&mut client, &KEYS, "rotations");
        }
        // Expired items are no longer in BF.INFO ITEMS, but are in the total until they are dropped.
        age(&mut client, "window", 100 * SLOT);
        assert_eq!(client.ask("BF.ADD window new"), ":1");
        assert_sums(&mut client, &KEYS, "the window");
        assert_eq!(client.ask("COPY hand copied"), ":1");
        let dump = client.call("DUMP last");
        restore(&mut client, "restored", &dump);
        client.copy_by_chunks("window", "loaded");
        assert_eq!(windowed(&mut client), (6, 7));
        let all = [&KEYS[..], &["copied", "restored", "loaded"]].concat();
        assert_sums(&mut client, &all, "copies");
        for key in ["copied", "restored", "loaded"] {
            client.items("BF.MADD", key, &numbered("more", 300));
            assert_sums(&mut client, &all, "additions to copies");
        }
    });
}

#[test]
fn totals_return_to_zero() {
    Setup::new().debug().on_each_server(|mut client, _| {
        for line in [
            "DEL window last hand plain",
            "UNLINK window last hand plain",
            "FLUSHALL SYNC",
            "FLUSHALL ASYNC",
            "FLUSHDB ASYNC",
            "MSET window 1 last 2 hand 3 plain 4",
        ] {
            build(&mut client);
            client.ok("DEBUG RELOAD");
            assert_sums(&mut client, &KEYS, "a reload");
            client.call(line);
            until(&format!("the totals to be 0 after {line}"), || {
                (totals(&mut client) == Totals::default()).then_some(())
            });
            assert_eq!(windowed(&mut client), (0, 0), "{line}");
            client.ok("FLUSHALL SYNC");
        }
    });
}

#[test]
fn rotations_are_counted() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok(&format!("BF.RESERVE hand {RATE} 80 GENERATIONS 4"));
        client.ok(&format!("BF.RESERVE last {RATE} 80 LAST GENERATIONS 8"));
        assert_eq!(counts(&mut client), (0, 0));
        for _ in 0..6 {
            client.ok("BF.ROTATE hand");
        }
        assert_eq!(counts(&mut client), (6, 2));
        // One call opens many generations of ten items: the last one is full.
        client.items("BF.MADD", "last", &numbered("item", 200));
        assert_eq!(counts(&mut client), (6 + 19, 2 + 11));
        // Deleted filters and their copies drop no generation.
        assert_eq!(client.ask("COPY last copied"), ":1");
        client.ok("FLUSHALL SYNC");
        assert_eq!(counts(&mut client), (25, 13));
    });
}

#[test]
fn overflow_layers_do_not_count_as_added_twice() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok(&format!("BF.RESERVE hand {RATE} 80 GENERATIONS 4"));
        client.items("BF.MADD", "hand", &numbered("item", 100));
        let layers = sum_of_infos(&mut client, &["hand"]).layers;
        assert!(layers > 1);
        assert_eq!(totals(&mut client), sum_of_infos(&mut client, &["hand"]));
    });
}
