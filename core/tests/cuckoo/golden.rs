//! Filters in Bloomline's layout, byte for byte: golden files.

use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooSpec};
use bloomline_reference::golden::file;

use super::{bytes, compact, granted, options, tables};

/// Filters of the golden files as earlier versions wrote them, where this one compacts otherwise.
const READ_ONLY: [&str; 1] = ["compacted-0.1"];

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
    for name in READ_ONLY {
        let [header, slots] =
            ["header", "slots"].map(|part| file(&format!("cuckoo-v1/{name}.{part}.bin"), &[]));
        let filter = loaded(&header, &slots);
        assert!((1_900..2_000).all(|number| filter.contains(number.to_string().as_bytes())));
        assert_eq!(filter.count(b"0"), 9);
    }
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
