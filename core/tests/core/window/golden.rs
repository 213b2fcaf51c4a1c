//! Version 2 of the format, byte for byte: golden files.
//!
//! The files were written once. `BLOOMLINE_BLESS=1 cargo test -p bloomline-core --test core golden`
//! writes missing files, but never overwrites one: if a file no longer matches, saved filters are
//! lost.

use std::path::PathBuf;

use bloomline_core::host::AnyFilter;

use super::{assert_equal, bits, kinds, lived};

/// The names of the files, in the order of [`kinds`].
const NAMES: [&str; 6] = ["time", "time-fixed", "last", "last-no-refresh", "manual", "manual-wide"];

/// The bytes of a golden file. A missing file is written first if `BLOOMLINE_BLESS` is 1.
fn file(name: &str, part: &str, now: &[u8]) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/bloomline-v2");
    let path = folder.join(format!("{name}.{part}.bin"));
    if !path.exists() && std::env::var_os("BLOOMLINE_BLESS").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&path, now).unwrap();
    }
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn calls_give_the_bytes_of_the_golden_files() {
    for (name, spec) in NAMES.into_iter().zip(kinds()) {
        let filter = lived(spec);
        let (header, bits) = (filter.encode_header(), bits(&filter).concat());
        assert!(file(name, "header", &header) == header, "{name}: the header differs");
        assert!(file(name, "bits", &bits) == bits, "{name}: the bits differ");
    }
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn golden_files_are_decoded_and_encoded_unchanged() {
    for (name, spec) in NAMES.into_iter().zip(kinds()) {
        let fresh = lived(spec);
        let header = file(name, "header", &fresh.encode_header());
        let all = file(name, "bits", &bits(&fresh).concat());
        let mut filter = AnyFilter::decode_header(&header, &mut |_| true).unwrap();
        let (first, mut offset) = (filter.first_byte(), filter.first_byte());
        while let Some(len) = filter.chunk(offset).map(<[u8]>::len) {
            filter.write_chunk(offset, &all[(offset - first) as usize..][..len]).unwrap();
            offset += len as u64;
        }
        assert_eq!(offset - first, all.len() as u64, "{name}");
        assert_equal(filter.windowed().unwrap(), &fresh);
        assert!(filter.encode_header() == header, "{name}");
    }
}
