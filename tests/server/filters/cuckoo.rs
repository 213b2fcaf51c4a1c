//! The kinds of cuckoo filters.

use std::ops::Range;

use bloomline_harness::{Client, Setup, show};

use super::{Family, Filter, SEED, Step};

fn filter(key: &str, options: &str, present: Range<usize>, steps: &[Step]) -> Filter {
    Filter {
        key: format!("cuckoo:{key}"),
        family: Family::Cuckoo,
        options: format!("{options} {SEED}"),
        present,
        steps: steps.to_vec(),
    }
}

/// A filter in RedisBloom's layout.
fn classic(key: &str, options: &str, present: Range<usize>, steps: &[Step]) -> Filter {
    let options = format!("{options} LAYOUT REDISBLOOM");
    Filter { options, ..filter(&format!("classic:{key}"), "", present, steps) }
}

/// All kinds of cuckoo filters.
pub fn all() -> Vec<Filter> {
    use Step::{Add, AddBinary, Compact, Delete, KeepHeader, Repeat};
    vec![
        filter("empty", "100", 0..0, &[]),
        filter("half", "512", 0..256, &[Add(0..256)]),
        filter("full", "64 EXPANSION 0", 0..64, &[Add(0..200)]),
        filter("grown", "16", 0..3000, &[Add(0..3000)]),
        filter("draining", "100", 0..205, &[Add(0..205)]),
        filter("exact", "100 ERROR 0.00002", 0..300, &[Add(0..300)]),
        filter("copies", "8", 0..100, &[Add(0..100), Repeat(100)]),
        filter("deleted", "16", 0..500, &[Add(0..3000), Delete(500..3000)]),
        filter("compacted", "16", 0..500, &[Add(0..3000), Delete(500..3000), Compact]),
        filter("binary", "200", 0..0, &[AddBinary]),
        filter("half:loaded", "64", 0..0, &[Add(0..300), KeepHeader]),
        classic("empty", "100", 0..0, &[]),
        classic("full", "64 EXPANSION 0", 0..0, &[Add(0..200)]),
        classic("grown", "16 EXPANSION 2", 0..1000, &[Add(0..1000)]),
        classic("bucket:3", "100 BUCKETSIZE 3", 0..300, &[Add(0..300)]),
        classic("bucket:255", "510 BUCKETSIZE 255", 0..900, &[Add(0..900)]),
        classic("deleted", "64", 0..500, &[Add(0..1000), Delete(500..1000)]),
        classic("compacted", "64", 0..960, &[Add(0..1000), Delete(960..1000), Compact]),
        classic("copies", "8", 0..1, &[Repeat(100)]),
        classic("half:loaded", "64", 0..0, &[Add(0..300), KeepHeader]),
    ]
}

/// Filters whose tables need several chunks: one of more than 16 MiB, and smaller ones.
pub fn large() -> Vec<Filter> {
    let steps = [Step::Add(0..3000), Step::Repeat(4)];
    vec![
        filter("large", "20000000", 0..3000, &steps),
        classic("large", "20000000", 0..3000, &steps),
    ]
}

/// Deletes items that were added.
pub fn delete(client: &mut Client, key: &str, items: &[Vec<u8>]) {
    let reply = show(&client.items("CF.MDEL", key, items));
    assert!(!reply.contains(":0"), "{key}: {reply}");
}

/// Asserts that each filter has what its name says.
pub fn assert_as_named(client: &mut Client) {
    for (key, tables) in [
        ("grown", 2..6),
        ("draining", 2..4),
        ("classic:grown", 5..10),
        ("classic:bucket:3", 2..32),
        ("classic:bucket:255", 1..10),
        ("classic:deleted", 6..10),
        ("classic:compacted", 10..32),
        ("classic:copies", 25..26),
    ] {
        let found = number(client, &format!("cuckoo:{key}"), "filters");
        assert!(tables.contains(&found), "{key} has {found} tables");
    }
    for key in ["full", "classic:full"] {
        assert_eq!(client.ask(&format!("CF.ADD cuckoo:{key} more")), "-Filter is full");
    }
    for (key, deletes) in [("deleted", 2500), ("compacted", 0), ("classic:compacted", 0)] {
        assert_eq!(number(client, &format!("cuckoo:{key}"), "deletes"), deletes, "{key}");
    }
    for (key, copies) in [("copies", 101), ("classic:copies", 100)] {
        assert_eq!(client.ask(&format!("CF.COUNT cuckoo:{key} item:0")), format!(":{copies}"));
    }
    assert_eq!(client.ask("CF.EXISTS cuckoo:binary \"\""), ":1");
}

/// A server whose cuckoo filters get RedisBloom's layout.
pub fn classic_setup() -> Setup {
    Setup::new().module_args("cf-layout redisbloom")
}

/// A number of CF.DEBUG.
pub fn number(client: &mut Client, key: &str, name: &str) -> u64 {
    let debug = client.ask(&format!("CF.DEBUG {key}"));
    let found = debug.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix(':'));
    found.and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("no {name} in {debug}"))
}
