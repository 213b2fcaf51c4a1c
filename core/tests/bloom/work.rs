//! Layers in RedisBloom's and valkey-bloom's layouts, in which an item has hundreds of bits.

use bloomline_core::host::AnyFilter;
use bloomline_core::host::valkey::{ValkeyFilter, ValkeyParams};
use bloomline_core::work;
use bloomline_reference::calls::Calls;

use crate::filters::{classic, found, insert, scaling};

const LAYERS: u32 = 40;

/// Filters of layers of one item, which has about a thousand bits in each. Half of the bits of a
/// layer are set.
fn filters() -> [AnyFilter; 2] {
    let (error_rate, tightening) = (1e-300, 0.999);
    let params =
        ValkeyParams { expansion: 1, error_rate, tightening, seed: [42; 32], is_random: true };
    let valkey = ValkeyFilter::new(1, params, &mut |_| true).expect("a filter");
    let mut filters = [AnyFilter::from(classic(scaling(1, error_rate, 1))), valkey.into()];
    for filter in &mut filters {
        for item in 0.. {
            if filter.layer_count() == LAYERS {
                break;
            }
            insert(filter, [item]);
        }
    }
    filters
}

#[test]
fn an_absent_item_tests_few_bits_of_each_layer() {
    const ITEMS: u64 = 1_000;
    for filter in filters() {
        let items = || (0..ITEMS).map(|item| item | 1 << 63);
        work::take();
        found(&filter, items());
        let together = work::take();
        for item in items() {
            filter.contains_item(&item.to_le_bytes(), 0);
        }
        let apart = work::take();
        // 5, and 32 of those items that have these: one in 32, and more whose bits coincide.
        let most = ITEMS * u64::from(LAYERS) * 40;
        assert!(together <= most && apart <= most, "{together} and {apart} of {most}: {filter:?}");
    }
}
