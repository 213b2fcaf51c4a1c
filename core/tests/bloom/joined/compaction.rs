//! Compaction: sizes, rates, growth afterwards, offsets and headers.

use bloomline_core::Error;
use bloomline_core::chunk::Bits;
use bloomline_core::host::Filter;
use bloomline_core::spec::MAX_LAYERS;
use bloomline_reference::calls::Calls;
use bloomline_reference::random::Random;
use bloomline_reference::rate_of_bits::rate_of_folded;

use super::{any, copied, fixed, found, insert, new, scaling, state};

/// The unit of the offset at which the bits of a compacted filter begin.
const ORIGIN_UNIT: u64 = 4 << 20;

/// The share of random absent items that the filter reports as present, and its standard error.
fn measured(filter: &Filter, lookups: u64, seed: u64) -> (f64, f64) {
    let mut random = Random::new(seed);
    let absent = (0..lookups).map(|_| random.next() | 1 << 63);
    let hits = found(filter, absent).into_iter().filter(|&found| found).count();
    let rate = hits as f64 / lookups as f64;
    (rate, (rate.max(1.0 / lookups as f64) / lookups as f64).sqrt())
}

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

#[test]
fn folded_filters_have_their_computed_rate_within_the_target() {
    for (error_rate, lookups) in [(0.1, 60_000), (0.01, 300_000), (1e-4, 2_000_000)] {
        for load in [1, 5, 13, 26, 38, 51, 70, 99] {
            let capacity = 20_000;
            let mut filter = new(fixed(capacity, error_rate), load);
            insert(&mut filter, 0..capacity * load / 100);
            filter.compact();
            let room = filter.room();
            insert(&mut filter, capacity..capacity + room);
            let computed = filter.fp_rate();
            let (rate, error) = measured(&filter, lookups, load);
            let case = format!("{load} % at {error_rate}: {rate} +- {error}, computed {computed}");
            assert!(computed <= error_rate && rate <= error_rate + 4.0 * error, "{case}");
            assert!((rate - computed).abs() <= 4.0 * error + 0.03 * computed, "{case}");
        }
    }
}

#[test]
fn computed_rates_agree_with_the_bits_of_folded_layers() {
    for (error_rate, capacity) in [(0.1, 4_000), (0.01, 9_000), (1e-4, 3_000), (1e-7, 6_000)] {
        for load in [3, 20, 33, 45, 55, 80] {
            let (mut sum, mut sum_computed) = (0.0, 0.0);
            for seed in 0..12 {
                let mut filter = new(fixed(capacity, error_rate), seed);
                insert(&mut filter, 0..capacity * load / 100);
                filter.compact();
                let room = filter.room();
                insert(&mut filter, capacity..capacity + room);
                let layer = filter.layers().next().unwrap();
                sum += rate_of_folded(layer);
                sum_computed += layer.fp_rate(filter.len());
                assert!(layer.fp_rate(filter.len()) <= error_rate);
            }
            let ratio = sum / sum_computed;
            assert!((0.93..1.07).contains(&ratio), "{load} % at {error_rate}: {ratio}");
        }
    }
}

#[test]
fn rates_stay_within_the_target_over_many_cycles() {
    for (spec, most) in [
        (scaling(1_000, 0.01, 2), 40_000),
        (scaling(3_000, 1e-4, 1), 30_000),
        (scaling(4_000, 0.1, 4), 300_000),
        (scaling(100_000, 1e-3, 2), 120_000),
    ] {
        let (mut filter, mut random, mut next) = (new(spec, 11), Random::new(spec.capacity), 0);
        let mut freed = 0;
        while next < most {
            let count = 1 + random.below(most / 12);
            insert(&mut filter, next..next + count);
            next += count;
            freed += filter.compact();
            assert!(filter.fp_rate() <= spec.error_rate, "{filter:?}");
            let full: f64 = filter.layers().map(|layer| layer.fp_rate(layer.capacity())).sum();
            assert!(full <= spec.error_rate * (1.0 + 1e-9), "{full} {filter:?}");
            copied(&any(&filter));
        }
        assert!(freed > 0 && filter.layer_count() < MAX_LAYERS, "{filter:?}");
        assert!(found(&filter, 0..next).into_iter().all(|found| found));
        let (rate, error) = measured(&filter, 200_000, 5);
        assert!(rate <= spec.error_rate + 4.0 * error, "{rate} +- {error}");
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
        assert_eq!(insert(&mut filter, 0..room / 2), filter.len());
        assert!(found(&filter, 0..room / 2).into_iter().all(|found| found));
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
