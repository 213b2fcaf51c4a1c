//! Filters as bytes: round trips, invalid headers, chunks at every boundary.

use bloomline_core::bloom::bloomline::header::HEADER_BYTES;
use bloomline_core::chunk::Bits;
use bloomline_core::chunk::MAX_CHUNK_BYTES;
use bloomline_core::error::{ChunkError, HeaderError};
use bloomline_core::host::{Filter, Growth, Spec};
use bloomline_core::permit::Demand;
use bloomline_core::spec::MAX_LAYERS;
use bloomline_core::{Error, Layout};
use bloomline_reference::calls::Calls;

fn filled(spec: Spec, items: u64) -> Filter {
    let mut filter = Filter::new(spec, 0x0123_4567_89ab_cdef, &mut |_| true).unwrap();
    for item in 0..items {
        filter.insert_item(&item.to_le_bytes(), 0, &mut |_| true).unwrap();
    }
    filter
}

fn scaling(capacity: u64, expansion: u32) -> Spec {
    Spec { capacity, error_rate: 0.01, growth: Growth::Scaling { expansion } }
}

fn fixed(capacity: u64) -> Spec {
    Spec { capacity, error_rate: 0.01, growth: Growth::Fixed }
}

fn decode(header: &[u8]) -> Result<Filter, Error> {
    Filter::decode_header(header, &mut |_| true)
}

/// The chunks as a client requests them: from offset 0, each where the previous one ended.
fn chunks(filter: &Filter) -> Vec<(u64, Vec<u8>)> {
    let (mut chunks, mut offset) = (Vec::new(), 0);
    while let Some(chunk) = filter.chunk(offset) {
        chunks.push((offset, chunk.to_vec()));
        offset += chunk.len() as u64;
    }
    chunks
}

fn copied(filter: &Filter) -> Filter {
    let mut copy = decode(&filter.encode_header()).unwrap();
    for (offset, chunk) in chunks(filter) {
        copy.write_chunk(offset, &chunk).unwrap();
    }
    copy
}

fn assert_equal(a: &Filter, b: &Filter) {
    assert_eq!(a.encode_header(), b.encode_header());
    assert_eq!(
        (a.spec(), a.seed(), a.len(), a.capacity()),
        (b.spec(), b.seed(), b.len(), b.capacity())
    );
    assert_eq!((a.size_bytes(), a.fp_rate().to_bits()), (b.size_bytes(), b.fp_rate().to_bits()));
    assert!(a.layer_errors().eq(b.layer_errors()));
    for (a, b) in a.layers().zip(b.layers()) {
        assert_eq!((a.capacity(), a.geometry()), (b.capacity(), b.geometry()));
        assert!(a.words().as_bytes() == b.words().as_bytes(), "the bits differ");
    }
}

#[test]
fn decoded_filters_are_equal_and_grow_equally() {
    for (spec, items) in [
        (scaling(100, 2), 0),
        (scaling(100, 2), 1),
        (scaling(100, 2), 100),
        (scaling(100, 2), 101),
        (scaling(1, 2), 1_000),
        (scaling(10, 1), 500),
        (scaling(3, 32_768), 5_000),
        (fixed(1), 1),
        (fixed(1_000), 990),
        (Spec { error_rate: 0.25, ..scaling(7, 3) }, 3_000),
        (Spec { error_rate: 1e-12, ..scaling(7, 3) }, 3_000),
    ] {
        let mut filter = filled(spec, items);
        let mut copy = copied(&filter);
        assert_equal(&filter, &copy);
        for item in items..items + 2_000 {
            let item = item.to_le_bytes();
            let answer = filter.insert_item(&item, 0, &mut |_| true);
            assert_eq!(copy.insert_item(&item, 0, &mut |_| true), answer);
        }
        assert_equal(&filter, &copy);
    }
}

#[test]
fn header_has_the_documented_bytes() {
    let mut expected = Vec::new();
    expected.extend(b"bloomlin");
    expected.extend([1, 0, 2, 0, 1, 0, 0, 0]);
    expected.extend(2u32.to_le_bytes());
    expected.extend(3u32.to_le_bytes());
    expected.extend(10u64.to_le_bytes());
    expected.extend(0.01f64.to_le_bytes());
    expected.extend(0x0123_4567_89ab_cdefu64.to_le_bytes());
    expected.extend(5u64.to_le_bytes());
    expected.extend([0; 8]);
    let mut filter = filled(scaling(10, 2), 0);
    for item in 0u64.. {
        if filter.len() == 35 {
            break;
        }
        filter.insert_item(&item.to_le_bytes(), 0, &mut |_| true).unwrap();
    }
    assert_eq!(filter.encode_header()[..], expected);
    let fixed = filled(fixed(10), 0).encode_header();
    assert_eq!((fixed[12], &fixed[16..20]), (0, &[0; 4][..]));
}

#[test]
fn headers_of_another_length_are_refused() {
    let header = filled(scaling(10, 2), 35).encode_header();
    for len in (0..HEADER_BYTES).chain([HEADER_BYTES + 1, 73, 1_000]) {
        let mut bytes = header.to_vec();
        bytes.resize(len, 0);
        assert_eq!(decode(&bytes).err(), Some(HeaderError::Length(len).into()));
    }
}

/// A valid header with other bytes at offset `at`.
fn changed<const N: usize>(at: usize, field: [u8; N]) -> Vec<u8> {
    let mut header = filled(scaling(10, 2), 35).encode_header();
    header[at..at + N].copy_from_slice(&field);
    header
}

#[test]
fn each_invalid_field_is_refused_with_its_own_error() {
    let cases: Vec<(Vec<u8>, Error)> = vec![
        (changed(0, *b"B"), HeaderError::Magic.into()),
        (changed(0, *b"bloomlim"), HeaderError::Magic.into()),
        (changed(8, 0u16.to_le_bytes()), HeaderError::Version(0).into()),
        (changed(8, 2u16.to_le_bytes()), HeaderError::Version(2).into()),
        (changed(8, 0x0101u16.to_le_bytes()), HeaderError::Version(0x0101).into()),
        (changed(10, 0u16.to_le_bytes()), HeaderError::Sizing(0).into()),
        (changed(10, 1u16.to_le_bytes()), HeaderError::Sizing(1).into()),
        (changed(10, 3u16.to_le_bytes()), HeaderError::Sizing(3).into()),
        (changed(12, [2]), HeaderError::Growth(2).into()),
        (changed(12, [255]), HeaderError::Growth(255).into()),
        // A fixed filter has no expansion, and a scaling one has one.
        (changed(12, [0]), Error::Expansion(2)),
        (changed(13, [1]), HeaderError::Reserved.into()),
        (changed(15, [128]), HeaderError::Reserved.into()),
        (changed(56, [1]), HeaderError::Reserved.into()),
        (changed(63, [128]), HeaderError::Reserved.into()),
        (changed(16, 0u32.to_le_bytes()), Error::Expansion(0)),
        (changed(16, 32_769u32.to_le_bytes()), Error::Expansion(32_769)),
        (changed(16, u32::MAX.to_le_bytes()), Error::Expansion(u32::MAX)),
        (changed(20, 0u32.to_le_bytes()), HeaderError::Layers(0).into()),
        (changed(20, 60u32.to_le_bytes()), HeaderError::Layers(60).into()),
        (changed(20, u32::MAX.to_le_bytes()), HeaderError::Layers(u32::MAX).into()),
        (changed(24, 0u64.to_le_bytes()), Error::Capacity(0)),
        (changed(24, ((1u64 << 40) + 1).to_le_bytes()), Error::Capacity((1 << 40) + 1)),
        (changed(24, u64::MAX.to_le_bytes()), Error::Capacity(u64::MAX)),
        // The first layer is in range, but the third one would have a capacity of 2^41 items.
        (changed(24, (1u64 << 39).to_le_bytes()), HeaderError::Layers(3).into()),
        (changed(32, 0.0f64.to_le_bytes()), Error::ErrorRate(0.0)),
        (changed(32, (-0.01f64).to_le_bytes()), Error::ErrorRate(-0.01)),
        (changed(32, 0.250_001f64.to_le_bytes()), Error::ErrorRate(0.250_001)),
        (changed(32, f64::INFINITY.to_le_bytes()), Error::ErrorRate(f64::INFINITY)),
        (changed(32, 1e-15f64.to_le_bytes()), Error::ErrorRateTooSmall(5e-16)),
        (changed(48, 41u64.to_le_bytes()), HeaderError::Len(41).into()),
        (changed(48, u64::MAX.to_le_bytes()), HeaderError::Len(u64::MAX).into()),
    ];
    for (header, reason) in cases {
        let uncalled = &mut |_| unreachable!("the permit is called for an invalid header");
        assert_eq!(Filter::decode_header(&header, uncalled).err(), Some(reason));
    }
    let nan = decode(&changed(32, f64::NAN.to_le_bytes())).err();
    assert!(matches!(nan, Some(Error::ErrorRate(rate)) if rate.is_nan()), "{nan:?}");
    // The newest layer may be exactly full, or empty.
    assert_eq!(decode(&changed(48, 40u64.to_le_bytes())).unwrap().room(), 0);
    assert_eq!(decode(&changed(48, 0u64.to_le_bytes())).unwrap().len(), 30);
}

#[test]
fn any_changed_byte_is_refused_or_gives_a_working_filter() {
    const LIMIT: u64 = 64 << 20;
    let permit = &mut |demand: Demand| demand.filter_bytes <= LIMIT;
    let (mut refused, mut accepted) = (0, 0);
    for header in [filled(scaling(10, 2), 35).encode_header(), filled(fixed(10), 9).encode_header()]
    {
        for (at, value) in
            (0..HEADER_BYTES).flat_map(|at| (0..=u8::MAX).map(move |value| (at, value)))
        {
            let mut header = header.clone();
            header[at] = value;
            let Ok(mut filter) = Filter::decode_header(&header, permit) else {
                refused += 1;
                continue;
            };
            accepted += 1;
            let case = format!("byte {at} = {value}");
            assert_eq!(filter.encode_header(), header, "{case}");
            assert!(filter.size_bytes() <= LIMIT, "{case}");
            assert!(!filter.contains_item(b"item", 0), "{case}");
            match filter.insert_item(b"item", 0, permit) {
                Ok(new) => assert!(new && filter.contains_item(b"item", 0), "{case}"),
                Err(
                    Error::Full(_)
                    | Error::Refused(_)
                    | Error::Capacity(_)
                    | Error::ErrorRateTooSmall(_),
                ) => {}
                Err(other) => panic!("{case}: {other}"),
            }
            assert!((0.0..=filter.spec().error_rate).contains(&filter.fp_rate()), "{case}");
            let again = Filter::decode_header(&filter.encode_header(), permit).unwrap();
            assert_eq!(again.encode_header(), filter.encode_header(), "{case}");
        }
    }
    assert!(refused > 10_000 && accepted > 4_000, "{refused} refused, {accepted} accepted");
}

#[test]
fn decoding_demands_memory_for_all_layers_at_once() {
    let filter = filled(scaling(10, 2), 1_000);
    let mut demands = Vec::new();
    let mut refuse = |demand: Demand| {
        demands.push(demand);
        false
    };
    let refused = Filter::decode_header(&filter.encode_header(), &mut refuse).err();
    assert_eq!(refused, Some(Error::Refused(filter.size_bytes())));
    let layers: Vec<u64> = filter.layers().map(|layer| layer.geometry().bytes()).collect();
    let expected = Demand {
        new_bytes: layers.iter().sum(),
        largest_layer: layers[layers.len() - 1],
        filter_bytes: filter.size_bytes(),
        layout: Layout::Bloomline,
        tables: 0,
    };
    assert_eq!(demands, [expected]);
}

#[test]
fn decodes_up_to_the_largest_number_of_layers() {
    // A header of a few bytes can describe many layers. The limit on layers bounds the cost to
    // decode it.
    let header = filled(scaling(1, 1), 1).encode_header();
    let with_layers = |layers: u32| {
        let mut header = header.clone();
        header[20..24].copy_from_slice(&layers.to_le_bytes());
        header
    };
    let mut filter = decode(&with_layers(MAX_LAYERS)).unwrap();
    assert_eq!((filter.layer_count(), filter.len(), filter.room()), (MAX_LAYERS, 4_096, 0));
    assert!(filter.fp_rate() <= 0.01);
    assert_eq!(
        filter.insert_item(b"one more", 0, &mut |_| true),
        Err(Error::TooManyLayers(MAX_LAYERS))
    );
    assert_equal(&filter, &copied(&filter));
    for layers in [MAX_LAYERS + 1, u32::MAX] {
        assert_eq!(decode(&with_layers(layers)).err(), Some(HeaderError::Layers(layers).into()));
    }
}

#[test]
fn chunks_start_at_any_byte_and_end_with_their_layer() {
    let filter = filled(scaling(10, 2), 500);
    let all: Vec<u8> =
        filter.layers().flat_map(|layer| layer.words().as_bytes().to_vec()).collect();
    let mut start = 0;
    for layer in filter.layers() {
        let end = start + layer.words().as_bytes().len();
        for offset in start..end {
            assert_eq!(filter.chunk(offset as u64), Some(&all[offset..end]), "{offset}");
        }
        start = end;
    }
    for offset in [start as u64, start as u64 + 1, u64::MAX - 1, u64::MAX] {
        assert_eq!(filter.chunk(offset), None, "{offset}");
    }
    assert_eq!(chunks(&filter).len(), filter.layer_count() as usize);
}

#[test]
fn chunks_are_written_anywhere_but_not_past_their_layer() {
    let mut filter = filled(scaling(10, 2), 40);
    let lens: Vec<u64> =
        filter.layers().map(|layer| layer.words().as_bytes().len() as u64).collect();
    assert_eq!(lens.len(), 3);
    let mut start = 0;
    for len in lens {
        for at in 0..len {
            let (offset, left) = (start + at, (len - at) as usize);
            filter.write_chunk(offset, &[]).unwrap();
            filter.write_chunk(offset, &[0xa5; 1]).unwrap();
            assert_eq!(filter.chunk(offset).unwrap()[0], 0xa5);
            filter.write_chunk(offset, &vec![at as u8; left]).unwrap();
            assert_eq!(filter.chunk(offset), Some(&vec![at as u8; left][..]));
            let before = filter.encode_header();
            let long = ChunkError::TooLong(left as u64 + 1);
            assert_eq!(filter.write_chunk(offset, &vec![0xff; left + 1]), Err(long.into()));
            assert_eq!(filter.chunk(offset), Some(&vec![at as u8; left][..]));
            assert_eq!(filter.encode_header(), before, "a chunk changed the header");
        }
        start += len;
    }
    for offset in [start, start + 1, u64::MAX - 63, u64::MAX] {
        for chunk in [&[][..], &[1; 64][..]] {
            assert_eq!(filter.write_chunk(offset, chunk), Err(ChunkError::Offset(offset).into()));
        }
    }
}

#[test]
fn large_layers_have_chunks_of_16_mib() {
    let filter = filled(fixed(20_000_000), 1_000);
    let bytes = filter.layers().next().unwrap().words().as_bytes().len();
    let lens: Vec<usize> = chunks(&filter).iter().map(|(_, chunk)| chunk.len()).collect();
    assert_eq!(lens, [MAX_CHUNK_BYTES, bytes - MAX_CHUNK_BYTES]);
    assert_eq!(filter.chunk(1).unwrap().len(), MAX_CHUNK_BYTES);
    let copy = copied(&filter);
    assert_equal(&filter, &copy);
    assert!((0..1_000u64).all(|item| copy.contains(&item.to_le_bytes())));
}

#[test]
fn filters_work_while_chunks_are_still_missing() {
    let filter = filled(scaling(10, 2), 500);
    let mut partial = decode(&filter.encode_header()).unwrap();
    let mut all = chunks(&filter);
    let (offset, chunk) = all.pop().unwrap();
    partial.write_chunk(offset, &chunk).unwrap();
    // The incomplete filter can be saved and loaded, and takes the other chunks later.
    let mut partial = copied(&partial);
    assert!(partial.insert_item(b"meanwhile", 0, &mut |_| true).is_ok());
    for (offset, chunk) in all {
        partial.write_chunk(offset, &chunk).unwrap();
    }
    assert!(partial.contains_item(b"meanwhile", 0));
    assert!((0..500u64).all(|item| partial.contains(&item.to_le_bytes())));
}
