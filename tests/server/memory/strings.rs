//! Filters alternating with strings of the same size, and what must hold for both.
//!
//! An allocator places blocks of one size consecutively. The strings contain no zero byte, so a
//! byte that was zeroed or moved is detected.

use std::ops::Range;

use bloomline_harness::{Client, Random, numbered, show};

/// Bytes that the server adds to a string: header and final zero.
const STRING_OVERHEAD: usize = 10;
/// Our own layout allocates one page more than its bits, so that they begin on a page.
const PAGE: usize = 4096;

/// The capacity of a filter and its layout.
pub type Shape = (usize, &'static str);

/// Capacities of the filters at an error rate of 0.01. In RedisBloom's layout, the bits of the
/// first four fill 1, 1.25, 2 and 2.5 MiB except for a few words. These are size classes of
/// jemalloc.
const CAPACITIES: [usize; 6] = [875_175, 1_093_969, 1_750_350, 2_187_938, 60_000, 5_000];

/// Every shape: each capacity in each layout.
pub fn shapes() -> impl Iterator<Item = Shape> {
    CAPACITIES
        .into_iter()
        .flat_map(|capacity| ["redisbloom", "bloomline"].map(|layout| (capacity, layout)))
}

/// Filters, and strings next to them.
pub struct Neighbours {
    filters: Vec<(String, Vec<Vec<u8>>)>,
    strings: Vec<(String, Range<usize>)>,
    /// The bytes from which strings are cut.
    bytes: Vec<u8>,
}

impl Neighbours {
    /// No filters and no strings yet.
    pub fn new() -> Self {
        let mut random = Random(5);
        let word = |_| (random.next() | 0x0101_0101_0101_0101).to_le_bytes();
        Self {
            filters: Vec::new(),
            strings: Vec::new(),
            bytes: (0..1 << 19).flat_map(word).collect(),
        }
    }

    /// The keys of the filters.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.filters.iter().map(|(key, _)| key.as_str())
    }

    /// Makes `copies` filters of each shape with this number of items, each followed by a string.
    pub fn make(
        &mut self,
        client: &mut Client,
        shapes: impl Iterator<Item = Shape>,
        copies: usize,
        items: usize,
    ) {
        for (capacity, layout) in shapes {
            for copy in 0..copies {
                let key = format!("{layout}:{capacity}:{copy}");
                client.ok(&format!("BF.RESERVE {key} 0.01 {capacity} NONSCALING LAYOUT {layout}"));
                let items = numbered(&key, items.min(capacity / 2));
                for batch in items.chunks(1000) {
                    client.items("BF.MADD", &key, batch);
                }
                self.add(client, &key, items);
            }
        }
    }

    /// Adds a filter that was just made, and sets a string of its size.
    pub fn add(&mut self, client: &mut Client, key: &str, items: Vec<Vec<u8>>) {
        self.filters.push((key.to_owned(), items));
        self.set_string(client, key);
    }

    /// Adds a filter that was just copied from another one, and sets a string of its size.
    pub fn add_copy(&mut self, client: &mut Client, of: &str, key: &str) {
        let original = self.filters.iter().find(|(filter, _)| filter == of);
        let items = original.expect("a filter that was made").1.clone();
        self.add(client, key, items);
    }

    /// Sets a string as large as the newest layer of a filter.
    fn set_string(&mut self, client: &mut Client, filter: &str) {
        let page = if client.ask(&format!("BF.INFO {filter} LAYOUT")).contains("bloomline") {
            PAGE
        } else {
            0
        };
        let block = newest_layer(client, filter) + page;
        let start = self.strings.len() * 64 % PAGE;
        let range = start..start + block - STRING_OVERHEAD;
        let key = format!("string:{filter}");
        assert_eq!(show(&client.run(&[b"SET", key.as_bytes(), &self.bytes[range.clone()]])), "+OK");
        self.strings.push((key, range));
    }

    /// Deletes everything on the server and here.
    pub fn flush(&mut self, client: &mut Client) {
        client.ok("FLUSHALL SYNC");
        self.filters.clear();
        self.strings.clear();
    }

    /// Deletes every second filter, alternately by DEL and UNLINK, and waits until they are freed.
    pub fn delete_every_second(&mut self, client: &mut Client) {
        let mut index = 0;
        self.filters.retain(|(key, _)| {
            index += 1;
            if index % 2 == 0 {
                let command = if index % 4 == 0 { "UNLINK" } else { "DEL" };
                assert_eq!(client.ask(&format!("{command} {key}")), ":1");
            }
            index % 2 != 0
        });
        client.wait_for_frees();
    }

    /// Asserts that every string is unchanged and that every filter has all its items.
    pub fn assert_whole(&self, client: &mut Client, after: &str) {
        let mut damaged = Vec::new();
        for (key, range) in &self.strings {
            let redis::Value::BulkString(bytes) = client.run(&["GET", key]) else {
                panic!("no {key}")
            };
            if bytes != self.bytes[range.clone()] {
                let zeros = bytes.iter().filter(|byte| **byte == 0).count();
                damaged.push(format!(
                    "{key}: {} of {} bytes, {zeros} zeros",
                    bytes.len(),
                    range.len()
                ));
            }
        }
        for (key, items) in &self.filters {
            let found =
                items.chunks(1000).map(|batch| show(&client.items("BF.MEXISTS", key, batch)));
            let missing: usize = found.map(|found| found.matches(":0").count()).sum();
            if missing > 0 {
                damaged.push(format!("{key}: {missing} of {} items missing", items.len()));
            }
        }
        assert!(
            damaged.is_empty(),
            "after {after}, damaged neighbours of freed filters: {damaged:#?}"
        );
    }
}

/// Bytes of the newest layer of a filter, by BF.DEBUG.
fn newest_layer(client: &mut Client, key: &str) -> usize {
    let debug = client.ask(&format!("BF.DEBUG {key}"));
    let bytes = debug.rsplit("bytes:").next().and_then(|rest| rest.split(' ').next());
    bytes
        .and_then(|bytes| bytes.parse().ok())
        .unwrap_or_else(|| panic!("BF.DEBUG returned {debug}"))
}
