//! The filter for programs: its builder, its methods, and its bytes.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::error::Error as _;

use bloomline_core::{BloomFilter, Error, Layout};

/// Checks every allocation when it is freed.
#[cfg(feature = "audit")]
#[global_allocator]
static ALLOCATOR: bloomline_core::memory::ledger::Audited<std::alloc::System> =
    bloomline_core::memory::ledger::Audited(std::alloc::System);

const LAYOUTS: [Layout; 2] = [Layout::Bloomline, Layout::RedisBloom];

fn filled(layout: Layout, items: u32) -> BloomFilter {
    let mut filter = BloomFilter::builder().layout(layout).seed(7).build().unwrap();
    filter.try_extend((0..items).map(u32::to_le_bytes)).unwrap();
    filter
}

fn assert_equal(one: &BloomFilter, other: &BloomFilter) {
    assert_eq!(one.header(), other.header());
    assert!(one.chunks().eq(other.chunks()));
}

#[test]
fn contains_items_of_any_byte_type() {
    for layout in LAYOUTS {
        let mut filter = BloomFilter::builder().layout(layout).build().unwrap();
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
fn batches_answer_as_single_calls_do() {
    for layout in LAYOUTS {
        let items: Vec<[u8; 4]> = (0..1_000u32).map(|n| (n % 700).to_le_bytes()).collect();
        let mut one_by_one = filled(layout, 100);
        let mut batch = one_by_one.try_clone().unwrap();
        let expected: Vec<bool> =
            items.iter().map(|item| one_by_one.insert(item).unwrap()).collect();
        let mut answers = Vec::new();
        batch.insert_batch(items.iter().map(<[u8; 4]>::as_slice), |new| answers.push(new.unwrap()));
        assert_eq!(answers, expected);
        assert_equal(&batch, &one_by_one);

        let mut found = 0;
        batch.contains_batch(items.iter().map(<[u8; 4]>::as_slice), |is_in| {
            found += u32::from(is_in)
        });
        assert_eq!(found, 1_000);
    }
}

#[test]
fn builder_refuses_numbers_out_of_range() {
    let build = |builder: bloomline_core::Builder| builder.build().map(|_| ()).unwrap_err();
    let builder = BloomFilter::builder;
    assert_eq!(build(builder().capacity(0)), Error::Capacity(0));
    assert_eq!(build(builder().capacity((1 << 40) + 1)), Error::Capacity((1 << 40) + 1));
    assert_eq!(build(builder().false_positive_rate(0.0)), Error::ErrorRate(0.0));
    assert_eq!(build(builder().false_positive_rate(0.3)), Error::ErrorRate(0.3));
    assert_eq!(build(builder().expansion(0)), Error::Expansion(0));
    assert_eq!(build(builder().expansion(32_769)), Error::Expansion(32_769));
}

#[test]
fn growth_stops_at_the_memory_limit() {
    for layout in LAYOUTS {
        let builder = BloomFilter::builder().layout(layout).memory_limit(10_000);
        let mut filter = builder.build().unwrap();
        let error = filter.try_extend((0..1_000_000u32).map(u32::to_le_bytes)).unwrap_err();
        assert!(matches!(error, Error::Refused(bytes) if bytes > 10_000), "{error}");
        assert!(filter.size_bytes() <= 10_000);
        assert!(filter.contains(0u32.to_le_bytes()));
        assert!(matches!(
            BloomFilter::builder().layout(layout).capacity(100_000).memory_limit(10_000).build(),
            Err(Error::Refused(_))
        ));
    }
}

#[test]
fn full_fixed_filter_refuses_new_items() {
    for layout in LAYOUTS {
        let mut filter =
            BloomFilter::builder().layout(layout).capacity(50).fixed().build().unwrap();
        let error = filter.try_extend((0..100u32).map(u32::to_le_bytes)).unwrap_err();
        assert_eq!(error, Error::Full(50));
        assert_eq!((filter.len(), filter.capacity()), (50, 50));
    }
}

#[test]
fn header_and_chunks_give_an_equal_filter() {
    for layout in LAYOUTS {
        let filter = filled(layout, 5_000);
        let header = filter.header();
        let copy = BloomFilter::from_parts(&header, filter.chunks(), 1 << 20).unwrap();
        assert_equal(&copy, &filter);
        assert!(matches!(
            BloomFilter::from_parts(&header, filter.chunks(), 1_000),
            Err(Error::Refused(_))
        ));
        let too_long = [0; 1 << 20];
        let error = BloomFilter::from_parts(&header, [too_long.as_slice()], 1 << 20).unwrap_err();
        assert!(matches!(error, Error::Chunk(_)), "{error}");
    }
}

#[test]
fn header_errors_have_a_source() {
    let error = BloomFilter::from_parts(&[0; 64], [], 1 << 20).unwrap_err();
    assert_eq!(error.to_string(), "bad header: bad magic");
    assert_eq!(error.source().unwrap().to_string(), "bad magic");
    assert!(Error::Full(1).source().is_none());
}

#[test]
fn debug_prints_numbers_and_no_bits() {
    let text = format!("{:?}", filled(Layout::Bloomline, 50));
    assert!(text.contains("items: 50") && text.contains("layers: 1"), "{text}");
    assert!(text.len() < 300, "{text}");
}

#[test]
fn filter_is_send_and_sync() {
    fn assert_is<T: Send + Sync>() {}
    assert_is::<BloomFilter>();
}

#[cfg(feature = "serde")]
mod serde {
    use super::*;

    #[test]
    fn serde_round_trip_gives_an_equal_filter() {
        for layout in LAYOUTS {
            let filter = filled(layout, 3_000);
            let json = serde_json::to_string(&filter).unwrap();
            assert_equal(&serde_json::from_str(&json).unwrap(), &filter);
        }
    }

    #[test]
    fn serde_refuses_bits_of_another_length() {
        for layout in LAYOUTS {
            let filter = filled(layout, 3_000);
            let header = filter.header();
            let mut bits: Vec<u8> = filter.chunks().flatten().copied().collect();
            for _ in 0..2 {
                bits.pop();
                let json = serde_json::to_string(&(&header, &bits)).unwrap();
                assert!(serde_json::from_str::<BloomFilter>(&json).is_err());
            }
        }
    }
}
