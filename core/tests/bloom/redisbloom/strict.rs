//! What is written in RedisBloom's layout satisfies the strictest RedisBloom: after random
//! additions, merges and compactions, at all rates.

use bloomline_core::Error;
use bloomline_core::bloom::redisbloom::geometry::Options;
use bloomline_core::bloom::redisbloom::{RedisBloomFilter, RedisBloomParams};
use bloomline_core::host::AnyFilter;
use bloomline_reference::calls::Calls;
use bloomline_reference::random::Random;
use bloomline_reference::strict_loader::assert_loads;

fn new(options: u32, capacity: u64, error: f64, expansion: u32) -> AnyFilter {
    let params = RedisBloomParams { options: Options::from_bits(options), expansion };
    RedisBloomFilter::new(capacity, error, params, &mut |_| true).unwrap().into()
}

fn insert(filter: &mut AnyFilter, items: std::ops::Range<u64>) {
    for item in items {
        match filter.insert_item(&item.to_le_bytes(), 0, &mut |demand| demand.new_bytes < 1 << 24) {
            Ok(_) => {}
            // Nothing is inserted from here on.
            Err(Error::Full(_) | Error::ErrorRate(_) | Error::Refused(_)) => break,
            Err(other) => panic!("{other}"),
        }
    }
}

/// A filter of the same parameters with some items.
fn part(empty: &AnyFilter, items: std::ops::Range<u64>) -> AnyFilter {
    let mut part = empty.try_clone(&mut |_| true).unwrap();
    insert(&mut part, items);
    part
}

#[test]
fn random_lives_write_what_a_strict_loader_accepts() {
    const RATES: [f64; 8] = [1e-300, 1e-12, 1e-9, 1e-6, 1e-4, 0.01, 0.1, 0.25];
    let (mut merged, mut overfull, mut freed, mut grown) = (0, 0, 0, 0);
    for seed in 0..1_500 {
        let mut random = Random::new(seed);
        // Scaling, fixed, and those of old filters: hashes of 32 bits, sizes that are rounded.
        let options = [5, 5, 5, 13, 13, 4, 0, 1, 8][random.below(9) as usize];
        let error = RATES[random.below(8) as usize];
        let most = [4, 70, 900, 8_000][random.below(4) as usize];
        let capacity = 1 + random.below(most);
        let expansion = 1 + random.below(4) as u32;
        let empty = new(options, capacity, error, expansion);
        let (mut filter, mut next) = (part(&empty, 0..0), 0);
        for _ in 0..8 {
            let count = random.below(capacity * 5 / 4 + 2);
            match random.below(4) {
                0 => {
                    insert(&mut filter, next..next + count);
                    next += count;
                }
                // Parts that share none, some or most of their items with the filter.
                1 | 2 => {
                    let first = next.saturating_sub(random.below(count + 1));
                    let other = part(&empty, first..first + count);
                    let layers = filter.layer_count();
                    if filter.union(&[&other], &mut |_| true).is_ok() {
                        merged += 1;
                        overfull += u64::from(layers == 1 && filter.capacity() > empty.capacity());
                        next = next.max(first + count);
                    }
                }
                _ => freed += filter.compact().unwrap(),
            }
            assert_loads(&filter.encode_header());
            grown += u64::from(filter.layer_count() > 1);
        }
    }
    println!("{merged} merges, {overfull} overfull, {freed} bytes freed, {grown} grown");
    assert!(merged > 1_000 && overfull > 20 && freed > 100_000 && grown > 500);
}

#[test]
fn overfull_links_are_full_and_grow_from_what_they_hold() {
    let empty = new(5, 5_000, 0.01, 2);
    let (mut filter, other) = (part(&empty, 0..2_600), part(&empty, 2_600..5_200));
    assert_eq!(filter.union(&[&other], &mut |_| true), Ok(true));
    let len = filter.len();
    assert!(len > 5_000 && filter.capacity() == len && filter.room() == 0, "{filter:?}");
    // The same parts once more, which change nothing, and one with further shared items.
    assert_eq!(filter.union(&[&other], &mut |_| true), Ok(false));
    assert_eq!(filter.union(&[&part(&empty, 1_000..4_000)], &mut |_| true), Ok(false));
    assert_loads(&filter.encode_header());
    insert(&mut filter, 5_200..5_400);
    assert_eq!((filter.layer_count(), filter.capacity()), (2, len * 3));
    assert_loads(&filter.encode_header());
}
