//! Filters in Bloomline's layout, byte for byte: golden files.
//!
//! The files were written once. `BLOOMLINE_BLESS=1 cargo test -p bloomline-core --test cuckoo golden`
//! writes missing files, but never overwrites one: if a file no longer matches, saved filters are
//! lost.

use std::path::PathBuf;

use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooSpec};

use super::{bytes, granted, options};

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
            filter.compact();
        }
        filter
    }

    /// The bytes of a golden file. A missing file is written first if `BLOOMLINE_BLESS` is 1.
    fn file(&self, part: &str, now: &[u8]) -> Vec<u8> {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/cuckoo-v1");
        let path = folder.join(format!("{}.{part}.bin", self.name));
        if !path.exists() && std::env::var_os("BLOOMLINE_BLESS").is_some_and(|value| value == "1") {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, now).unwrap();
        }
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
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
fn calls_give_the_bytes_of_the_golden_files() {
    for golden in &GOLDEN {
        let (header, tables) = bytes(&golden.filter());
        let tables = tables.concat();
        assert!(golden.file("header", &header) == header, "{}: the header differs", golden.name);
        assert!(golden.file("slots", &tables) == tables, "{}: the slots differ", golden.name);
        // Byte 13 is 1 if a table is being doubled.
        assert!(header[13] == 1 || golden.name != "doubling");
    }
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn golden_files_are_decoded_and_encoded_unchanged() {
    for golden in &GOLDEN {
        let fresh = golden.filter();
        let (header, tables) = bytes(&fresh);
        let header = golden.file("header", &header);
        let slots = golden.file("slots", &tables.concat());
        let mut filter = AnyCuckoo::decode_header(&header, &mut granted).unwrap();
        let (mut iterator, mut rest) = (1, slots.as_slice());
        while let Some((next, length)) =
            filter.scan_dump(iterator).map(|(next, chunk)| (next, chunk.len()))
        {
            let (chunk, others) = rest.split_at(length);
            filter.load_chunk(next, chunk).unwrap();
            (iterator, rest) = (next, others);
        }
        assert!(rest.is_empty(), "{}", golden.name);
        assert!(filter == fresh && filter.encode_header() == header, "{}", golden.name);
    }
}
