//! Version 1 of the format, byte for byte: golden files, hashes, false positives.
//!
//! The files were written once. `BLOOMLINE_BLESS=1 cargo test -p bloomline-core --test core golden`
//! writes missing files, but never overwrites one: if a file no longer matches, saved filters are
//! lost.

use std::path::PathBuf;

use bloomline_core::bloomline::hash::item_hash;
use bloomline_core::host::{Bits, Filter, Growth, Spec};

/// A filter of a golden file.
struct Golden {
    name: &'static str,
    spec: Spec,
    seed: u64,
    /// The items are the decimal numbers from 0 on, as text.
    items: u64,
    layers: u32,
}

const fn scaling(capacity: u64, error_rate: f64, expansion: u32) -> Spec {
    Spec { capacity, error_rate, growth: Growth::Scaling { expansion } }
}

const fn fixed(capacity: u64, error_rate: f64) -> Spec {
    Spec { capacity, error_rate, growth: Growth::Fixed }
}

const SEED: u64 = 0x0123_4567_89ab_cdef;

const GOLDEN: [Golden; 7] = [
    Golden { name: "empty", spec: scaling(100, 0.01, 2), seed: 0, items: 0, layers: 1 },
    Golden { name: "one-layer", spec: scaling(100, 0.01, 2), seed: SEED, items: 60, layers: 1 },
    Golden {
        name: "five-layers",
        spec: scaling(10, 0.001, 2),
        seed: u64::MAX,
        items: 250,
        layers: 5,
    },
    Golden { name: "fixed-full", spec: fixed(50, 1e-5), seed: SEED, items: 50, layers: 1 },
    Golden { name: "expansion-1", spec: scaling(5, 0.1, 1), seed: 1, items: 80, layers: 16 },
    // Four blocks per item, and two pages.
    Golden { name: "four-lines", spec: fixed(700, 1e-9), seed: SEED, items: 300, layers: 1 },
    Golden { name: "one-line", spec: fixed(9_000, 0.1), seed: SEED, items: 2_000, layers: 1 },
];

fn item(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}

impl Golden {
    fn filter(&self) -> Filter {
        let mut filter = Filter::new(self.spec, self.seed, &mut |_| true).unwrap();
        for number in 0..self.items {
            filter.insert(&item(number), &mut |_| true).unwrap();
        }
        assert_eq!(filter.layer_count(), self.layers, "{}", self.name);
        filter
    }

    fn path(&self, part: &str) -> PathBuf {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/bloomline-v1");
        folder.join(format!("{}.{part}.bin", self.name))
    }

    /// The bytes of a golden file. A missing file is written first if `BLOOMLINE_BLESS` is 1.
    fn file(&self, part: &str, now: &[u8]) -> Vec<u8> {
        let path = self.path(part);
        if !path.exists() && std::env::var_os("BLOOMLINE_BLESS").is_some_and(|value| value == "1") {
            std::fs::write(&path, now).unwrap();
        }
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

/// The bits of all layers, oldest first.
fn bits(filter: &Filter) -> Vec<u8> {
    filter.layers().flat_map(|layer| layer.as_bytes().to_vec()).collect()
}

#[test]
fn insertions_give_the_bytes_of_the_golden_files() {
    for golden in &GOLDEN {
        let filter = golden.filter();
        let (header, bits) = (filter.encode_header().to_vec(), bits(&filter));
        assert!(golden.file("header", &header) == header, "{}: the header differs", golden.name);
        assert!(golden.file("bits", &bits) == bits, "{}: the bits differ", golden.name);
    }
}

#[test]
fn golden_files_are_decoded_and_encoded_unchanged() {
    for golden in &GOLDEN {
        let fresh = golden.filter();
        let (header, all) =
            (golden.file("header", &fresh.encode_header()), golden.file("bits", &bits(&fresh)));
        let mut filter = Filter::decode_header(&header, &mut |_| true).unwrap();
        let mut offset = 0;
        while let Some(len) = filter.chunk(offset).map(<[u8]>::len) {
            filter.write_chunk(offset, &all[offset as usize..][..len]).unwrap();
            offset += len as u64;
        }
        assert_eq!(offset, all.len() as u64, "{}", golden.name);
        assert!(filter.encode_header()[..] == header && bits(&filter) == all, "{}", golden.name);
        assert!((0..golden.items).all(|number| filter.contains(&item(number))), "{}", golden.name);
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
        let hash = |seed| (item_hash(item, seed).place, item_hash(item, seed).pattern);
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
        let mut filter = Filter::new(scaling(100, error_rate, 2), SEED, &mut |_| true).unwrap();
        for number in 0..1_000 {
            filter.insert(&item(number), &mut |_| true).unwrap();
        }
        let found: Vec<u64> =
            (1_000..).filter(|&number| filter.contains(&item(number))).take(10).collect();
        assert_eq!(found, expected, "error rate {error_rate}");
    }
}

/// For each target rate, the first ten numbers that a filter of the numbers 0 to 999 falsely
/// reports as present.
const FALSE_POSITIVES: [(f64, [u64; 10]); 3] = [
    (0.25, [1004, 1016, 1018, 1032, 1035, 1041, 1042, 1044, 1067, 1089]),
    (0.01, [1111, 1279, 1653, 1802, 1867, 2002, 2256, 2369, 2588, 2865]),
    (1e-4, [5060, 51996, 86121, 90231, 170380, 234087, 242054, 276251, 342086, 343394]),
];
