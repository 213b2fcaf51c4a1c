//! Filters as words: given up and taken back, moved, and in another form than before.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::{self, NonNull};

use bloomline_core::bloom::valkey::ValkeyFilter;
use bloomline_core::bloom::window::{Window, WindowSpec, WindowedFilter};
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions, CuckooSpec};
use bloomline_core::host::valkey::{FIXED_SEED, ValkeyParams};
use bloomline_core::host::{AnyFilter, Filter, Growth, Mover, RedisBloomFilter, Spec, Stored};

const GROWING: Growth = Growth::Scaling { expansion: 2 };

fn spec(capacity: u64) -> Spec {
    Spec { capacity, error_rate: 0.01, growth: GROWING }
}

fn ring(capacity: u64) -> AnyFilter {
    let spec = WindowSpec {
        capacity,
        error_rate: 0.01,
        growth: GROWING,
        window: Window::Manual,
        generations: 2,
        refreshes: true,
    };
    WindowedFilter::new(spec, 7, 0, &mut |_| true).expect("memory").into()
}

fn of_valkey_bloom() -> AnyFilter {
    let params = ValkeyParams {
        expansion: 2,
        error_rate: 0.01,
        tightening: 0.5,
        seed: FIXED_SEED,
        is_random: false,
    };
    ValkeyFilter::new(50, params, &mut |_| true).expect("memory").into()
}

/// A filter of each tag and form, and the bytes of the box that it addresses: 0 if it has none.
fn kinds() -> [(AnyFilter, usize); 6] {
    let new = |capacity| AnyFilter::bloomline(spec(capacity), 7, &mut |_| true).expect("memory");
    let classic = AnyFilter::redisbloom(spec(50), 2, &mut |_| true).expect("memory");
    [
        (new(50), 0),
        (ring(50), 0),
        (new(5_000), size_of::<Filter>()),
        (ring(5_000), 176),
        (classic, size_of::<RedisBloomFilter>()),
        (of_valkey_bloom(), size_of::<ValkeyFilter>()),
    ]
}

fn fill(filter: &mut AnyFilter, items: std::ops::Range<u64>) {
    for item in items {
        filter.insert(&item.to_le_bytes(), 0, &mut |_| true).expect("memory");
    }
}

fn contains(filter: &AnyFilter, items: std::ops::Range<u64>) -> bool {
    items.into_iter().all(|item| filter.contains(&item.to_le_bytes(), 0))
}

/// The same filter after its word was given up, as a host does that stores it.
fn stored(filter: AnyFilter) -> AnyFilter {
    let word = filter.into_raw();
    // SAFETY: the word has no other owner.
    unsafe { AnyFilter::from_raw(word) }
}

#[test]
fn words_are_taken_back_in_any_form() {
    for (filter, _) in kinds() {
        let mut filter = stored(filter);
        for end in [1, 20, 70] {
            fill(&mut filter, 0..end);
            filter = stored(filter);
            assert!(contains(&filter, 0..end), "{filter:?}");
        }
        filter.check().expect("valid");
    }
}

#[test]
fn words_address_the_moved_allocation() {
    for (mut filter, bytes) in kinds() {
        fill(&mut filter, 0..20);
        let bytes = if bytes == 0 { filter.size_bytes() as usize } else { bytes };
        let layout = Layout::from_size_align(bytes, align_of::<u64>()).expect("a size");
        let mut is_first = true;
        let mut move_first = |from: NonNull<u8>| {
            if !std::mem::take(&mut is_first) {
                return None;
            }
            // SAFETY: the allocation has this layout; its copy has all of its bytes.
            unsafe {
                let to = NonNull::new(alloc(layout)).expect("memory");
                ptr::copy_nonoverlapping(from.as_ptr(), to.as_ptr(), bytes);
                dealloc(from.as_ptr(), layout);
                Some(to)
            }
        };
        // SAFETY: see above.
        let mut mover = unsafe { Mover::new(&mut move_first) };
        let (before, word) = (filter.encode_header(), filter.as_raw());
        assert_eq!(filter.relocate(0, &mut mover, || false), None);
        assert_ne!(filter.as_raw(), word);
        assert_eq!(filter.encode_header(), before);
        fill(&mut filter, 20..40);
        assert!(contains(&filter, 0..40), "{filter:?}");
    }
}

/// A burst takes a small ring out of its allocation, and the generation that drops the burst puts
/// it back.
#[test]
fn ring_is_one_allocation_again_after_a_burst() {
    let mut filter = ring(50);
    let allocations = |filter: &AnyFilter| {
        let mut count = 0;
        filter.each_allocation(|_| count += 1);
        count
    };
    let word = filter.as_raw();
    fill(&mut filter, 0..60);
    assert!(filter.as_raw() != word && allocations(&filter) > 1);
    for rotation in 1..=4 {
        let windowed = filter.windowed_mut().expect("a ring");
        windowed.rotate(rotation, &mut |_| true).expect("memory");
        let has_dropped = !windowed.take_dropped().is_empty();
        fill(&mut filter, 100 * rotation..100 * rotation + 5);
        let is_over = rotation > 2;
        assert_eq!(has_dropped, rotation == 3, "a small ring keeps none");
        assert_eq!(allocations(&filter) == 1, is_over, "after {rotation} rotations");
        assert_eq!(contains(&filter, 0..60), !is_over);
        filter = stored(filter);
    }
}

#[test]
fn cuckoo_words_are_taken_back() {
    let options = CuckooOptions { bucket_size: 2, max_iterations: 20, expansion: 1 };
    let spec = CuckooSpec { capacity: 50, error_rate: 0.01, options };
    let own = AnyCuckoo::bloomline(spec, 7, &mut |_| true).expect("memory");
    let classic = AnyCuckoo::redisbloom(50, options, &mut |_| true).expect("memory");
    for mut filter in [own, classic] {
        for item in 0..200u64 {
            filter.insert(&item.to_le_bytes(), &mut |_| true).expect("memory");
            let word = filter.into_raw();
            // SAFETY: the word has no other owner.
            filter = unsafe { AnyCuckoo::from_raw(word) };
            assert_eq!(filter.as_raw(), word);
            assert!(filter.contains(&item.to_le_bytes()));
        }
    }
}
