//! Filters of every history.

use std::ops::Range;
use std::time::Duration;

use bloomline_core::{BloomFilter, Layout, Window};

use super::{builder, bytes_of, filled};

/// A filter with a history.
pub struct Case {
    pub name: String,
    pub filter: BloomFilter,
    /// The items that were inserted.
    pub items: Range<u32>,
    /// The target rate.
    pub rate: f64,
}

/// The capacities of the tests are such that links of RedisBloom's layout have many divisors.
pub fn compacted(mut filter: BloomFilter) -> BloomFilter {
    assert!(filter.compact() > 0);
    filter
}

pub fn merged(mut one: BloomFilter, other: &BloomFilter) -> BloomFilter {
    assert_eq!(one.union(other), Ok(true));
    one
}

fn extended(mut filter: BloomFilter, items: Range<u32>) -> BloomFilter {
    filter.try_extend(bytes_of(items)).unwrap();
    filter
}

/// Filters of every history in one layout.
pub fn cases(layout: Layout) -> Vec<Case> {
    let of = |capacity| builder(layout, capacity);
    let wide = || of(1_000).false_positive_rate(0.1);
    let overfull = || merged(filled(wide(), 0..550), &filled(wide(), 550..1_100));
    let again = |mut filter: BloomFilter| {
        filter.compact();
        filter
    };
    let tenth = || filled(of(50_000), 0..5_000);
    let filters: [(&str, u32, BloomFilter); 16] = [
        ("empty", 0, of(100).build().unwrap()),
        ("fresh", 600, filled(of(1_000), 0..600)),
        ("grown", 3_000, filled(of(100), 0..3_000)),
        ("fixed", 300, filled(of(500).fixed(), 0..300)),
        ("full", 500, filled(of(500).fixed(), 0..500)),
        ("compacted, empty", 0, compacted(of(50_000).build().unwrap())),
        ("compacted", 5_000, compacted(tenth())),
        ("compacted, fixed", 5_000, compacted(filled(of(49_997).fixed(), 0..5_000))),
        ("grown, compacted", 6_500, compacted(filled(of(5_173), 0..6_500))),
        ("compacted, grown", 20_000, extended(compacted(tenth()), 5_000..20_000)),
        ("compacted, grown, compacted", 9_000, again(extended(compacted(tenth()), 5_000..9_000))),
        ("merged", 1_500, merged(filled(of(2_000), 0..800), &filled(of(2_000), 700..1_500))),
        (
            "merged with a grown one",
            6_000,
            merged(filled(of(1_000), 0..100), &filled(of(1_000), 0..6_000)),
        ),
        ("merged above its capacity", 1_100, overfull()),
        ("merged above its capacity, grown", 4_000, extended(overfull(), 1_100..4_000)),
        (
            "merged, compacted",
            10_000,
            compacted(merged(tenth(), &filled(of(50_000), 5_000..10_000))),
        ),
    ];
    let windows = || -> [(&str, u32, BloomFilter); 4] {
        let hour = Duration::from_secs(3_600);
        [
            ("windowed", 600, filled(of(5_000).window(hour), 0..600)),
            ("windowed, overflowing", 900, filled(of(800).window(hour), 0..900)),
            ("windowed, fixed", 100, filled(of(800).fixed().window(hour), 0..100)),
            ("windowed, by hand", 600, filled(of(5_000).window(Window::Manual), 0..600)),
        ]
    };
    let windowed = (layout == Layout::Bloomline).then(windows);
    let case = |(name, items, filter): (&str, u32, BloomFilter)| Case {
        name: format!("{layout:?}, {name}"),
        filter,
        items: 0..items,
        rate: if name.starts_with("merged above") { 0.1 } else { 0.01 },
    };
    filters.into_iter().chain(windowed.into_iter().flatten()).map(case).collect()
}
