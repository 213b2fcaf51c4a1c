//! Headers with records of irregular layers: lengths, and each field out of range.

use bloomline_core::Error;
use bloomline_core::bloom::bloomline::header::{EXTENDED_BYTES, EXTENDED_VERSION, MAGIC};
use bloomline_core::bloom::bloomline::irregular::RECORD_BYTES;
use bloomline_core::bloom::bloomline::sizing::REVISION;
use bloomline_core::bloom::layer::Layer;
use bloomline_core::chunk::Bits;
use bloomline_core::error::{ChunkError, HeaderError};
use bloomline_core::host::{AnyFilter, Filter};

use super::{SEED, any, copied, insert, new, scaling};

/// The unit of the offset at which the bits begin.
const ORIGIN_UNIT: u64 = 4 << 20;

/// Index, pages and capacity of an irregular layer.
type Record = (u32, u32, u64);

/// The header of a filter of 100,000 items at 0.01 with these layers and records, not padded.
fn unpadded(layers: u32, records: &[Record], newest_len: u64, first_byte: u64) -> Vec<u8> {
    let mut bytes = [
        &MAGIC[..],
        &EXTENDED_VERSION.to_le_bytes(),
        &REVISION.to_le_bytes(),
        &[1, 0, 0, 0],
        &2u32.to_le_bytes(),
        &layers.to_le_bytes(),
        &100_000u64.to_le_bytes(),
        &0.01f64.to_le_bytes(),
        &SEED.to_le_bytes(),
        &[0; 8],
        &newest_len.to_le_bytes(),
        &first_byte.to_le_bytes(),
        &[0; 8],
    ]
    .concat();
    assert_eq!(bytes.len(), EXTENDED_BYTES);
    for (index, pages, capacity) in records {
        bytes.extend([index.to_le_bytes(), pages.to_le_bytes()].concat());
        bytes.extend(capacity.to_le_bytes());
    }
    bytes
}

fn header(layers: u32, records: &[Record], newest_len: u64, first_byte: u64) -> Vec<u8> {
    let mut bytes = unpadded(layers, records, newest_len, first_byte);
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    bytes
}

/// The error of a header that is refused before the permit is called.
fn refusal(header: &[u8]) -> Error {
    let uncalled = &mut |_| unreachable!("the permit is called for an invalid header");
    AnyFilter::decode_header(header, uncalled).expect_err("an invalid header")
}

fn decode(header: &[u8]) -> Filter {
    Filter::decode_header(header, &mut |_| true).unwrap()
}

/// The pages of the first layer.
fn pages() -> u32 {
    let filter = new(scaling(100_000, 0.01, 2), SEED);
    filter.layers().next().unwrap().geometry().pages() as u32
}

#[test]
fn valid_records_give_their_layers() {
    let all = pages();
    for (layers, records, newest_len, first_byte) in [
        (1, vec![(0, 1, 10)], 10, 0),
        (1, vec![(0, all / 2, 40_000)], 9, ORIGIN_UNIT),
        (1, vec![(0, all, 99_999)], 0, 3 * ORIGIN_UNIT),
        (1, vec![(0, all, 100_001)], 100_001, 0),
        (3, vec![(1, 20, 1_000)], 2_000, u64::from(u32::MAX) * ORIGIN_UNIT),
        (3, vec![(0, 20, 5_000), (2, 7, 700)], 700, ORIGIN_UNIT),
        (2, vec![], 100, ORIGIN_UNIT),
    ] {
        let header = header(layers, &records, newest_len, first_byte);
        let filter = decode(&header);
        assert_eq!(filter.encode_header(), header);
        assert_eq!((filter.layer_count(), filter.newest_len()), (layers, newest_len));
        assert_eq!(filter.first_byte(), first_byte);
        for (index, pages, capacity) in records {
            let layer = filter.layers().nth(index as usize).unwrap();
            assert_eq!(layer.fold().stored(), u64::from(pages));
            assert_eq!(layer.capacity(), capacity);
        }
        copied(&filter.into());
    }
}

#[test]
fn each_invalid_record_is_refused() {
    let all = pages();
    let irregular = |index| Error::from(HeaderError::Irregular(index));
    for (layers, records, error) in [
        // Twice, out of order, for layers that do not exist.
        (1, vec![(0, 5, 50), (0, 5, 50)], irregular(0)),
        (3, vec![(2, 5, 50), (0, 5, 50)], irregular(0)),
        (3, vec![(1, 5, 50), (1, 6, 50)], irregular(1)),
        (1, vec![(1, 5, 50)], irregular(1)),
        (1, vec![(u32::MAX, 5, 50)], irregular(u32::MAX)),
        (2, vec![(0, 5, 50), (2, 5, 50)], irregular(2)),
        // No pages, or more than the layer has.
        (1, vec![(0, 0, 50)], irregular(0)),
        (1, vec![(0, all + 1, 50)], irregular(0)),
        (1, vec![(0, u32::MAX, 50)], irregular(0)),
        (2, vec![(1, 0, 50)], irregular(1)),
        // No capacity: the bytes are left.
        (1, vec![(0, 5, 0)], irregular(0)),
        // All pages and the expected capacity: a regular layer.
        (1, vec![(0, all, 100_000)], irregular(0)),
        // A rate above the target.
        (1, vec![(0, all, 1_000_000)], irregular(0)),
        (1, vec![(0, 1, 10_000)], irregular(0)),
        (1, vec![(0, all / 2, u64::MAX)], irregular(0)),
        (2, vec![(0, all, 100_100), (1, 3, 90_000)], irregular(1)),
    ] {
        assert_eq!(refusal(&header(layers, &records, 0, 0)), error, "{layers} {records:?}");
    }
}

/// They also meet filters without generations and without layers.
#[test]
fn texts_of_offsets_name_neither_generations_nor_layers() {
    let header = Error::from(HeaderError::Offset(7)).to_string();
    assert_eq!(header, "bad header: offset 7 of its bytes is out of range");
    let chunk = Error::from(ChunkError::Offset(7)).to_string();
    assert!(chunk.ends_with("the filter has no bytes at offset or iterator 7"), "{chunk}");
}

#[test]
fn each_other_invalid_field_is_refused() {
    let valid = header(2, &[(0, 20, 5_000)], 7, ORIGIN_UNIT);
    decode(&valid);
    let changed = |at: usize, bytes: &[u8]| {
        let mut header = valid.clone();
        header[at..at + bytes.len()].copy_from_slice(bytes);
        header
    };
    let offset = |bytes: u64| (changed(64, &bytes.to_le_bytes()), HeaderError::Offset(bytes));
    let too_large = (u64::from(u32::MAX) + 1) * ORIGIN_UNIT;
    for (header, error) in [
        (changed(0, b"B"), HeaderError::Magic),
        (changed(8, &1u16.to_le_bytes()), HeaderError::Version(1)),
        (changed(8, &4u16.to_le_bytes()), HeaderError::Version(4)),
        (changed(10, &1u16.to_le_bytes()), HeaderError::Sizing(1)),
        (changed(14, &[1]), HeaderError::Reserved),
        (changed(48, &[1]), HeaderError::Reserved),
        (changed(55, &[128]), HeaderError::Reserved),
        (changed(72, &[1]), HeaderError::Reserved),
        (changed(79, &[128]), HeaderError::Reserved),
        (changed(20, &0u32.to_le_bytes()), HeaderError::Layers(0)),
        (changed(56, &100_001u64.to_le_bytes()), HeaderError::Len(100_001)),
        offset(1),
        offset(ORIGIN_UNIT - 64),
        offset(ORIGIN_UNIT + 64),
        offset(too_large),
        offset(u64::MAX),
        // A regular filter has version 1.
        (header(2, &[], 7, 0), HeaderError::Version(2)),
    ] {
        assert_eq!(refusal(&header), error.into());
    }
}

#[test]
fn layers_after_a_folded_one_have_the_reserved_capacity() {
    let all = pages();
    for (record, expected) in [
        ((0, 20, 5_000), [5_000, 100_000, 200_000, 400_000]),
        ((1, 20, 1_000), [100_000, 1_000, 100_000, 200_000]),
        ((2, 20, 700), [100_000, 200_000, 700, 100_000]),
        // A smaller capacity without a fold.
        ((0, all, 5_000), [5_000, 10_000, 20_000, 40_000]),
    ] {
        let bytes = header(3, &[record], 7, ORIGIN_UNIT);
        let mut filter = decode(&bytes);
        assert_eq!(filter.encode_header(), bytes, "{record:?}");
        let room = filter.room();
        insert(&mut filter, 0..room + 100);
        let capacities: Vec<u64> = filter.layers().map(Layer::capacity).collect();
        assert_eq!(capacities, expected, "{record:?}");
        copied(&filter.into());
    }
}

#[test]
fn other_lengths_and_additional_zeros_are_refused() {
    for records in 0..9u32 {
        let records: Vec<Record> = (0..records).map(|index| (index, 1, 50)).collect();
        let unpadded = unpadded(9, &records, 5, ORIGIN_UNIT);
        for len in unpadded.len()..unpadded.len() + 200 {
            let mut header = unpadded.clone();
            header.resize(len, 0);
            let is_valid = len == unpadded.len().next_multiple_of(64);
            assert_eq!(Filter::decode_header(&header, &mut |_| true).is_ok(), is_valid, "{len}");
            assert!(is_valid || AnyFilter::decode_header(&header, &mut |_| true).is_err());
        }
    }
    let mut header = header(1, &[(0, 5, 50)], 5, 0);
    header.extend([0; 64]);
    assert_eq!(refusal(&header), HeaderError::Length(192).into());
}

#[test]
fn no_header_has_a_length_of_redisbloom() {
    let spec = scaling(6, 0.25, 2);
    let (mut filter, mut lengths) = (new(spec, SEED), std::collections::BTreeSet::new());
    // A record for each layer: three items on one page, instead of six.
    for layers in 1..=400 {
        let mut bytes = new(spec, SEED).encode_header();
        bytes[20..24].copy_from_slice(&u32::to_le_bytes(layers));
        bytes.splice(48..48, [0; 8]);
        bytes[8..10].copy_from_slice(&EXTENDED_VERSION.to_le_bytes());
        bytes.extend([0; 8]);
        for index in 0..layers {
            bytes.extend([index.to_le_bytes(), 1u32.to_le_bytes()].concat());
            bytes.extend(3u64.to_le_bytes());
        }
        let used = EXTENDED_BYTES + RECORD_BYTES * layers as usize;
        assert_eq!(bytes.len(), used);
        let padded = used.next_multiple_of(64);
        let is_of_redisbloom = (padded - 20).is_multiple_of(53);
        bytes.resize(if is_of_redisbloom { padded + 64 } else { padded }, 0);
        filter = decode(&bytes);
        assert_eq!(filter.encode_header(), bytes);
        assert!(!(bytes.len() - 20).is_multiple_of(53));
        assert!(matches!(any(&filter), AnyFilter::Bloomline(_)));
        lengths.insert((padded, is_of_redisbloom));
        assert!(AnyFilter::decode_header(&bytes, &mut |_| true).is_ok());
    }
    assert!(lengths.iter().any(|&(_, is_of_redisbloom)| is_of_redisbloom), "{lengths:?}");
    assert_eq!(filter.layer_count(), 400);
}

#[test]
fn truncated_headers_are_refused() {
    let mut filter = new(scaling(50_000, 0.01, 2), SEED);
    insert(&mut filter, 0..3_000);
    assert!(filter.compact() > 0);
    let header = filter.encode_header();
    for len in 0..header.len() {
        refusal(&header[..len]);
    }
}
