//! A filter of every kind that RedisBloom has, and everything that both modules report of it.

use std::collections::BTreeMap;

use bloomline_harness::{Client, bulk, numbered, show};
use bloomline_reference::fixture::fixtures;
use redis::Value;

use crate::redisbloom::seen::{dumped, restore_all};

/// Key, arguments of BF.RESERVE, and number of items.
const FILTERS: [(&str, &str, usize); 11] = [
    ("empty", "0.01 100", 0),
    ("empty:fixed", "0.01 100 NONSCALING", 0),
    ("one:layer", "0.01 1000", 300),
    ("fixed", "0.001 500 NONSCALING", 400),
    ("full", "0.001 100 NONSCALING", 150),
    ("expansion:1", "0.01 10 EXPANSION 1", 600),
    ("expansion:2", "0.01 10", 5_000),
    ("expansion:4", "0.001 20 EXPANSION 4", 3_000),
    ("one:item", "0.01 1 EXPANSION 1", 40),
    ("tiny:rate", "1e-300 50", 120),
    ("large:rate", "0.25 1000", 2_500),
];

/// The same of cuckoo filters, with arguments of CF.RESERVE and the number of items that are
/// deleted again. Their keys begin with `cf:`.
const CUCKOO_FILTERS: [(&str, &str, usize, usize); 15] = [
    ("cf:empty", "1000", 0, 0),
    ("cf:emptied", "100", 30, 30),
    ("cf:half:full", "1000", 500, 0),
    ("cf:fixed", "1000 EXPANSION 0", 700, 100),
    ("cf:full", "100 EXPANSION 0", 200, 0),
    ("cf:expansion:1", "50 EXPANSION 1", 600, 0),
    ("cf:expansion:2", "20 EXPANSION 2", 3_000, 0),
    ("cf:expansion:4", "20 EXPANSION 4 MAXITERATIONS 1", 3_000, 0),
    ("cf:bucket:1", "300 BUCKETSIZE 1 MAXITERATIONS 500", 1_000, 50),
    ("cf:bucket:3", "300 BUCKETSIZE 3", 1_000, 0),
    ("cf:bucket:4", "300 BUCKETSIZE 4 EXPANSION 2", 1_000, 70),
    ("cf:bucket:255", "600 BUCKETSIZE 255", 2_000, 0),
    ("cf:deletions", "100 EXPANSION 1", 500, 35),
    ("cf:compacted", "50 EXPANSION 2", 1_000, 700),
    ("cf:compacted:many", "20 EXPANSION 1", 800, 40),
];

/// Filters with layers that need two chunks: slow, so only tests of chunks make them.
pub fn add_large(client: &mut Client) {
    client.ok("BF.RESERVE large 0.01 13000000");
    client.ok("CF.RESERVE cf:large 25000000");
    for key in ["large", "cf:large"] {
        insert(client, key, &items_of(key));
    }
}

/// True if the key is one of a cuckoo filter.
pub fn is_cuckoo(key: &str) -> bool {
    key.starts_with("cf:")
}

/// What the names of the commands for a key begin with.
pub fn family_of(key: &str) -> &'static str {
    if is_cuckoo(key) { "CF" } else { "BF" }
}

/// Adds items to the filter of a key.
pub fn insert(client: &mut Client, key: &str, items: &[Vec<u8>]) -> Value {
    if is_cuckoo(key) {
        return client.items("CF.INSERT", key, &[&[b"ITEMS".to_vec()], items].concat());
    }
    client.items("BF.MADD", key, items)
}

/// Deletes items of a cuckoo filter.
fn delete(client: &mut Client, key: &str, items: &[Vec<u8>]) {
    for item in items {
        let deleted = client.run(&[&b"CF.DEL"[..], key.as_bytes(), item]);
        assert_eq!(show(&deleted), ":1", "{key}");
    }
}

/// Items that no test adds.
const ABSENT: usize = 300;

/// Items whose copies in a cuckoo filter are counted.
const COUNTED: usize = 30;

/// Makes the filters of the table, one by each command that creates, and the recorded ones, among
/// which are filters that only old releases could make.
pub fn fill(client: &mut Client) {
    for (key, parameters, count) in FILTERS {
        client.ok(&format!("BF.RESERVE {key} {parameters}"));
        for items in numbered(key, count).chunks(500) {
            client.items("BF.MADD", key, items);
        }
    }
    // Releases before 8 keep such a rate. It is restored, because a file or a stream with
    // BF.RESERVE makes a filter of 0.25 in their successor and in Bloomline.
    client.ok("BF.RESERVE made 0.9 1000");
    let dump = client.call("DUMP made");
    client.run(&[&b"RESTORE"[..], b"larger:rate".as_slice(), b"0", bulk(&dump)]);
    restore_all(client, &fixtures());
    assert_eq!(client.ask("DEL made"), ":1");
    client.call("BF.ADD added a");
    client.items("BF.MADD", "added:many", &numbered("added:many", 1_000));
    client.call("BF.INSERT inserted CAPACITY 30 ERROR 0.2 EXPANSION 3 NONSCALING ITEMS a b c");
    fill_cuckoo(client);
}

fn fill_cuckoo(client: &mut Client) {
    for (key, parameters, count, deleted) in CUCKOO_FILTERS {
        client.ok(&format!("CF.RESERVE {key} {parameters}"));
        let items = numbered(key, count);
        for items in items.chunks(500) {
            insert(client, key, items);
        }
        delete(client, key, &items[..deleted]);
    }
    client.ok("CF.COMPACT cf:compacted");
    client.ok("CF.COMPACT cf:compacted:many");
    // Copies fill the two buckets of their item in every table.
    client.ok("CF.RESERVE cf:copies 100 EXPANSION 1");
    insert(client, "cf:copies", &vec![b"copy".to_vec(); 30]);
    client.call("CF.ADD cf:added a");
    client.call("CF.ADDNX cf:added:new a");
    client.call("CF.INSERT cf:inserted CAPACITY 30 ITEMS a b c a");
    client.call("CF.INSERTNX cf:inserted:new CAPACITY 8 ITEMS a b c a");
}

/// The items that [`fill`] added to a filter; for others some items.
pub fn items_of(key: &str) -> Vec<Vec<u8>> {
    let counts = FILTERS.map(|filter| (filter.0, filter.2)).into_iter();
    let mut counts = counts.chain(CUCKOO_FILTERS.map(|filter| (filter.0, filter.2)));
    numbered(key, counts.find(|filter| filter.0 == key).map_or(1_000, |filter| filter.1))
}

/// What a client sees of a value: a name of what was asked for, and the answer.
pub type Seen = Vec<(String, Vec<u8>)>;

/// Everything that both modules report of the value under a key, with all its bytes.
pub fn seen(client: &mut Client, key: &str, items: &[Vec<u8>]) -> Seen {
    let mut seen = Vec::new();
    let questions: &[&str] = if is_cuckoo(key) {
        &["TYPE", "CF.INFO", "CF.DEBUG"]
    } else {
        &["TYPE", "BF.INFO", "BF.DEBUG", "BF.CARD"]
    };
    for question in questions {
        seen.push(((*question).to_owned(), client.ask(&format!("{question} {key}")).into_bytes()));
    }
    let asked = [numbered("absent", ABSENT), items.to_vec()].concat();
    let answers = client.items(&format!("{}.MEXISTS", family_of(key)), key, &asked);
    seen.push(("answers".into(), show(&answers).into_bytes()));
    if is_cuckoo(key) {
        for item in items.iter().take(COUNTED) {
            let count = show(&client.run(&[&b"CF.COUNT"[..], key.as_bytes(), item]));
            seen.push(("count".into(), count.into_bytes()));
        }
    }
    if seen[0].1.starts_with(b"+MBbloom") {
        for (next, bytes) in chunks(client, key) {
            seen.push((format!("chunk before {next}"), bytes));
        }
    }
    seen.push(("DUMP".into(), dumped(client, key)));
    seen
}

/// The chunks of a filter; none of a cuckoo filter without items, of which RedisBloom has none.
fn chunks(client: &mut Client, key: &str) -> Vec<(i64, Vec<u8>)> {
    let mut chunks = client.chunks(key);
    if is_cuckoo(key) && chunks.first().is_some_and(|header| header.1.starts_with(&[0; 8])) {
        chunks.clear();
    }
    chunks
}

/// [`seen`] of all keys.
pub fn all_seen(client: &mut Client) -> BTreeMap<String, Seen> {
    client
        .keys()
        .into_iter()
        .map(|key| (key.clone(), seen(client, &key, &items_of(&key))))
        .collect()
}

/// Asserts that both are equal; names the first difference.
pub fn assert_same(key: &str, expected: &Seen, got: &Seen) {
    for (one, other) in expected.iter().zip(got) {
        let text = |part: &(String, Vec<u8>)| {
            format!("{}: {}", part.0, part.1[..part.1.len().min(200)].escape_ascii())
        };
        assert!(one == other, "{key}\n  {}\n  {}", text(one), text(other));
    }
    assert_eq!(expected.len(), got.len(), "{key}");
}

/// [`assert_same`] of all keys.
pub fn assert_all_same(expected: &BTreeMap<String, Seen>, got: &BTreeMap<String, Seen>) {
    assert!(expected.keys().eq(got.keys()), "{:?}\n{:?}", expected.keys(), got.keys());
    for (key, expected) in expected {
        assert_same(key, expected, &got[key]);
    }
}
