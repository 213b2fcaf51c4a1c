//! Filters with a window: what they find, and when they forget.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bloomline_core::{BloomFilter, Builder, Error, Layout, Window};

use super::{assert_equal, builder, bytes_of, filled, read, written};

/// A rate at which no test meets a false positive.
const RATE: f64 = 1e-9;

fn of(capacity: u64, window: impl Into<Window>) -> Builder {
    builder(Layout::Bloomline, capacity).false_positive_rate(RATE).window(window)
}

#[test]
fn item_is_found_for_the_window_and_one_generation_at_most() {
    let (window, slot) = (Duration::from_secs(80), Duration::from_secs(10));
    for refreshes in [true, false] {
        let spec = of(1_000, window);
        let spec = if refreshes { spec } else { spec.without_refreshing() };
        // The first generation is opened at the present time.
        let mut filter = spec.build().unwrap();
        let start = SystemTime::now() + slot;
        let second = |n: u64| start + Duration::from_secs(n);
        for n in 0..400 {
            assert_eq!(filter.insert_at(n.to_string(), second(n)), Ok(true));
            let is_new = filter.insert_at("again", second(n)).unwrap();
            assert!(!refreshes || is_new == (n == 0));
            let is_found = |age: u64| {
                n.checked_sub(age).is_none_or(|n| filter.contains_at(n.to_string(), second(n)))
            };
            assert!(is_found(0) && is_found(40));
            if let Some(old) = n.checked_sub(80) {
                assert!(filter.contains_at((old + 1).to_string(), second(n)), "{old} at {n}");
            }
            if let Some(old) = n.checked_sub(91) {
                assert!(!filter.contains_at(old.to_string(), second(n)), "{old} at {n}");
            }
        }
        let end = second(400) + 2 * window;
        assert!(!filter.contains_at("399", end) && !filter.contains_at("again", end));
        assert_equal(&read(&written(&filter)).unwrap(), &filter);
    }
}

#[test]
fn clock_of_the_system_is_used_without_a_time() {
    let mut filter = of(100, Duration::from_millis(1)).generations(2).build().unwrap();
    filter.insert("item").unwrap();
    let deadline = SystemTime::now() + Duration::from_secs(10);
    while filter.contains("item") {
        assert!(SystemTime::now() < deadline, "the item is still found");
        std::thread::yield_now();
    }
    assert_eq!(filter.len(), 0);
    let mut filter = of(100, Duration::from_secs(3_600)).build().unwrap();
    filter.insert_batch(["one", "two"], |new| assert_eq!(new, Ok(true)));
    filter.contains_batch(["one", "two"], |is_in| assert!(is_in));
    assert_eq!(filter.len(), 2);
}

#[test]
fn last_items_are_found_and_earlier_ones_forgotten() {
    let mut filter = of(1_000, Window::Last).build().unwrap();
    filter.try_extend(bytes_of(0..50_000)).unwrap();
    assert!(bytes_of(49_000..50_000).all(|item| filter.contains(item)));
    assert!(!bytes_of(0..48_700).any(|item| filter.contains(item)));
    assert!((1_000..=1_250).contains(&filter.len()), "{}", filter.len());
}

#[test]
fn rotation_by_hand_forgets_the_oldest_generation() {
    let mut filter = of(1_000, Window::Manual).generations(4).build().unwrap();
    for round in 0..20u32 {
        filter.try_extend(bytes_of(round * 100..(round + 1) * 100)).unwrap();
        for age in 0..20 {
            let Some(item) = (round * 100).checked_sub(age * 100) else { break };
            assert_eq!(filter.contains(item.to_le_bytes()), age <= 4, "age {age}");
        }
        filter.rotate().unwrap();
    }
    assert_equal(&read(&written(&filter)).unwrap(), &filter);
    for other in [builder(Layout::Bloomline, 10), of(10, Duration::from_secs(1))] {
        assert_eq!(other.build().unwrap().rotate(), Err(Error::Rotation));
    }
}

#[test]
fn memory_is_bounded_while_items_come_and_go() {
    let mut filter = of(1_000, Window::Manual).generations(2).build().unwrap();
    let mut most = 0;
    for round in 0..100u32 {
        filter.try_extend(bytes_of(round * 500..(round + 1) * 500)).unwrap();
        filter.rotate().unwrap();
        most = most.max(filter.size_bytes());
        if round == 5 {
            most = filter.size_bytes();
        }
    }
    assert_eq!(filter.size_bytes(), most);
    let mut limited = of(1_000, Window::Manual).memory_limit(most).build().unwrap();
    let error = limited.try_extend(bytes_of(0..1_000_000)).unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
}

#[test]
fn windows_out_of_range_are_refused() {
    let build = |builder: Builder| builder.build().map(|_| ()).unwrap_err();
    assert_eq!(build(of(100, Duration::ZERO)), Error::Window(0));
    assert_eq!(build(of(100, Window::Time { millis: u64::MAX })), Error::Window(u64::MAX));
    for generations in [0, 1, 65] {
        let builder = of(100, Window::Last).generations(generations);
        assert_eq!(build(builder), Error::Generations(generations));
    }
    let error = build(of(7, Window::Last).generations(8));
    assert_eq!(error, Error::TooFewItems { capacity: 7, generations: 8 });
    assert_eq!(error.to_string(), "capacity 7 is below the number of generations, 8");
    // Without a number of generations there are not more than items.
    of(7, Window::Last).build().unwrap();
    of(2, Window::Last).build().unwrap();
    let redisbloom = builder(Layout::RedisBloom, 100).window(Window::Last);
    assert_eq!(build(redisbloom), Error::Layout(Layout::RedisBloom));
}

#[test]
fn durations_are_rounded_up_to_milliseconds() {
    for (nanos, millis) in
        [(0, 0), (1, 1), (1_000_000, 1), (1_000_001, 2), (86_400_000_000_000, 86_400_000)]
    {
        assert_eq!(Window::from(Duration::from_nanos(nanos)), Window::Time { millis });
    }
    assert_eq!(Window::from(Duration::MAX), Window::Time { millis: u64::MAX });
}

#[test]
fn merged_and_compacted_windows_keep_their_items() {
    let mut one = of(10_000, Window::Manual).build().unwrap();
    let mut other = one.clone();
    one.try_extend(bytes_of(0..300)).unwrap();
    other.try_extend(bytes_of(300..600)).unwrap();
    assert_eq!(one.union(&other), Ok(true));
    assert!(bytes_of(0..600).all(|item| one.contains(item)));
    one.rotate().unwrap();
    assert!(one.compact() > 0);
    assert!(bytes_of(0..600).all(|item| one.contains(item)));
    assert_equal(&read(&written(&one)).unwrap(), &one);
    let plain: BloomFilter = filled(builder(Layout::Bloomline, 10_000), 0..1);
    assert!(one.union(&plain).is_err());
}

#[test]
fn times_before_1970_count_as_the_last_rotation() {
    let mut filter = of(100, Duration::from_secs(3_600)).build().unwrap();
    let early = UNIX_EPOCH - Duration::from_secs(5);
    assert_eq!(filter.insert_at("item", early), Ok(true));
    assert!(filter.contains("item") && filter.contains_at("item", early));
}
