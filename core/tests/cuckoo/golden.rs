//! Filters in Bloomline's layout, byte for byte: golden files.

use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooSpec};
use bloomline_reference::golden::file;
use bloomline_reference::random::Random;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{bytes, compact, granted, item, options, reloaded, tables};

/// A filter of a golden file.
struct Golden {
    name: &'static str,
    capacity: u64,
    error_rate: f64,
    /// 0 for a filter that does not grow.
    expansion: u16,
    /// The items are the decimal numbers from 0 on, as text.
    items: u64,
    /// Copies of item 0 besides.
    copies: u64,
    /// The first so many items are deleted, and the filter is compacted.
    deleted: u64,
}

impl Golden {
    fn filter(&self) -> AnyCuckoo {
        let options = options(2, 20, self.expansion);
        let spec = CuckooSpec { capacity: self.capacity, error_rate: self.error_rate, options };
        let mut filter = AnyCuckoo::bloomline(spec, 0x0123_4567_89ab_cdef, &mut granted).unwrap();
        let item = |number: u64| number.to_string();
        for number in (0..self.items).chain((0..self.copies).map(|_| 0)) {
            filter.insert(item(number).as_bytes(), &mut granted).unwrap();
        }
        for number in 0..self.deleted {
            assert!(filter.remove(item(number).as_bytes()));
        }
        if self.deleted > 0 {
            compact(&mut filter);
        }
        filter
    }
}

const NONE: Golden = Golden {
    name: "empty",
    capacity: 100,
    error_rate: 0.01,
    expansion: 1,
    items: 0,
    copies: 0,
    deleted: 0,
};

const GOLDEN: [Golden; 6] = [
    NONE,
    Golden { name: "fixed-full", capacity: 300, expansion: 0, items: 300, ..NONE },
    Golden { name: "copies", items: 50, copies: 40, ..NONE },
    Golden { name: "grown", capacity: 20, error_rate: 0.001, items: 1_500, ..NONE },
    // In the middle of a doubling.
    Golden { name: "doubling", items: 205, ..NONE },
    Golden { name: "compacted", capacity: 20, items: 2_000, copies: 9, deleted: 1_900, ..NONE },
];

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn golden_files_are_written_and_read_unchanged() {
    for golden in &GOLDEN {
        let (name, fresh) = (golden.name, golden.filter());
        let (header, tables) = bytes(&fresh);
        let slots = tables.concat();
        let path = |part| format!("cuckoo-v1/{name}.{part}.bin");
        assert!(file(&path("header"), &header) == header, "{name}: the header differs");
        assert!(file(&path("slots"), &slots) == slots, "{name}: the slots differ");
        // Byte 13 is 1 if a table is being doubled.
        assert!(header[13] == 1 || name != "doubling");

        assert!(loaded(&header, &slots) == fresh, "{name}");
    }
}

/// A filter that lives long: additions of items and of copies, deletions, compactions.
struct Program {
    filter: AnyCuckoo,
    random: Random,
    live: Vec<u64>,
    next: u64,
    /// A hash of all bytes after each step.
    hash: u64,
}

impl Program {
    /// Adds items, one of four of them again. Some get ten copies at once.
    fn insert(&mut self, count: u64) {
        for _ in 0..count {
            let is_new = self.live.is_empty() || self.random.below(4) > 0;
            let number = if is_new { self.next } else { self.drawn() };
            self.next += u64::from(is_new);
            for _ in 0..if self.random.below(40) == 0 { 10 } else { 1 } {
                if self.filter.insert(&item(number), &mut granted).is_ok() {
                    self.live.push(number);
                }
            }
        }
    }

    fn drawn(&mut self) -> u64 {
        self.live[self.random.below(self.live.len() as u64) as usize]
    }

    fn remove(&mut self, count: usize) {
        for _ in 0..count.min(self.live.len()) {
            let at = self.random.below(self.live.len() as u64) as usize;
            self.filter.remove(&item(self.live.swap_remove(at)));
        }
    }

    /// Adds items until a table is being doubled, or not for long, and overwrites a part of all
    /// slots: with copies, or with any bytes.
    fn forge(&mut self, part: usize, is_random: bool) {
        for _ in 0..2_000 {
            // The byte that shows a doubling.
            if self.filter.encode_header()[13] == 0 {
                self.insert(1);
            }
        }
        let mut iterator = 1;
        while let Some((next, len)) = self.filter.scan_dump(iterator).map(|(it, at)| (it, at.len()))
        {
            let mut byte = || if is_random { self.random.next() as u8 } else { 0x55 };
            let chunk: Vec<u8> = (0..len / part).map(|_| byte()).collect();
            self.filter.load_chunk(next, &chunk).expect("the end of a table");
            iterator = next;
        }
    }

    fn note(&mut self) {
        let (header, tables) = bytes(&self.filter);
        self.hash = xxh3_64_with_seed(&[header, tables.concat()].concat(), self.hash);
    }

    fn compact(&mut self) {
        compact(&mut self.filter);
        self.note();
    }

    /// Runs the program, and returns the hash after each of its parts.
    fn run(&mut self) -> String {
        let mut hashes = String::new();
        for round in 0..4 {
            for _ in 0..3 {
                self.insert(700);
                self.note();
            }
            self.remove(self.live.len() / if round % 2 == 0 { 2 } else { 20 });
            self.note();
            self.insert(300);
            if round > 0 {
                self.compact();
            }
            hashes += &format!(" {:016x}", self.hash);
        }
        for (part, is_random) in [(2, true), (2, false), (1, true)] {
            self.forge(part, is_random);
            for count in [3, 20, 100] {
                self.insert(count);
                self.note();
                self.compact();
            }
            hashes += &format!(" {:016x}", self.hash);
        }
        self.filter.check().unwrap();
        hashes
    }
}

/// A hash of filters with a part of equal slots, which are copies, after they were compacted.
///
/// A table of half the size has fewer slots for each prefix, so that its list may be longer than
/// the slots that are saved. The filter must not become larger.
fn halved(error_rate: f64) -> u64 {
    let mut hash = 0;
    for capacity in [20, 60, 150, 400, 600, 5_000] {
        let spec = CuckooSpec { capacity, error_rate, options: options(2, 20, 1) };
        for part in 1..16 {
            let mut filter = AnyCuckoo::bloomline(spec, 7, &mut granted).unwrap();
            let chunk = vec![0xff; tables(&filter)[0].len() * part / 16];
            filter.load_chunk(1 + chunk.len() as u64, &chunk).expect("a part of the table");
            compact(&mut filter);
            let (header, tables) = bytes(&reloaded(&filter));
            hash = xxh3_64_with_seed(&[header, tables.concat()].concat(), hash);
        }
    }
    hash
}

/// What no other test compares byte for byte: how far searches go, how lists are used, what a
/// compaction moves and where.
#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn states_of_long_programs_are_unchanged() {
    let mut text = String::new();
    for (seed, capacity) in (0..).zip([1, 20, 500, 3_000]) {
        for error_rate in [0.9, 0.25, 0.03, 1e-3, 1e-5] {
            for expansion in [0, 1] {
                let spec = CuckooSpec { capacity, error_rate, options: options(2, 20, expansion) };
                let filter = AnyCuckoo::bloomline(spec, seed, &mut granted).unwrap();
                let (random, live) = (Random::new(seed), Vec::new());
                let hashes = Program { filter, random, live, next: 0, hash: 0 }.run();
                text += &format!("{capacity} {error_rate} {expansion}{hashes}\n");
            }
        }
    }
    for error_rate in [0.9, 0.25, 0.1, 0.03, 0.01, 1e-3] {
        text += &format!("halved {error_rate} {:016x}\n", halved(error_rate));
    }
    let golden = String::from_utf8(file("cuckoo-v1/programs.txt", text.as_bytes())).unwrap();
    assert_eq!(text, golden);
}

/// The filter of a golden file.
fn loaded(header: &[u8], slots: &[u8]) -> AnyCuckoo {
    let mut filter = AnyCuckoo::decode_header(header, &mut granted).unwrap();
    let (mut iterator, mut rest) = (1, slots);
    while let Some((next, length)) =
        filter.scan_dump(iterator).map(|(next, chunk)| (next, chunk.len()))
    {
        let (chunk, others) = rest.split_at(length);
        assert_eq!(filter.load_chunk(next, chunk), Ok(chunk.iter().any(|byte| *byte != 0)));
        (iterator, rest) = (next, others);
    }
    assert!(rest.is_empty());
    assert!(
        bytes(&filter) == (header.to_vec(), tables(&filter)) && tables(&filter).concat() == slots
    );
    filter.check().unwrap();
    filter
}
