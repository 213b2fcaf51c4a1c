//! Filters from every entry point are freed: their neighbours in memory keep every byte.
//!
//! Filters alternate with strings of the same size, because an allocator places blocks of one size
//! consecutively. The strings contain no zero byte, so a byte that was zeroed or moved is detected.
//! The debug allocator detects the same in all other tests: a block that is freed with another size
//! or origin, and pages outside of their block.

use std::ops::Range;

use bloomline_harness::{Client, Random, Setup, numbered, show};

/// Bytes that the server adds to a string: header and final zero.
const STRING_OVERHEAD: usize = 10;
/// Our own layout allocates one page more than its bits, so that they begin on a page.
const PAGE: usize = 4096;

/// Capacities of the filters at an error rate of 0.01. In RedisBloom's layout, the bits of the
/// first four fill 1, 1.25, 2 and 2.5 MiB except for a few words. These are size classes of
/// jemalloc.
const CAPACITIES: [usize; 6] = [875_175, 1_093_969, 1_750_350, 2_187_938, 60_000, 5_000];

const LAYOUTS: [&str; 2] = ["redisbloom", "bloomline"];

/// Filters of each capacity and layout.
const COPIES: usize = 4;
/// Items per filter: more than ten per page.
const ITEMS: usize = 3000;

/// Filters, and strings next to them.
struct Neighbours {
    filters: Vec<(String, Vec<Vec<u8>>)>,
    strings: Vec<(String, Range<usize>)>,
    /// The bytes from which strings are cut.
    bytes: Vec<u8>,
}

impl Neighbours {
    /// Filters that commands have made, each followed by a string.
    fn new(client: &mut Client) -> Self {
        let mut random = Random(5);
        let word = |_| (random.next() | 0x0101_0101_0101_0101).to_le_bytes();
        let bytes = (0..1 << 19).flat_map(word).collect();
        let mut made = Self { filters: Vec::new(), strings: Vec::new(), bytes };
        for (capacity, layout) in
            CAPACITIES.into_iter().flat_map(|capacity| LAYOUTS.map(|layout| (capacity, layout)))
        {
            for copy in 0..COPIES {
                let key = format!("{layout}:{capacity}:{copy}");
                client.ok(&format!("BF.RESERVE {key} 0.01 {capacity} NONSCALING LAYOUT {layout}"));
                made.fill(client, &key, ITEMS.min(capacity / 2));
            }
        }
        made
    }

    /// Adds items to a filter, and sets a string of its size.
    fn fill(&mut self, client: &mut Client, key: &str, items: usize) {
        let items = numbered(key, items);
        for batch in items.chunks(1000) {
            client.items("BF.MADD", key, batch);
        }
        self.add(client, key, items);
    }

    /// Copies every filter in some way.
    fn copy(&mut self, client: &mut Client, way: &str, copy: Copy) {
        for (key, items) in self.filters.clone() {
            let to = format!("{way}:{key}");
            copy(client, &key, &to);
            self.add(client, &to, items);
        }
    }

    /// Makes filters grow by a layer of 80 kB to 3 MB.
    fn grow(&mut self, client: &mut Client) {
        for layout in LAYOUTS {
            for (index, expansion) in
                [500, 500, 500, 500, 8_000, 8_000, 8_000, 8_000, 20_000, 20_000].iter().enumerate()
            {
                let key = format!("grown:{layout}:{index}");
                client.ok(&format!(
                    "BF.RESERVE {key} 0.01 100 EXPANSION {expansion} LAYOUT {layout}"
                ));
                self.fill(client, &key, ITEMS);
                assert_eq!(client.ask(&format!("BF.INFO {key} FILTERS")), "*[:2]");
            }
        }
    }

    /// Adds a filter that was just made, and sets a string of its size.
    fn add(&mut self, client: &mut Client, key: &str, items: Vec<Vec<u8>>) {
        self.filters.push((key.to_owned(), items));
        self.set_string(client, key);
    }

    /// Sets a string as large as the newest layer of a filter.
    fn set_string(&mut self, client: &mut Client, filter: &str) {
        let page = if client.ask(&format!("BF.STATS {filter} layout")).contains("bloomline") {
            PAGE
        } else {
            0
        };
        let block = newest_layer(client, filter) + page;
        let start = self.strings.len() * 64 % PAGE;
        let range = start..start + block - STRING_OVERHEAD;
        let key = format!("string:{filter}");
        assert_eq!(
            show(&client.run(&[&b"SET"[..], key.as_bytes(), &self.bytes[range.clone()]])),
            "+OK"
        );
        self.strings.push((key, range));
    }

    /// Deletes every second filter, alternately by DEL and UNLINK, and waits until they are freed.
    fn delete_every_second(&mut self, client: &mut Client) {
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
    fn assert_whole(&self, client: &mut Client, after: &str) {
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

/// Copies a filter to another key.
type Copy = fn(&mut Client, &str, &str);

const WAYS: [(&str, Copy); 3] = [
    ("copied", |client, from, to| assert_eq!(client.ask(&format!("COPY {from} {to}")), ":1")),
    ("restored", |client, from, to| {
        let dump = client.dump(from);
        assert_eq!(client.restore(to, &dump), "+OK");
    }),
    ("loaded", |client, from, to| client.copy_by_chunks(from, to)),
];

#[test]
fn freed_filters_leave_their_neighbours_intact() {
    Setup::new().debug().on_each_build(|mut client, _| {
        let assert_frees_only_itself =
            |client: &mut Client, neighbours: &mut Neighbours, how: &str| {
                neighbours.assert_whole(client, how);
                neighbours.delete_every_second(client);
                neighbours.assert_whole(client, &format!("{how} and deletions"));
            };
        for (way, copy) in WAYS {
            let mut neighbours = Neighbours::new(&mut client);
            neighbours.copy(&mut client, way, copy);
            assert_frees_only_itself(&mut client, &mut neighbours, way);
            client.ok("FLUSHALL SYNC");
        }
        // Loaded filters have layers that were adopted from the server's strings; those that grew
        // have others as well. Each load fills the gaps that were left.
        let mut neighbours = Neighbours::new(&mut client);
        neighbours.grow(&mut client);
        assert_frees_only_itself(&mut client, &mut neighbours, "growth");
        for load in ["a load", "another load"] {
            client.ok("DEBUG RELOAD");
            assert_frees_only_itself(&mut client, &mut neighbours, load);
        }
    });
}

/// Bytes of the newest layer of a filter, by BF.DEBUG.
fn newest_layer(client: &mut Client, key: &str) -> usize {
    let debug = client.ask(&format!("BF.DEBUG {key}"));
    let bytes = debug.rsplit("bytes:").next().and_then(|rest| rest.split(' ').next());
    bytes
        .and_then(|bytes| bytes.parse().ok())
        .unwrap_or_else(|| panic!("BF.DEBUG returned {debug}"))
}
