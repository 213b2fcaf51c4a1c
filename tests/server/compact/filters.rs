//! Compacted filters of every kind, and everything that a client can see of them.

use bloomline_harness::{Client, int, numbered, show};

use crate::inspect::digest;
use crate::windows::fixture::age;

/// A filter of these tests.
pub struct Kept {
    /// The key.
    pub key: &'static str,
    /// The arguments of BF.RESERVE after the key.
    options: &'static str,
    /// The items that are added.
    items: usize,
    /// Generations in which the items are, in equal parts; 1 if the filter forgets nothing.
    parts: usize,
}

/// A filter of each kind that can become smaller.
///
/// In RedisBloom's layout the filters have 10,080 words, a number with many divisors.
pub const FILTERS: [Kept; 10] = [
    kept("scaling", "0.001 1000", 4000, 1),
    kept("sized", "0.001 50000", 5000, 1),
    kept("empty", "0.001 50000", 0, 1),
    kept("fixed", "0.001 50000 NONSCALING", 20_000, 1),
    kept("classic", "0.001 40778 LAYOUT redisbloom", 5000, 1),
    kept("classic:grown", "0.001 1000 LAYOUT redisbloom", 4000, 1),
    kept("classic:fixed", "0.001 44869 NONSCALING LAYOUT redisbloom", 5000, 1),
    kept("hand", "0.001 50000 GENERATIONS 8", 4000, 4),
    kept("hand:fixed", "0.001 50000 GENERATIONS 8 NONSCALING NOREFRESH", 4000, 4),
    kept("window", "0.001 50000 WINDOW 8000000", 4000, 4),
];

const fn kept(key: &'static str, options: &'static str, items: usize, parts: usize) -> Kept {
    Kept { key, options, items, parts }
}

impl Kept {
    /// The items that were added.
    pub fn items(&self) -> Vec<Vec<u8>> {
        numbered("item", self.items)
    }

    /// Creates the filter and adds its items.
    pub fn make(&self, client: &mut Client) {
        client.ok(&format!("BF.RESERVE {} {}", self.key, self.options));
        for part in self.items().chunks((self.items / self.parts).max(1)) {
            client.items("BF.MADD", self.key, part);
            if self.key.starts_with("hand") {
                client.ok(&format!("BF.ROTATE {}", self.key));
            } else if self.key == "window" {
                age(client, self.key, 1_000_000_000);
            }
        }
    }
}

/// Makes all filters.
pub fn make_all(client: &mut Client) {
    FILTERS.iter().for_each(|filter| filter.make(client));
}

/// Makes all filters, and compacts them.
pub fn compact_all(client: &mut Client) {
    make_all(client);
    for filter in &FILTERS {
        assert!(compact(client, filter.key) > 0, "{} was not compacted", filter.key);
    }
}

/// Makes, compacts, fills and compacts all filters; all of them have grown, but fixed ones.
pub fn compact_all_twice(client: &mut Client) {
    compact_all(client);
    for filter in &FILTERS {
        for _ in 0..2 {
            client.items("BF.MADD", filter.key, &numbered("later", 3000));
            rotate(client, filter.key);
        }
        compact(client, filter.key);
    }
}

fn rotate(client: &mut Client, key: &str) {
    if key.starts_with("hand") {
        client.ok(&format!("BF.ROTATE {key}"));
    }
}

/// Runs BF.COMPACT, and returns the number of bytes.
pub fn compact(client: &mut Client, key: &str) -> u64 {
    int(&client.call(&format!("BF.COMPACT {key}"))).try_into().expect("bytes")
}

/// Everything that a client can see of a filter, but the age of its generations.
pub fn observe(client: &mut Client, key: &str) -> Vec<String> {
    let debug = client.ask(&format!("BF.DEBUG {key}"));
    let is_ageless = |word: &&str| !word.starts_with("age:");
    let debug: Vec<&str> = debug.split([' ', ']']).filter(is_ageless).collect();
    let mut seen = vec![
        digest(client, key),
        client.ask(&format!("TYPE {key}")),
        client.ask(&format!("BF.INFO {key}")),
        client.ask(&format!("BF.CARD {key}")),
        // The length of a line of BF.DEBUG stands before it, and depends on the age.
        debug.iter().filter(|word| !word.starts_with('$')).copied().collect::<Vec<_>>().join(" "),
    ];
    for field in ["LAYOUT", "ERROR", "FILL", "FPRATE", "GENERATIONS", "OLDEST", "NEWEST"] {
        seen.push(client.ask(&format!("BF.INFO {key} {field}")));
    }
    seen.push(client.ask(&format!("BF.INFO {key} ESTIMATE")));
    for (name, count) in [("item", 1000), ("later", 1000), ("absent", 1000)] {
        seen.push(show(&client.items("BF.MEXISTS", key, &numbered(name, count))));
    }
    seen
}

/// What [`observe`] returns for all filters.
pub fn observe_all(client: &mut Client) -> Vec<Vec<String>> {
    FILTERS.iter().map(|filter| observe(client, filter.key)).collect()
}

/// Asserts that no filter has lost an item that it must still contain.
pub fn assert_nothing_lost(client: &mut Client) {
    for filter in FILTERS.iter().filter(|filter| filter.items > 0) {
        let found = show(&client.items("BF.MEXISTS", filter.key, &filter.items()));
        assert!(!found.contains(":0"), "{} lost an item", filter.key);
    }
}

/// Adds items to all filters, compacts them again, and returns all replies.
pub fn use_all(client: &mut Client) -> Vec<String> {
    let mut replies = Vec::new();
    for filter in &FILTERS {
        let key = filter.key;
        replies.push(show(&client.items("BF.MADD", key, &numbered("used", 500))));
        rotate(client, key);
        replies.push(client.ask(&format!("BF.COMPACT {key}")));
        replies.push(client.ask(&format!("BF.INFO {key}")));
    }
    replies
}
