//! False-positive rates of this project's layout, measured.

use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_reference::calls::CuckooCalls;
use bloomline_reference::random::Random;

use super::{Layout, compact, granted, item};

/// From this number on, no item is ever inserted.
const ABSENT: u64 = 1 << 40;

/// Asserts that the rate is not above the target, and that it is what the filter states.
fn assert_rate(filter: &AnyCuckoo, target: f64, what: &str) {
    // Some 600 hits at the least target rate, and thousands at the others.
    let tests = ((5_000.0 / target) as u64).min(6_000_000);
    let mut hits = 0;
    for call in 0..tests / 1_000 {
        let first = ABSENT + call * 1_000;
        let items: Vec<_> = (first..first + 1_000).map(item).collect();
        filter.contains_each(&mut items.iter().map(AsRef::as_ref), &mut |is_in| {
            hits += u64::from(is_in)
        });
    }
    let most = |rate: f64| {
        let expected = rate * tests as f64;
        expected + 4.0 * expected.sqrt()
    };
    let hits = hits as f64;
    let measured = hits / tests as f64;
    let stated = filter.current_rate().unwrap();
    assert!(hits <= most(target), "{what}: {measured:.3e} at a target of {target}");
    assert!(hits <= most(stated), "{what}: {measured:.3e}, stated as {stated:.3e}");
    assert!(stated <= target * (1.0 + 1e-9), "{what}: {stated:.3e} at a target of {target}");
    // Entries of equal prefixes are one false positive. Their number is far below a tenth.
    let least = 0.9 * stated * tests as f64;
    assert!(hits + 4.0 * least.sqrt() >= least, "{what}: {measured:.3e} of {stated:.3e}");
}

/// The targets, and the most bits per item at each in a reserved filter that is full.
const TARGETS: [(f64, f64); 3] = [(0.01, 10.0), (0.001, 13.4), (1e-4, 17.8)];

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn reserved_filters_keep_their_rate_when_they_are_full() {
    for (target, most_bits) in TARGETS {
        for is_fixed in [true, false] {
            for capacity in [1_000, 100_000] {
                let mut filter =
                    Layout::Bloomline { error_rate: target, is_fixed }.create(capacity);
                let size = filter.size_bytes();
                let mut number = 0;
                while number < capacity {
                    filter.insert(&item(number), &mut granted).unwrap();
                    number += 1;
                }
                assert_eq!((filter.table_count(), filter.size_bytes()), (1, size));
                assert_rate(&filter, target, &format!("{capacity} reserved"));
                let bits = size as f64 * 8.0 / capacity as f64;
                // A filter that grows has half of the target for its first table.
                let most = most_bits + if is_fixed { 0.0 } else { 1.15 };
                assert!(capacity < 100_000 || bits < most, "{target}: {bits:.2} bits per item");
            }
        }
    }
}

/// At each size, also in the middle of a doubling, then with half of the items replaced by others,
/// and after compaction.
fn assert_grown_rates(target: f64) {
    let mut filter = Layout::Bloomline { error_rate: target, is_fixed: false }.create(100);
    let mut random = Random::new(1);
    let mut live = Vec::new();
    let mut next = 0;
    for size in [100, 1_000, 3_000, 9_000, 10_000, 30_000, 100_000] {
        while live.len() < size {
            filter.insert(&item(next), &mut granted).unwrap();
            live.push(next);
            next += 1;
        }
        assert_rate(&filter, target, &format!("grown to {size}"));
    }
    for round in 0..3 {
        for _ in 0..50_000 {
            let at = random.below(live.len() as u64) as usize;
            assert!(filter.remove(&item(std::mem::replace(&mut live[at], next))));
            filter.insert(&item(next), &mut granted).unwrap();
            next += 1;
        }
        assert_rate(&filter, target, &format!("round {round} of replacements"));
    }
    let size = filter.size_bytes();
    for _ in 0..95_000 {
        let at = random.below(live.len() as u64) as usize;
        assert!(filter.remove(&item(live.swap_remove(at))));
    }
    compact(&mut filter);
    assert!(filter.size_bytes() < size / 5, "{} of {size} bytes", filter.size_bytes());
    assert_rate(&filter, target, "compacted");
    for _ in 0..30_000 {
        filter.insert(&item(next), &mut granted).unwrap();
        live.push(next);
        next += 1;
    }
    assert_rate(&filter, target, "grown after compaction");
    assert!(live.iter().all(|number| filter.contains(&item(*number))));
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn grown_filters_keep_their_rate() {
    TARGETS.iter().for_each(|(target, _)| assert_grown_rates(*target));
}

/// Wherever an insertion fills the filter, the stated rate stays below the target.
#[test]
fn the_stated_rate_never_exceeds_the_target() {
    let most = if cfg!(miri) { 200 } else { 20_000 };
    for error_rate in [0.9, 0.25, 0.01, 1e-3, 1e-5] {
        for capacity in [1, 5, 100, 1_000] {
            let mut filter = Layout::Bloomline { error_rate, is_fixed: false }.create(capacity);
            for number in 0..most {
                filter.insert(&item(number), &mut granted).unwrap();
                let rate = filter.current_rate().unwrap();
                assert!(rate <= error_rate * (1.0 + 1e-9), "{rate} of {error_rate}: {filter:?}");
            }
        }
    }
}
