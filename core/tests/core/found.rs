//! The findings of the fuzz targets, each as a test with its bytes.

use bloomline_core::host::AnyFilter;
use bloomline_reference::checks::check::{assert_consistent, assert_reloads};
use bloomline_reference::forged;

/// The filter of a header, if that is accepted.
fn decode(header: &[u8]) -> Option<AnyFilter> {
    let filter = AnyFilter::decode_header(header, &mut |_| true).ok()?;
    assert_reloads(&filter);
    Some(filter)
}

/// Found by `decode`: 2^64 - 1 items plus one is a sum that no header can hold.
#[test]
fn a_filter_of_2_64_items_loads_again() {
    let mut filter = decode(&forged::most_items()).expect("a valid header");
    for item in [b"a", b"b"] {
        let _ = filter.insert(item, &mut |_| true);
        assert_consistent(&filter);
        assert_reloads(&filter);
    }
}

/// The bytes of the layers, oldest first.
fn layers(filter: &AnyFilter) -> Vec<u64> {
    let mut bytes = Vec::new();
    filter.each_layer(|words| bytes.push(words.bytes()));
    bytes
}

/// Found by `decode`: a rotation dropped a folded generation, whose bytes were fewer than those that
/// the next decoding demanded.
#[test]
fn a_ring_that_drops_a_folded_generation_loads_again() {
    let Some(mut filter) = decode(&forged::oldest_folded()) else { return };
    for now in [4000, 5000, 6000] {
        let ring = filter.windowed_mut().expect("a windowed filter");
        ring.rotate(now, &mut |_| true).expect("memory");
        assert_consistent(&filter);
        assert_reloads(&filter);
    }
}

/// Found by `decode`: each generation alone ended before the last offset, but not all together.
#[test]
fn a_union_at_the_last_offset_loads_again() {
    let [_, overflowed] = forged::overflowed_in_another(0);
    let source = decode(&overflowed).expect("a valid header");
    let [regular, overflow, ..] = layers(&source)[..] else { panic!("a layer of each kind") };
    for blocks in 0..=2 * overflow / 64 {
        let first = (1 << 62) - 2 * regular - 64 * blocks;
        let [header, _] = forged::overflowed_in_another(first);
        let Some(mut filter) = decode(&header) else { continue };
        let _ = filter.union(&[&source], &mut |_| true);
        assert_reloads(&filter);
    }
}

/// Found by `decode`: each generation alone was within the limit, but not all together.
#[test]
fn a_union_is_permitted_as_a_whole() {
    let [regular, overflowed] = forged::overflowed_in_another(0);
    let [filter, source] = [&regular, &overflowed].map(|header| decode(header).expect("valid"));
    for limit in filter.size_bytes()..=source.size_bytes() {
        let mut joined = filter.try_clone(&mut |_| true).expect("memory");
        let _ = joined.union(&[&source], &mut |demand| demand.filter_bytes <= limit);
        assert!(joined.size_bytes() <= limit, "{} of {limit} bytes", joined.size_bytes());
    }
}
