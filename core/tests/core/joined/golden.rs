//! Version 2 of the format, byte for byte, for compacted and merged filters: golden files.
//!
//! The files were written once. `BLOOMLINE_BLESS=1 cargo test -p bloomline-core --test core golden`
//! writes missing files, but never overwrites one: if a file no longer matches, saved filters are
//! lost.

use std::path::PathBuf;

use bloomline_core::host::{AnyFilter, Growth, Spec};
use bloomline_core::window::{Window, WindowSpec, WindowedFilter};

use super::{SEED, new, scaling, state};

/// A filter of so many items: the decimal numbers from `first` on, as text.
fn filled(spec: Spec, first: u64, count: u64) -> AnyFilter {
    let mut filter = AnyFilter::from(new(spec, SEED));
    insert(&mut filter, first, count);
    filter
}

fn insert(filter: &mut AnyFilter, first: u64, count: u64) {
    for item in first..first + count {
        filter.insert(item.to_string().as_bytes(), &mut |_| true).unwrap();
    }
}

/// Compacted, and grown afterwards.
fn compacted(spec: Spec, items: u64, more: u64) -> AnyFilter {
    let mut filter = filled(spec, 0, items);
    assert!(filter.compact() > 0);
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

/// A ring of generations of which the older ones are folded.
fn ring() -> AnyFilter {
    let (growth, window) = (Growth::Scaling { expansion: 2 }, Window::Last);
    let (capacity, error_rate, generations, refreshes) = (12_000, 0.01, 3, true);
    let spec = WindowSpec { capacity, error_rate, growth, window, generations, refreshes };
    let filter = WindowedFilter::new(spec, SEED, 1_700_000_000_000, &mut |_| true).unwrap();
    let mut filter = AnyFilter::from(filter);
    for generation in 0..4 {
        insert(&mut filter, generation * 1_000, 300 * generation);
        let ring = filter.windowed_mut().unwrap();
        ring.rotate(1_700_000_000_000 + generation, &mut |_| true).unwrap();
    }
    assert!(filter.compact() > 0);
    insert(&mut filter, 4_000, 50);
    filter
}

/// The filters and the names of their files.
fn all() -> [(&'static str, AnyFilter); 4] {
    [
        // Folded in place: more than an eighth of the pages is left.
        ("compacted", compacted(scaling(20_000, 0.01, 2), 8_000, 0)),
        // Folded into new memory, to less than an eighth.
        ("compacted-grown", compacted(scaling(20_000, 1e-4, 1), 300, 1_500)),
        ("merged-overfull", overfull()),
        ("ring-compacted", ring()),
    ]
}

/// The bytes of a golden file. A missing file is written first if `BLOOMLINE_BLESS` is 1.
fn file(name: &str, part: &str, now: &[u8]) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/bloomline-v2");
    let path = folder.join(format!("{name}.{part}.bin"));
    if !path.exists() && std::env::var_os("BLOOMLINE_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, now).unwrap();
    }
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn calls_give_the_bytes_of_the_golden_files() {
    for (name, filter) in all() {
        let (header, bits) = state(&filter);
        assert!(header.len() > 64, "{name}");
        assert!(file(name, "header", &header) == header, "{name}: the header differs");
        assert!(file(name, "bits", &bits.concat()) == bits.concat(), "{name}: the bits differ");
    }
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn golden_files_are_decoded_and_encoded_unchanged() {
    for (name, fresh) in all() {
        let (header, bits) = state(&fresh);
        let header = file(name, "header", &header);
        let all = file(name, "bits", &bits.concat());
        let mut filter = AnyFilter::decode_header(&header, &mut |_| true).unwrap();
        let (first, mut offset) = (filter.first_byte(), filter.first_byte());
        while let Some(len) = filter.chunk(offset).map(<[u8]>::len) {
            filter.write_chunk(offset, &all[(offset - first) as usize..][..len]).unwrap();
            offset += len as u64;
        }
        assert_eq!(offset - first, all.len() as u64, "{name}");
        assert!(filter.encode_header() == header && state(&filter) == state(&fresh), "{name}");
    }
}
