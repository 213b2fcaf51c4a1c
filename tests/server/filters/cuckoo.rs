//! The kinds of cuckoo filters.

use std::ops::Range;

use bloomline_harness::{Client, show};

use super::{Family, Filter, Step};

fn filter(key: &str, options: &str, present: Range<usize>, steps: &[Step]) -> Filter {
    Filter {
        key: format!("cuckoo:{key}"),
        family: Family::Cuckoo,
        options: options.to_owned(),
        present,
        steps: steps.to_vec(),
    }
}

/// All kinds of cuckoo filters.
pub fn all() -> Vec<Filter> {
    use Step::{Add, AddBinary, Compact, Delete, KeepHeader, Repeat};
    vec![
        filter("empty", "100", 0..0, &[]),
        filter("half", "512", 0..256, &[Add(0..256)]),
        filter("full", "64 EXPANSION 0", 0..0, &[Add(0..200)]),
        filter("grown:1", "64", 0..1000, &[Add(0..1000)]),
        filter("grown:2", "16 EXPANSION 2", 0..1000, &[Add(0..1000)]),
        filter("grown:4", "16 EXPANSION 4", 0..1000, &[Add(0..1000)]),
        filter("bucket:1", "300 BUCKETSIZE 1", 0..300, &[Add(0..300)]),
        filter("bucket:3", "100 BUCKETSIZE 3", 0..300, &[Add(0..300)]),
        filter("bucket:4", "300 BUCKETSIZE 4", 0..300, &[Add(0..300)]),
        filter("bucket:255", "510 BUCKETSIZE 255", 0..900, &[Add(0..900)]),
        filter("restless", "64 MAXITERATIONS 65535 EXPANSION 2", 0..300, &[Add(0..300)]),
        filter("deleted", "512", 100..300, &[Add(0..300), Delete(0..100)]),
        filter("grown:deleted", "64", 0..500, &[Add(0..1000), Delete(500..1000)]),
        filter("compacted", "64", 0..960, &[Add(0..1000), Delete(960..1000), Compact]),
        filter("emptied", "64", 0..0, &[Add(0..300), Delete(0..300), Compact]),
        filter("repeated", "8", 0..1, &[Repeat(100)]),
        filter("binary", "200 EXPANSION 2", 0..0, &[AddBinary]),
        filter("half:loaded", "64", 0..0, &[Add(0..300), KeepHeader]),
    ]
}

/// A filter whose tables need several chunks: one of more than 16 MiB, and smaller ones.
pub fn large() -> Filter {
    filter("large", "20000000", 0..3000, &[Step::Add(0..3000), Step::Repeat(4)])
}

/// Deletes items that were added.
pub fn delete(client: &mut Client, key: &str, items: &[Vec<u8>]) {
    let reply = show(&client.items("CF.MDEL", key, items));
    assert!(!reply.contains(":0"), "{key}: {reply}");
}

/// Asserts that each filter has what its name says.
pub fn assert_as_named(client: &mut Client) {
    for (key, tables) in [
        ("grown:1", 12..32),
        ("grown:2", 5..10),
        ("grown:4", 4..7),
        ("bucket:1", 1..32),
        ("bucket:3", 2..32),
        ("bucket:255", 1..10),
        ("grown:deleted", 6..10),
        ("compacted", 10..32),
        ("emptied", 1..2),
        ("repeated", 25..26),
    ] {
        let found = number(client, &format!("cuckoo:{key}"), "filters");
        assert!(tables.contains(&found), "{key} has {found} tables");
    }
    assert_eq!(client.ask("CF.ADD cuckoo:full more"), "-Filter is full");
    for (key, deletes) in [("deleted", 100), ("compacted", 0), ("emptied", 0)] {
        assert_eq!(number(client, &format!("cuckoo:{key}"), "deletes"), deletes, "{key}");
    }
    assert_eq!(client.ask("CF.COUNT cuckoo:repeated item:0"), ":100");
    assert_eq!(client.ask("CF.EXISTS cuckoo:binary \"\""), ":1");
}

/// A number of CF.DEBUG.
pub fn number(client: &mut Client, key: &str, name: &str) -> u64 {
    let debug = client.ask(&format!("CF.DEBUG {key}"));
    let found = debug.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
    found.and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("no {name} in {debug}"))
}
