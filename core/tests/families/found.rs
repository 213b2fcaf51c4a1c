//! The findings of the fuzz targets, each as a test with its bytes.

use bloomline_core::host::AnyFilter;
use bloomline_reference::calls::Calls;
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
        let _ = filter.insert_item(item, 0, &mut |_| true);
        assert_consistent(&filter);
        assert_reloads(&filter);
    }
}
