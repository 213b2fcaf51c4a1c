//! The filter for programs: each method, on filters of every history, in both layouts.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::ops::Range;

use bloomline_core::error::Parameter;
use bloomline_core::host::{AnyFilter, MAX_EXPANSION};
use bloomline_core::{BloomFilter, Builder, Error, Layout, ReadError};

use cases::{Case, cases};

mod bytes;
mod cases;
mod windows;
#[cfg(feature = "serde")]
mod with_serde;

/// Checks every allocation when it is freed.
#[cfg(feature = "audit")]
#[global_allocator]
static ALLOCATOR: bloomline_core::memory::ledger::Audited<std::alloc::System> =
    bloomline_core::memory::ledger::Audited(std::alloc::System);

const LAYOUTS: [Layout; 2] = [Layout::Bloomline, Layout::RedisBloom];

/// Items that no filter of the tests was given.
const ABSENT: Range<u32> = 1_000_000..1_020_000;

fn bytes_of(items: Range<u32>) -> impl Iterator<Item = [u8; 4]> {
    items.map(u32::to_le_bytes)
}

fn builder(layout: Layout, capacity: u64) -> Builder {
    BloomFilter::builder().layout(layout).capacity(capacity).seed(7)
}

fn filled(builder: Builder, items: Range<u32>) -> BloomFilter {
    let mut filter = builder.build().unwrap();
    filter.try_extend(bytes_of(items)).unwrap();
    filter
}

/// Runs a check on each filter.
fn for_each(check: impl Fn(Case)) {
    for case in LAYOUTS.into_iter().flat_map(cases) {
        println!("{}", case.name);
        check(case);
    }
}

fn written(filter: &BloomFilter) -> Vec<u8> {
    let mut bytes = Vec::new();
    filter.write_to(&mut bytes).unwrap();
    assert_eq!(filter.serialized_len(), bytes.len() as u64);
    bytes
}

fn read(bytes: &[u8]) -> Result<BloomFilter, ReadError> {
    BloomFilter::read_from(bytes, u64::MAX)
}

fn assert_equal(one: &BloomFilter, other: &BloomFilter) {
    assert!(written(one) == written(other));
    assert!(one == other);
}

/// The results of inserting items one by one, until the first error.
fn insert_each(filter: &mut BloomFilter, items: Range<u32>) -> Vec<Result<bool, Error>> {
    let mut results = Vec::new();
    for item in bytes_of(items) {
        results.push(filter.insert(item));
        if results.last().is_some_and(Result::is_err) {
            break;
        }
    }
    results
}

#[test]
fn contains_items_of_any_byte_type() {
    for layout in LAYOUTS {
        let mut filter = builder(layout, 100).build().unwrap();
        assert!(filter.is_empty());
        assert!(filter.insert("text").unwrap());
        assert!(filter.insert(String::from("string")).unwrap());
        assert!(filter.insert(b"bytes").unwrap());
        assert!(filter.insert([1u8, 2, 3]).unwrap());
        assert!(!filter.insert("text").unwrap());
        assert_eq!(filter.len(), 4);
        assert!(filter.contains("bytes") && filter.contains(b"text") && filter.contains([1, 2, 3]));
        assert!(!filter.contains("absent"));
    }
}

#[test]
fn all_items_are_found_and_absent_ones_at_the_target_rate() {
    for_each(|Case { filter, items, rate, .. }| {
        assert!(bytes_of(items.clone()).all(|item| filter.contains(item)));
        let found = bytes_of(ABSENT).filter(|item| filter.contains(item)).count();
        let share = found as f64 / ABSENT.len() as f64;
        assert!(share <= rate * 1.1, "{share} above {rate}");

        let all: Vec<_> = bytes_of(items).chain(bytes_of(ABSENT)).collect();
        let mut answers = Vec::new();
        filter.contains_batch(all.iter().map(<[u8; 4]>::as_slice), |is_in| answers.push(is_in));
        assert!(answers.into_iter().eq(all.iter().map(|item| filter.contains(item))));
    });
}

#[test]
fn counts_describe_the_items() {
    for_each(|Case { filter, items, rate, .. }| {
        let (len, inserted) = (filter.len(), items.len() as f64);
        // Items that seem to be present are not counted. Merging counts by an estimate.
        assert!((len as f64 - inserted).abs() <= inserted * (rate + 0.01), "{len}");
        assert_eq!(filter.is_empty(), items.is_empty());
        assert!(filter.capacity() >= 1);
        let estimate = filter.estimate();
        let error = (estimate.items - items.len() as f64).abs();
        assert!(error <= 4.0 * estimate.standard_error() + 1.0, "{estimate:?}");
        assert!(filter.size_bytes() > 0);
        let (size, capacity) = (filter.size_bytes(), filter.capacity());
        let inner = filter.into_inner();
        assert_eq!((inner.len(), inner.size_bytes(), inner.capacity()), (len, size, capacity));
    });
}

#[test]
fn insertions_one_by_one_and_in_batches_are_equal() {
    for_each(|Case { filter, items, .. }| {
        let mut same = filter.try_clone().unwrap();
        assert!(insert_each(&mut same, items.clone()).into_iter().all(|new| new == Ok(false)));
        assert_equal(&same, &filter);

        // Known items and new ones, which make most of the filters grow.
        let more = items.end.saturating_sub(50)..items.end + 2_000;
        let mut one_by_one = filter.try_clone().unwrap();
        let expected = insert_each(&mut one_by_one, more.clone());
        let new = expected.iter().filter(|new| **new == Ok(true)).count() as u64;
        let error = expected.last().and_then(|last| last.err());
        assert_eq!(one_by_one.len(), filter.len() + new);
        assert!(matches!(error, None | Some(Error::Full(_))));

        let mut batch = filter.try_clone().unwrap();
        let all: Vec<_> = bytes_of(more.clone()).collect();
        let mut results = Vec::new();
        batch.insert_batch(all.iter().map(<[u8; 4]>::as_slice), |new| results.push(new));
        assert_eq!(results, expected);
        assert_equal(&batch, &one_by_one);

        let mut all = filter;
        assert_eq!(all.try_extend(bytes_of(more)), error.map_or(Ok(new), Err));
        assert_equal(&all, &one_by_one);
    });
}

#[test]
fn clones_are_equal_and_independent() {
    for_each(|Case { filter, items, .. }| {
        let mut clone = filter.try_clone().unwrap();
        assert_equal(&clone, &filter);
        let before = written(&filter);
        insert_each(&mut clone, items.end..items.end + 500);
        assert!(written(&filter) == before);
    });
}

#[test]
fn clones_without_a_result_are_equal() {
    for_each(|Case { filter, items, .. }| {
        let mut clone = filter.clone();
        assert_equal(&clone, &filter);
        // Fixed filters may be full.
        if insert_each(&mut clone, items.end..items.end + 20).contains(&Ok(true)) {
            assert!(clone != filter);
        }
    });
}

#[test]
fn filters_of_other_parameters_differ() {
    for_each(|Case { filter, .. }| {
        for layout in LAYOUTS {
            for capacity in [99, 100] {
                let other = builder(layout, capacity).build().unwrap();
                assert_eq!(filter == other, written(&filter) == written(&other));
            }
        }
    });
}

#[test]
fn cleared_filter_is_empty_and_can_be_filled_again() {
    for_each(|Case { mut filter, items, .. }| {
        let rate = filter.target_rate();
        filter.clear();
        assert_eq!((filter.len(), filter.false_positive_rate()), (0, 0.0));
        assert!(filter.is_empty());
        assert!(!bytes_of(items.clone()).any(|item| filter.contains(item)));
        assert!((filter.target_rate() - rate).abs() < 1e-12);
        let results = insert_each(&mut filter, items.clone());
        let inserted = results.iter().filter(|result| result.is_ok()).count() as u32;
        assert!(bytes_of(0..inserted).all(|item| filter.contains(item)));
        assert_equal(&read(&written(&filter)).unwrap(), &filter);
    });
}

#[test]
fn hashes_are_the_items_of_their_bytes() {
    for layout in LAYOUTS {
        let mut filter = builder(layout, 1_000).false_positive_rate(1e-6).build().unwrap();
        for hash in (0..500u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) {
            assert_eq!(filter.insert_hash(hash), Ok(true));
            assert!(filter.contains_hash(hash) && filter.contains(hash.to_le_bytes()));
        }
        assert!(!filter.contains_hash(12_345));
        assert_eq!(filter.len(), 500);
    }
}

#[test]
fn computed_rate_is_that_of_absent_items() {
    for_each(|Case { filter, name, .. }| {
        let computed = filter.false_positive_rate();
        let found = bytes_of(ABSENT).filter(|item| filter.contains(item)).count() as f64;
        let expected = computed * ABSENT.len() as f64;
        let deviation = expected.sqrt().max(1.0);
        assert!((found - expected).abs() <= 5.0 * deviation, "{name}: {found}, not {expected}");
    });
}

#[test]
fn union_has_the_items_of_both() {
    for_each(|Case { mut filter, items, name, .. }| {
        // Links above their capacity are not merged with those of a filter that has grown.
        if name.starts_with("RedisBloom, merged above") {
            return;
        }
        let mut other = filter.try_clone().unwrap();
        assert_eq!(filter.union(&other), Ok(false));
        assert_equal(&filter, &other);
        let results = insert_each(&mut other, items.end..items.end + 20);
        let added = results.iter().filter(|result| result.is_ok()).count() as u32;
        let is_new = results.contains(&Ok(true));
        assert_eq!(filter.union(&other), Ok(is_new));
        assert!(bytes_of(0..items.end + added).all(|item| filter.contains(item)));
        assert_equal(&read(&written(&filter)).unwrap(), &filter);
    });
}

#[test]
fn compacting_loses_no_item_and_returns_the_bytes() {
    for_each(|Case { mut filter, items, .. }| {
        let (size, len) = (filter.size_bytes(), filter.len());
        let freed = filter.compact();
        assert_eq!((filter.size_bytes(), filter.len()), (size - freed, len));
        assert!(bytes_of(items).all(|item| filter.contains(item)));
        assert_eq!(filter.compact(), 0);
        assert_equal(&read(&written(&filter)).unwrap(), &filter);
    });
}

#[test]
fn debug_prints_numbers_and_no_bits() {
    for_each(|Case { filter, .. }| {
        let text = format!("{filter:?}");
        assert!(text.contains(&format!("items: {}", filter.len())), "{text}");
        assert!(
            (text.contains("layers: ") || text.contains("generations: ")) && text.len() < 300,
            "{text}"
        );
    });
}

#[test]
fn seeds_are_random_unless_given() {
    let (one, other) = (BloomFilter::builder().build(), BloomFilter::builder().build());
    let (mut one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one.union(&other), Err(Error::Differs(Parameter::Seed)));
    let builder = BloomFilter::builder();
    let (mut one, other) = (builder.clone().build().unwrap(), builder.build().unwrap());
    assert_eq!(one.union(&other), Err(Error::Differs(Parameter::Seed)));
    let seed = |filter: BloomFilter| match filter.into_inner() {
        AnyFilter::Bloomline(filter) => filter.seed(),
        _ => panic!("another layout"),
    };
    assert_eq!(seed(BloomFilter::builder().seed(7).build().unwrap()), 7);
    let mut seeds: Vec<u64> =
        (0..1_000).map(|_| seed(BloomFilter::builder().build().unwrap())).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 1_000);
    // Every bit is 0 in some of them and 1 in others.
    assert_eq!(seeds.iter().fold(0, |or, seed| or | seed), u64::MAX);
    assert_eq!(seeds.iter().fold(u64::MAX, |and, seed| and & seed), 0);
}

#[test]
fn builder_refuses_numbers_out_of_range() {
    for layout in LAYOUTS {
        let build = |builder: Builder| builder.build().map(|_| ()).unwrap_err();
        let builder = || BloomFilter::builder().layout(layout);
        let most = if layout == Layout::Bloomline { 0.25 } else { 1.0f64.next_down() };
        assert_eq!(build(builder().capacity(0)), Error::Capacity(0));
        assert_eq!(build(builder().capacity((1 << 40) + 1)), Error::Capacity((1 << 40) + 1));
        assert_eq!(build(builder().false_positive_rate(0.0)), Error::ErrorRate(0.0));
        let above = most.next_up();
        assert_eq!(build(builder().false_positive_rate(above)), Error::ErrorRate(above));
        builder().false_positive_rate(most).build().unwrap();
        assert_eq!(build(builder().expansion(0)), Error::Expansion(0));
        assert_eq!(build(builder().expansion(32_769)), Error::Expansion(32_769));
        builder().expansion(32_768).build().unwrap();
    }
}

#[test]
fn errors_name_the_ranges() {
    use bloomline_core::bloomline::sizing::{MAX_CAPACITY, MAX_ERROR_RATE};
    use bloomline_core::window::{MAX_GENERATIONS, MAX_WINDOW_MILLIS, MIN_GENERATIONS};
    let rate = format!("above 0, at most {MAX_ERROR_RATE}, in RedisBloom's layout below 1");
    for (error, range) in [
        (Error::Capacity(0), format!("1 to {MAX_CAPACITY}")),
        (Error::ErrorRate(2.0), rate),
        (Error::Expansion(0), format!("1 to {MAX_EXPANSION}")),
        (Error::Window(0), format!("1 to {MAX_WINDOW_MILLIS} ms")),
        (Error::Generations(1), format!("{MIN_GENERATIONS} to {MAX_GENERATIONS}")),
    ] {
        let text = error.to_string();
        assert!(text.ends_with(&format!(" out of range: {range}")), "{text}");
    }
}

#[test]
fn growth_stops_at_the_memory_limit() {
    for layout in LAYOUTS {
        let limited = || builder(layout, 100).memory_limit(10_000);
        let mut filter = limited().build().unwrap();
        let error = filter.try_extend(bytes_of(0..1_000_000)).unwrap_err();
        assert!(matches!(error, Error::Refused(bytes) if bytes > 10_000), "{error}");
        assert!(filter.size_bytes() <= 10_000);
        assert!(filter.contains(0u32.to_le_bytes()));
        assert!(matches!(limited().capacity(100_000).build(), Err(Error::Refused(_))));
    }
}

#[test]
fn full_fixed_filter_refuses_new_items() {
    for layout in LAYOUTS {
        let mut filter = builder(layout, 50).fixed().build().unwrap();
        assert_eq!(filter.try_extend(bytes_of(0..100)), Err(Error::Full(50)));
        assert_eq!((filter.len(), filter.capacity()), (50, 50));
    }
}

#[test]
fn filter_is_send_and_sync() {
    fn assert_is<T: Send + Sync>() {}
    assert_is::<BloomFilter>();
    assert_is::<ReadError>();
}
