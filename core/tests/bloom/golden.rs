//! The format of filters in our own layout, byte for byte: golden files, hashes, false positives.

use bloomline_core::hash::xxh3::item_hash;
use bloomline_core::host::{AnyFilter, Spec};
use bloomline_reference::calls::Calls;
use bloomline_reference::golden::file;

use crate::filters::{SEED, fixed, new, scaling, state};
use crate::window::{kinds, lived};

/// A filter of `count` items: the decimal numbers from `first` on, as text.
fn filled(spec: Spec, first: u64, count: u64) -> AnyFilter {
    let mut filter = AnyFilter::from(new(spec, SEED));
    insert(&mut filter, first, count);
    filter
}

fn insert(filter: &mut AnyFilter, first: u64, count: u64) {
    for item in first..first + count {
        filter.insert_item(item.to_string().as_bytes(), 0, &mut |_| true).unwrap();
    }
}

/// Compacted, and grown afterwards.
fn compacted(spec: Spec, items: u64, more: u64) -> AnyFilter {
    let mut filter = filled(spec, 0, items);
    assert!(filter.compact().unwrap() > 0);
    insert(&mut filter, items, more);
    filter
}

/// Merged above the capacity of its layer, and grown afterwards.
fn overfull() -> AnyFilter {
    let spec = scaling(2_000, 0.02, 1);
    let mut filter = filled(spec, 0, 1_100);
    let other = filled(spec, 1_100, 1_100);
    assert_eq!(filter.union(&[&other], &mut |_| true), Ok(true));
    assert!(filter.room() == 0 && filter.len() > 2_000);
    insert(&mut filter, 2_200, 100);
    filter
}

/// Filters of version 1: name, specification, seed, items and layers.
const VERSION_1: [(&str, Spec, u64, u64, usize); 7] = [
    ("empty", scaling(100, 0.01, 2), 0, 0, 1),
    ("one-layer", scaling(100, 0.01, 2), SEED, 60, 1),
    ("five-layers", scaling(10, 0.001, 2), u64::MAX, 250, 5),
    ("fixed-full", fixed(50, 1e-5), SEED, 50, 1),
    ("expansion-1", scaling(5, 0.1, 1), 1, 80, 16),
    // Four blocks per item, and two pages.
    ("four-lines", fixed(700, 1e-9), SEED, 300, 1),
    ("one-line", fixed(9_000, 0.1), SEED, 2_000, 1),
];

/// The names of windowed filters, in the order of [`kinds`].
const WINDOWED: [&str; 6] =
    ["time", "time-fixed", "last", "last-no-refresh", "manual", "manual-wide"];

/// The paths of the files without the name of the part, the filters, and how many decimal numbers
/// from 0 on each has for certain.
fn all() -> Vec<(String, AnyFilter, u64)> {
    let mut all = Vec::new();
    for (name, items) in [("empty", 0), ("one-item", 1), ("full", 16)] {
        let created = AnyFilter::bloomline(scaling(100, 0.01, 2), SEED, &mut |_| true);
        let mut filter = created.unwrap();
        insert(&mut filter, 0, items);
        all.push((format!("bloomline-v3/{name}"), filter, items));
    }
    for (name, spec, seed, items, layers) in VERSION_1 {
        let mut filter = AnyFilter::from(new(spec, seed));
        insert(&mut filter, 0, items);
        assert_eq!(state(&filter).1.len(), layers, "{name}");
        all.push((format!("bloomline-v1/{name}"), filter, items));
    }
    let changed = [
        // Folded in place: more than an eighth of the pages is left.
        ("compacted", compacted(scaling(20_000, 0.01, 2), 8_000, 0)),
        // Folded into new memory, to less than an eighth. Growth has the reserved capacity again.
        ("compacted-grown", compacted(scaling(20_000, 1e-4, 1), 300, 1_500)),
        ("merged-overfull", overfull()),
    ];
    let windowed = WINDOWED.into_iter().zip(kinds().map(|spec| AnyFilter::from(lived(spec))));
    for (name, filter) in changed.into_iter().chain(windowed) {
        assert!(filter.encode_header().len() > 64, "{name}");
        all.push((format!("bloomline-v2/{name}"), filter, 0));
    }
    all
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn golden_files_are_written_and_read_unchanged() {
    for (path, fresh, items) in all() {
        let (header, bits) = state(&fresh);
        let bits = bits.concat();
        assert!(file(&format!("{path}.header.bin"), &header) == header, "{path}: other header");
        assert!(file(&format!("{path}.bits.bin"), &bits) == bits, "{path}: other bits");

        let mut filter = AnyFilter::decode_header(&header, &mut |_| true).unwrap();
        let (first, mut offset) = (filter.first_byte(), filter.first_byte());
        while let Some(len) = filter.chunk(offset).map(<[u8]>::len) {
            filter.write_chunk(offset, &bits[(offset - first) as usize..][..len]).unwrap();
            offset += len as u64;
        }
        assert_eq!(offset - first, bits.len() as u64, "{path}");
        assert!(state(&filter) == state(&fresh), "{path}");
        assert_eq!((filter.len(), filter.size_bytes()), (fresh.len(), fresh.size_bytes()));
        let is_found = |number: u64| filter.contains_item(number.to_string().as_bytes(), 0);
        assert!((0..items).all(is_found), "{path}");
    }
}

#[test]
fn hashes_are_unchanged() {
    let long: Vec<u8> = (0..=255).chain(0..=44).collect();
    let items: [&[u8]; 7] = [
        b"",
        b"a",
        b"0123456789abcdef0123456789abcdef01234567",
        &long[..128],
        &long[..240],
        &long[..241],
        &long,
    ];
    for (item, expected) in items.into_iter().zip(HASHES) {
        let hash = |seed| (item_hash(item, seed).block_hash, item_hash(item, seed).pattern);
        assert_eq!([hash(0), hash(1), hash(u64::MAX)], expected, "an item of {} bytes", item.len());
    }
}

/// Block hash and pattern with seeds 0, 1 and 2^64 - 1, computed with the reference implementation
/// of XXH3.
const HASHES: [[(u64, u64); 3]; 7] = [
    [
        (0x2d06_8005_38d3_94c2, 0x2ff1_5aca_0fb7_31f7),
        (0x4dc5_b0cc_826f_6703, 0xa894_b9fc_136f_0fbf),
        (0x4c09_3276_ae47_a555, 0xdcdb_1408_7dda_52e7),
    ],
    [
        (0xe6c6_32b6_1e96_4e1f, 0x8e77_b6c0_77d2_e46a),
        (0xd2f6_d099_6f37_a720, 0x1884_1a81_4ab2_6002),
        (0x43a7_e49b_c8a2_5756, 0xe4f4_c908_a428_cee2),
    ],
    [
        (0xf104_6ee5_6b97_d3da, 0xc981_318a_e932_41c0),
        (0x25f7_a093_1cd3_35a5, 0x6d2d_44b4_d11e_5699),
        (0x4aab_55a6_385a_2d43, 0xef5a_1df3_8c5a_d83a),
    ],
    [
        (0x85c6_174c_7ff4_c46b, 0x5378_da4e_2233_4ffb),
        (0xc04e_68f8_39dd_d006, 0x3d7e_d619_6341_a5c4),
        (0x71ff_f67b_6b8c_e45a, 0xfdf4_2516_0e23_f8a2),
    ],
    [
        (0x375a_384d_957f_e865, 0xe108_2174_3b05_b433),
        (0x31a1_4c35_8e82_4be4, 0x7afa_ec36_79e2_48d5),
        (0x11bd_15de_7afb_35d0, 0x42e3_65ff_be4c_4e21),
    ],
    [
        (0x02e8_cd95_421c_6d02, 0x56d1_4849_df0c_da1a),
        (0xda73_5d4f_5347_6cb5, 0xa6cb_3b06_765d_267c),
        (0xb1f0_0188_5dc8_9e7c, 0x731e_43cb_efc3_4e00),
    ],
    [
        (0xb6c4_93f2_208c_9fcb, 0xc344_ed4d_3f65_b958),
        (0x024e_f2eb_3e05_1bab, 0x1007_1ee1_3996_15f7),
        (0xac5a_9f7e_ea8d_b388, 0x7cb3_ea88_6c7e_a998),
    ],
];

#[test]
fn first_false_positives_are_unchanged() {
    for (error_rate, expected) in FALSE_POSITIVES {
        let filter = filled(scaling(100, error_rate, 2), 0, 1_000);
        let is_found = |number: &u64| filter.contains_item(number.to_string().as_bytes(), 0);
        let found: Vec<u64> = (1_000..).filter(is_found).take(10).collect();
        assert_eq!(found, expected, "error rate {error_rate}");
    }
}

/// For each target rate, the first ten numbers that a filter of the numbers 0 to 999 falsely
/// reports as present.
const FALSE_POSITIVES: [(f64, [u64; 10]); 3] = [
    (0.25, [1003, 1006, 1009, 1010, 1042, 1044, 1049, 1052, 1058, 1059]),
    (0.01, [1111, 1186, 1279, 1653, 1867, 2002, 2256, 2865, 2966, 2979]),
    (1e-4, [5060, 51996, 86121, 90231, 170380, 234087, 242054, 276251, 342086, 343394]),
];
