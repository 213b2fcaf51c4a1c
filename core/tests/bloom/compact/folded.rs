//! Compaction: sizes, rates, growth afterwards, offsets and headers.

use bloomline_core::Error;
use bloomline_core::chunk::Bits;
use bloomline_core::host::Filter;
use bloomline_reference::calls::Calls;
use bloomline_reference::rate_of_bits::rate_of_folded;

use crate::filters::{any, copied, finds_all, fixed, insert, measured, new, scaling, state};

/// The unit of the offset at which the bits of a compacted filter begin.
const ORIGIN_UNIT: u64 = 4 << 20;

#[test]
fn reply_is_the_difference_of_sizes_and_then_zero() {
    for spec in [scaling(100_000, 0.01, 2), fixed(30_000, 1e-4), scaling(50_000, 0.2, 4)] {
        for share in [0, 1, 10, 40, 90] {
            let mut filter = new(spec, 7);
            insert(&mut filter, 0..spec.capacity * share / 100);
            let (len, size) = (filter.len(), filter.size_bytes());
            let freed = filter.compact();
            assert_eq!((size - filter.size_bytes(), filter.len()), (freed, len));
            assert!(freed > 0 || share == 90, "{filter:?}");
            let before = filter.encode_header();
            assert_eq!((filter.compact(), filter.encode_header()), (0, before));
        }
    }
}

/// A filter that is compacted at this load in per cent, and full afterwards.
fn refilled(capacity: u64, error_rate: f64, load: u64, seed: u64) -> Filter {
    let mut filter = new(fixed(capacity, error_rate), seed);
    insert(&mut filter, 0..capacity * load / 100);
    filter.compact();
    let room = filter.room();
    insert(&mut filter, capacity..capacity + room);
    assert!(filter.fp_rate() <= error_rate, "{load} %: {filter:?}");
    filter
}

#[test]
fn folded_filters_have_their_computed_rate_within_the_target() {
    for (error_rate, lookups) in [(0.1, 60_000), (0.01, 300_000), (1e-4, 2_000_000)] {
        for load in [1, 5, 13, 26, 38, 51, 70, 99] {
            let filter = refilled(20_000, error_rate, load, load);
            let (computed, measured) = (filter.fp_rate(), measured(&filter, lookups, load));
            let case = format!("{load} % at {error_rate}: {measured}, computed {computed}");
            let margin = 4.0 * measured.error;
            assert!(measured.mean <= error_rate + margin, "{case}");
            assert!((measured.mean - computed).abs() <= margin + 0.03 * computed, "{case}");
        }
    }
    // Without lookups: smaller rates, and several seeds.
    for (error_rate, capacity) in [(0.1, 4_000), (0.01, 9_000), (1e-4, 3_000), (1e-7, 6_000)] {
        for load in [3, 20, 33, 45, 55, 80] {
            let (mut sum, mut sum_computed) = (0.0, 0.0);
            for seed in 0..12 {
                let filter = refilled(capacity, error_rate, load, seed);
                sum += rate_of_folded(filter.layers().next().unwrap());
                sum_computed += filter.fp_rate();
            }
            let ratio = sum / sum_computed;
            assert!((0.93..1.07).contains(&ratio), "{load} % at {error_rate}: {ratio}");
        }
    }
}

#[test]
fn offsets_begin_behind_all_earlier_ones() {
    let mut filter = new(scaling(1_000_000, 0.01, 2), 17);
    let (mut end, mut next) = (filter.size_bytes(), 0);
    for _ in 0..4 {
        insert(&mut filter, next..next + 200_000);
        next += 200_000;
        end = end.max(filter.first_byte() + filter.size_bytes());
        let freed = filter.compact();
        let first = filter.first_byte();
        if freed > 0 {
            assert!(first >= end - u64::from(filter.layer_count()) * 1_000, "{first}, {end}");
            assert!(first.is_multiple_of(ORIGIN_UNIT) && first > 0);
        }
        // What a dump of the earlier bits would load is refused.
        if first > 0 {
            assert!(filter.write_chunk(first - 64, &[0; 64]).is_err());
            assert!(filter.write_chunk(0, &[0; 64]).is_err());
        }
        let filter = copied(&any(&filter));
        let mut chunks = Vec::new();
        filter.each_chunk(0, 4_096, |chunk| {
            chunks.push((chunk.offset, chunk.end()));
            std::ops::ControlFlow::Continue(())
        });
        assert_eq!(chunks[0].0, first);
        assert!(chunks.windows(2).all(|pair| pair[0].1 == pair[1].0));
    }
    assert!(filter.first_byte() > 0);
}

#[test]
fn empty_reserved_filters_become_one_page() {
    for spec in [scaling(1_000_000, 0.01, 2), fixed(1_000_000, 1e-6), scaling(20_000, 0.2, 1)] {
        let mut filter = new(spec, 19);
        assert!(filter.compact() > 0);
        let layer = filter.layers().next().unwrap();
        assert_eq!(layer.words().bytes(), layer.geometry().blocks_per_page() * 64);
        assert!(filter.is_empty() && filter.capacity() > 100, "{filter:?}");
        copied(&any(&filter));
        let room = filter.room();
        insert(&mut filter, 0..room / 2);
        assert!(finds_all(&filter, 0..room / 2));
    }
}

#[test]
fn fixed_filters_are_full_at_their_new_capacity() {
    let mut filter = new(fixed(50_000, 0.01), 23);
    insert(&mut filter, 0..9_000);
    assert!(filter.compact() > 0);
    assert!((9_000..14_000).contains(&filter.capacity()), "{filter:?}");
    let room = filter.room();
    let mut refused = false;
    for item in 0..room * 2 + 100 {
        let result = filter.insert_item(&(item + 9_000).to_le_bytes(), 0, &mut |_| true);
        refused |= result == Err(Error::Full(filter.capacity()));
    }
    assert!(refused && filter.len() == filter.capacity() && filter.fp_rate() <= 0.01);
}

#[test]
fn layers_of_one_page_stay_as_they_are() {
    for spec in [scaling(1, 0.01, 2), fixed(100, 1e-4), scaling(2_000, 0.01, 2)] {
        let mut filter = new(spec, 29);
        if filter.layers().next().unwrap().geometry().pages() > 1 {
            continue;
        }
        insert(&mut filter, 0..1);
        let before = state(&any(&filter));
        assert_eq!(filter.compact(), 0);
        assert!(state(&any(&filter)) == before && before.0.len() == 64);
    }
}
