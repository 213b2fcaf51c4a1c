//! A filter takes the items that it was created for, at every size and every width of its slots.

use bloomline_core::cuckoo::bloomline::MIN_ERROR_RATE;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_reference::cuckoo_header::{Header, MAX_BITS, MIN_BITS, limit};

use super::{Layout, granted, item};

/// An empty fixed filter of this capacity with slots of `bits` bits. New filters have fewer bits
/// than the most, so it is decoded from a header.
fn fixed(capacity: u64, bits: u32, seed: u64) -> AnyCuckoo {
    let empty = Layout::Bloomline { error_rate: 0.5, is_fixed: true }.create_seeded(capacity, seed);
    let mut header = Header::of(&empty);
    header.tables[0].bits = bits;
    header.end = u64::from(MAX_BITS) * (header.tables[0].windows + 1) + 128;
    header.error_rate = header.rate_for_life().max(MIN_ERROR_RATE);
    AnyCuckoo::decode_header(&header.encode(), &mut granted).expect("a filter")
}

/// Fills a fixed filter and asserts that one more item is refused.
fn assert_fills(capacity: u64, bits: u32, seed: u64) {
    let mut filter = fixed(capacity, bits, seed);
    let most = limit(filter.buckets());
    assert!(most >= capacity);
    for number in 0..most {
        let result = filter.insert(&item(number), &mut granted);
        assert!(result.is_ok(), "item {number} of {capacity}, {bits} bits, seed {seed}");
    }
    assert!(filter.insert(&item(u64::MAX), &mut granted).is_err());
    assert_eq!(filter.len(), most);
    assert!((0..most).all(|number| filter.contains(&item(number))));
}

#[test]
fn small_filters_take_their_capacity_at_every_width() {
    let most = if cfg!(miri) { 5 } else { 150 };
    for capacity in 1..=most {
        for bits in MIN_BITS..=MAX_BITS {
            for seed in 0..3 {
                assert_fills(capacity, bits, seed);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn larger_filters_take_their_capacity() {
    for capacity in [200, 333, 512, 1_000, 2_345, 3_700, 3_800, 4_096, 10_007, 20_000] {
        for bits in MIN_BITS..=MAX_BITS {
            assert_fills(capacity, bits, 1);
        }
    }
    for (capacity, bits) in [(300_000, MIN_BITS), (500_000, 10), (1_000_000, MIN_BITS + 1)] {
        assert_fills(capacity, bits, 1);
    }
}

/// Copies occupy no more entries than other items do, so they do not make a filter full earlier.
#[test]
fn filters_take_their_capacity_in_copies() {
    let capacities: &[u64] = if cfg!(miri) { &[10] } else { &[1, 2, 10, 100, 1_000, 10_000] };
    for capacity in capacities {
        for copies in 1..=6 {
            for error_rate in [0.9, 0.01, 1e-6] {
                let mut filter = Layout::Bloomline { error_rate, is_fixed: true }.create(*capacity);
                for number in 0..*capacity {
                    let result = filter.insert(&item(number / copies), &mut granted);
                    assert!(result.is_ok(), "addition {number} of {capacity}, {copies} copies");
                }
                assert_eq!(filter.len(), *capacity);
            }
        }
    }
}

#[test]
fn every_capacity_is_reached_before_the_filter_grows() {
    let most = if cfg!(miri) { 10 } else { 2_000 };
    for capacity in 1..=most {
        let mut filter = Layout::Bloomline { error_rate: 0.01, is_fixed: false }.create(capacity);
        for number in 0..capacity {
            filter.insert(&item(number), &mut granted).unwrap();
        }
        assert_eq!(filter.table_count(), 1, "{capacity} items");
    }
}

/// Bits per item at 1 %, after growth from 1,024 items.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn grown_filters_take_few_bits_at_each_size() {
    const MOST: [(u64, f64); 17] = [
        (1_000, 13.0),
        (2_000, 15.6),
        (5_000, 14.8),
        (10_000, 21.7),
        (20_000, 14.8),
        (30_000, 16.5),
        (50_000, 14.7),
        (80_000, 14.8),
        (120_000, 16.6),
        (200_000, 17.4),
        (300_000, 16.0),
        (500_000, 16.4),
        (800_000, 15.4),
        (1_000_000, 20.0),
        (1_500_000, 22.8),
        (2_000_000, 17.1),
        (3_000_000, 20.1),
    ];
    let mut filter = Layout::Bloomline { error_rate: 0.01, is_fixed: false }.create(1_024);
    let mut inserted = 0;
    for (items, most) in MOST {
        for number in inserted..items {
            filter.insert(&item(number), &mut granted).unwrap();
        }
        inserted = items;
        let bits = filter.size_bytes() as f64 * 8.0 / items as f64;
        assert!(bits < most, "{bits:.2} bits per item with {items} items");
    }
}
