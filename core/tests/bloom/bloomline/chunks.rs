//! The bits of filters as chunks, at every boundary.

use bloomline_core::chunk::{Bits, MAX_CHUNK_BYTES};
use bloomline_core::error::ChunkError;
use bloomline_core::host::{Filter, Spec};
use bloomline_reference::calls::Calls;

use crate::filters::{SEED, copied, fixed, insert, new, scaling};

fn filled(spec: Spec, items: u64) -> Filter {
    let mut filter = new(spec, SEED);
    insert(&mut filter, 0..items);
    filter
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

#[test]
fn chunks_start_at_any_byte_and_end_with_their_layer() {
    let filter = filled(scaling(10, 0.01, 2), 500);
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
    let mut filter = filled(scaling(10, 0.01, 2), 40);
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
    let filter = filled(fixed(20_000_000, 0.01), 1_000);
    let bytes = filter.layers().next().unwrap().words().as_bytes().len();
    let lens: Vec<usize> = chunks(&filter).iter().map(|(_, chunk)| chunk.len()).collect();
    assert_eq!(lens, [MAX_CHUNK_BYTES, bytes - MAX_CHUNK_BYTES]);
    assert_eq!(filter.chunk(1).unwrap().len(), MAX_CHUNK_BYTES);
    let copy = copied(&filter.into());
    assert!((0..1_000u64).all(|item| copy.contains_item(&item.to_le_bytes(), 0)));
}

#[test]
fn filters_work_while_chunks_are_still_missing() {
    let filter = filled(scaling(10, 0.01, 2), 500);
    let mut partial = Filter::decode_header(&filter.encode_header(), &mut |_| true).unwrap();
    let mut all = chunks(&filter);
    let (offset, chunk) = all.pop().unwrap();
    partial.write_chunk(offset, &chunk).unwrap();
    // The incomplete filter can be saved and loaded, and takes the other chunks later.
    let mut partial = copied(&partial.into());
    assert!(partial.insert_item(b"meanwhile", 0, &mut |_| true).is_ok());
    for (offset, chunk) in all {
        partial.write_chunk(offset, &chunk).unwrap();
    }
    assert!(partial.contains_item(b"meanwhile", 0));
    assert!((0..500u64).all(|item| partial.contains_item(&item.to_le_bytes(), 0)));
}
