//! The totals in INFO: the sum over all filters, after every kind of change and deletion. The lives
//! of `life` compare them after each of their operations as well.

use bloomline_core::host::AnyFilter;
use bloomline_harness::{Client, Setup, Stop, numbered, until};

use crate::cluster::equal::{OTHER_SETTINGS, catch_up, setup};
use crate::filters::{Family, Filter, build_all, change_all, cuckoo_number};
use crate::inspect::{info_field, number, numbers, only_number};
use crate::windowed::{RATE, age, header};

const FIELDS: [&str; 13] = [
    "filters",
    "layers",
    "items",
    "capacity",
    "bytes",
    "filters_windowed",
    "filters_bloomline",
    "filters_valkey_bloom",
    "cf_filters",
    "cf_tables",
    "cf_items",
    "cf_filters_bloomline",
    "cf_bytes",
];

/// The totals in the order of [`FIELDS`].
type Totals = [u64; FIELDS.len()];

fn totals(client: &mut Client) -> Totals {
    numbers(client, FIELDS)
}

/// The sum of what the filters under these keys report.
fn sum(client: &mut Client, keys: &[String]) -> Totals {
    let mut sum: Totals = [0; FIELDS.len()];
    for key in keys {
        let family = Family::of(client, key);
        let layout = client.ask(&match family {
            Family::Bloom => format!("BF.STATS {key} layout"),
            Family::Cuckoo => format!("CF.INFO {key} LAYOUT"),
        });
        let [is_own, is_valkeys] =
            ["bloomline", "valkey-bloom"].map(|name| layout.contains(&format!(" {name}")).into());
        let (start, numbers) = match family {
            Family::Bloom => {
                let has_window = client.ask(&format!("BF.STATS {key} window")) != "*[$6 window _]";
                let [mut layers, mut items, mut capacity, bytes] =
                    ["FILTERS", "ITEMS", "CAPACITY", "SIZE"].map(|it| info_field(client, key, it));
                if has_window {
                    [layers, items, capacity] = stored(client, key);
                }
                let numbers =
                    [1, layers, items, capacity, bytes, has_window.into(), is_own, is_valkeys];
                (0, numbers.to_vec())
            }
            Family::Cuckoo => {
                let [tables, items] =
                    ["filters", "items"].map(|name| cuckoo_number(client, key, name));
                let size = only_number(client, &format!("CF.INFO {key} SIZE"));
                let besides = if is_own == 1 { 0 } else { bytes_besides_size(client, key) };
                (8, vec![1, tables, items, is_own, size + besides])
            }
        };
        let numbers = sum[start..].iter_mut().zip(numbers);
        // As the module adds them: a loaded header may claim any number of items.
        numbers.for_each(|(sum, number)| *sum = sum.wrapping_add(number));
    }
    sum
}

/// Layers, items and capacity of a windowed filter with those of expired generations, which are in
/// the totals until they are dropped.
fn stored(client: &mut Client, key: &str) -> [u64; 3] {
    let filter = AnyFilter::decode_header(&header(client, key), &mut |_| true);
    let filter = filter.expect("the header of a filter");
    [filter.layer_count().into(), filter.len(), filter.capacity()]
}

/// What a cuckoo filter in RedisBloom's layout takes besides `Size` of CF.INFO: 8 bytes for each
/// table, and those that its slots lack to whole words.
fn bytes_besides_size(client: &mut Client, key: &str) -> u64 {
    let [buckets, slots, tables, expansion] =
        ["buckets", "bktsize", "filters", "expansion"].map(|name| cuckoo_number(client, key, name));
    let slots = (0..tables).map(|table| buckets * slots * expansion.pow(table as u32));
    let padding: u64 = slots.map(|slots| slots.next_multiple_of(8) - slots).sum();
    8 * tables + padding
}

/// Asserts that the totals become those of the filters in the server's database, in RESP2.
pub fn assert_totals_of_all(client: &mut Client, after: &str) {
    let mut keys = client.keys();
    keys.retain(|key| client.ask(&format!("TYPE {key}")).contains("bloom"));
    assert_totals(client, &keys, after);
}

/// Asserts that the totals become those of the filters under these keys: the server may free others
/// in the background.
fn assert_totals(client: &mut Client, keys: &[String], after: &str) {
    let expected = sum(client, keys);
    until(&format!("the totals to be {expected:?} after {after}"), || {
        (totals(client) == expected).then_some(())
    });
}

fn keys_of(filters: &[Filter]) -> Vec<String> {
    filters.iter().map(|filter| filter.key.clone()).collect()
}

#[test]
fn totals_are_the_sum_over_filters_of_every_kind() {
    for (setup, stop) in
        [(Setup::new().debug(), Stop::Save), (Setup::new().debug().append_only(), Stop::NoSave)]
    {
        setup.on_each_server(|mut client, mut server| {
            assert_totals(&mut client, &[], "the start");
            let filters = build_all(&mut client);
            change_all(&mut client, &filters);
            let keys = keys_of(&filters);
            assert_totals(&mut client, &keys, "additions, rotations, merges, deletions");
            client.ok("DEBUG RELOAD");
            assert_totals(&mut client, &keys, "a reload");
            let before = totals(&mut client);
            server.restart(stop);
            let mut client = server.resp2();
            assert_eq!(totals(&mut client), before, "after a restart");

            let mut all = keys.clone();
            for key in &keys {
                let [copied, restored, loaded] =
                    ["copied", "restored", "loaded"].map(|way| format!("{way}:{key}"));
                assert_eq!(client.ask(&format!("COPY {key} {copied}")), ":1");
                let dump = client.dump(key);
                assert_eq!(client.restore(&restored, &dump), "+OK");
                client.copy_by_chunks(key, &loaded);
                all.extend([copied, restored, loaded]);
            }
            assert_totals(&mut client, &all, "copies");
            client.ok("CF.RESERVE roomy 100000");
            let bytes = number(&mut client, "cf_bytes");
            client.ok("CF.COMPACT roomy");
            assert!(number(&mut client, "cf_bytes") < bytes, "{bytes}");
        });
    }
}

#[test]
fn totals_decrease_with_every_kind_of_deletion() {
    Setup::new().on_each_server(|mut client, _| {
        let filters = build_all(&mut client);
        // What has expired is in the total until it is dropped, but in no filter's number.
        change_all(&mut client, &filters);
        let keys = keys_of(&filters);
        let dumps: Vec<Vec<u8>> = keys.iter().map(|key| client.dump(key)).collect();
        client.ok("FLUSHALL SYNC");
        let joined = keys.join(" ");
        let (values, one) = (keys.join(" 1 "), &keys[0]);
        for line in [
            &format!("DEL {joined}"),
            &format!("UNLINK {joined}"),
            "FLUSHALL SYNC",
            "FLUSHALL ASYNC",
            "FLUSHDB ASYNC",
            &format!("MSET {values} 1"),
            "EXPIRE",
        ] {
            for (key, dump) in keys.iter().zip(&dumps) {
                assert_eq!(client.restore(key, dump), "+OK", "{key}");
            }
            assert_totals(&mut client, &keys, "RESTORE");
            if line == "EXPIRE" {
                // An expired key is deleted at the latest when a command accesses it.
                for key in &keys {
                    assert_eq!(client.ask(&format!("PEXPIRE {key} 1")), ":1");
                }
                let question = format!("EXISTS {joined}");
                until("the keys to expire", || (client.ask(&question) == ":0").then_some(()));
            }
            client.call(line);
            assert_totals(&mut client, &[], line);
            client.ok("FLUSHALL SYNC");
        }
        // Filters that are replaced, by one of the same kind and of others.
        for (key, dump) in keys.iter().zip(&dumps) {
            assert_eq!(client.restore(one, &dumps[0]), "+OK");
            client.run(&[&b"RESTORE"[..], one.as_bytes(), b"0", dump, b"REPLACE"]);
            assert_totals(&mut client, &keys[..1], key);
            assert_eq!(client.restore("other", &dumps[1]), "+OK");
            client.ok(&format!("RENAME {one} other"));
            assert_totals(&mut client, &["other".to_owned()], "RENAME");
            assert_eq!(client.ask(&format!("COPY other {one}")), ":1");
            assert_eq!(client.ask(&format!("COPY {one} other REPLACE")), ":1");
            assert_totals(&mut client, &[one.clone(), "other".to_owned()], "COPY");
            assert_eq!(client.ask("MOVE other 1"), ":1");
            let expected = totals(&mut client);
            client.ok("SWAPDB 0 1");
            assert_eq!(totals(&mut client), expected);
            client.ok("FLUSHALL SYNC");
        }
    });
}

#[test]
fn a_full_sync_gives_the_replica_the_primarys_totals() {
    for load in ["disabled", "swapdb"] {
        setup().line("repl-diskless-sync yes").on_each_server(|mut client, primary| {
            let replica = setup()
                .module_args(OTHER_SETTINGS.replace("bf-max-filter-bytes 1 ", "").as_str())
                .line(format!("repl-diskless-load {load}"))
                .start(&primary.kind);
            let mut other = replica.resp2();
            build_all(&mut client);
            // The replica's own filters are deleted by the synchronisation.
            other.items("BF.MADD", "one", &numbered("more", 1000));
            other.items("CF.INSERT", "two", &["ITEMS", "a", "b"]);
            other.ok(&format!("REPLICAOF 127.0.0.1 {}", primary.port));
            catch_up(&mut client, &mut other);
            let expected = totals(&mut client);
            until("the totals to equal the primary's", || {
                (totals(&mut other) == expected).then_some(())
            });
        });
    }
}

#[test]
fn rotations_are_counted() {
    /// Generations that were opened and dropped.
    fn counts(client: &mut Client) -> (u64, u64) {
        (number(client, "rotations"), number(client, "generations_dropped"))
    }
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
        // Expired items are in the total until they are dropped.
        client.ok(&format!("BF.RESERVE window {RATE} 80 WINDOW 8000000 GENERATIONS 8"));
        client.items("BF.MADD", "window", &numbered("item", 50));
        age(&mut client, "window", 100_000_000_000);
        assert_eq!(client.ask("BF.INFO window ITEMS"), "*[:0]");
        assert_eq!(number(&mut client, "items"), 50);
        assert_eq!(client.ask("BF.ADD window new"), ":1");
        assert_totals(&mut client, &["window".to_owned()], "the window");
    });
}
