//! Compaction in RedisBloom's layout: a folded link is the link that would have been built smaller.

use bloomline_core::bloom::redisbloom::RedisBloomFilter;
use bloomline_core::bloom::redisbloom::geometry::RedisBloomShape;
use bloomline_core::chunk::Bits;
use bloomline_reference::checks::header::{Classic, Header, Link};
use bloomline_reference::redisbloom::{ModelLayer, Plan};

use crate::filters::{bits, classic, finds_all, fixed, insert, with_options};

/// The bits of the link that the reference model builds with a number of bits.
fn native(options: u32, shape: &RedisBloomShape, items: u64) -> Vec<u8> {
    let RedisBloomShape { capacity, error, hashes, bits, log2_bits, .. } = *shape;
    let mut model = ModelLayer::new(Plan { capacity, error, hashes, bits, log2_bits });
    for item in (0..items).map(u64::to_le_bytes) {
        model.set(options, &item);
    }
    model.bits.as_raw_slice().to_vec()
}

#[test]
fn folded_links_equal_those_built_with_fewer_bits() {
    let mut folds = std::collections::BTreeSet::new();
    for options in [5, 4, 0, 1, 13] {
        for (capacity, error) in [(1_000, 0.01), (5_000, 1e-3), (12_345, 0.2), (4_096, 1e-6)] {
            for load in [0, 1, 4, 9, 17, 30, 48, 60] {
                let mut filter = with_options(options, capacity, error);
                let items = filter.capacity() * load / 100;
                // An item that seems to be present sets no bits, as in the model.
                insert(&mut filter, 0..items);
                let (len, before) = (filter.len(), filter.size_bytes());
                let old = filter.layers().next().unwrap().shape().bits;
                let freed = filter.compact();
                let shape = *filter.layers().next().unwrap().shape();
                assert_eq!((before - filter.size_bytes(), filter.len()), (freed, len));
                assert!(old.is_multiple_of(shape.bits) && shape.is_sound(), "{shape:?}");
                folds.insert(old / shape.bits);
                assert!(bits(&filter)[0] == native(options, &shape, items), "{options} {shape:?}");
                assert!(finds_all(&filter, 0..items));
                assert_eq!(filter.compact(), 0);
                assert!(filter.room() + len <= shape.capacity.max(len), "{shape:?}");
            }
        }
    }
    assert!(folds.len() > 8 && folds.iter().any(|fold| !fold.is_power_of_two()), "{folds:?}");
}

#[test]
fn links_fold_by_each_divisor_of_their_words() {
    /// Below, no link of this target rate keeps it with those that follow.
    const LEAST_BITS: u64 = 629;
    /// From here on every link does.
    const ENOUGH_BITS: u64 = 909;
    let mut sizes = std::collections::BTreeSet::new();
    // 720 words: as many divisors as a small number has.
    let template = *classic(fixed(4_000, 0.01)).layers().next().unwrap().shape();
    let shape = RedisBloomShape {
        bits: 720 * 64,
        capacity: (720.0 * 64.0 / template.bits_per_item) as u64,
        ..template
    };
    for divisor in (1..=720).filter(|divisor| 720u64.is_multiple_of(*divisor)) {
        let bits_of_part = shape.bits / divisor;
        // A little less than fits, since some of the target rate is for coinciding bits.
        let items = (bits_of_part as f64 / shape.bits_per_item * 0.92) as u64;
        let header = header_of(&shape, items);
        let mut filter = RedisBloomFilter::decode_header(&header, &mut |_| true).unwrap();
        let bytes = native(5, &shape, items);
        filter.write_chunk(0, &bytes).unwrap();
        filter.compact();
        let folded = *filter.layers().next().unwrap().shape();
        if bits_of_part >= ENOUGH_BITS {
            assert!(folded.bits <= bits_of_part && folded.capacity >= items, "{divisor}");
            assert!(folded.bits * 100 >= bits_of_part * 92, "{divisor}: {folded:?}");
            sizes.insert(folded.bits);
        }
        assert!(folded.bits >= LEAST_BITS, "{divisor}: {folded:?}");
        let small = RedisBloomShape { bits: folded.bits, ..shape };
        assert!(bits(&filter)[0] == native(5, &small, items), "{divisor}");
        assert!(finds_all(&filter, 0..items));
    }
    assert!(sizes.len() > 15, "{sizes:?}");
}

/// The header of a filter of one link, which holds a number of items.
fn header_of(shape: &RedisBloomShape, items: u64) -> Vec<u8> {
    let link = Link { shape: RedisBloomShape { len: items, ..*shape }, bytes: shape.bits / 8 };
    let (count, options, expansion) = (1, 5, 2);
    let header = Classic { total: items, count, options, expansion, links: vec![link] };
    Header::Classic(header).encode()
}
