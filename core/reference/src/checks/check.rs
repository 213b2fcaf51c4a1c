//! What must hold for every filter, wherever its bytes came from.

use bloomline_core::layer::Layer;
use bloomline_core::{AnyFilter, Demand};

/// The largest filter in bytes, so that an input takes little time; still less under Miri.
pub const LIMIT: u64 = if cfg!(miri) { 4 << 10 } else { 64 << 10 };

/// A permit for filters up to [`LIMIT`].
pub fn small(demand: Demand) -> bool {
    demand.filter_bytes <= LIMIT
}

/// The bits of each layer, oldest first.
pub fn bits(filter: &AnyFilter) -> Vec<Vec<u8>> {
    let mut bits = Vec::new();
    filter.each_layer(|words| bits.push(words.as_bytes().to_vec()));
    bits
}

/// Calls every method that reads a filter, and compares the results with each other.
pub fn assert_consistent(filter: &AnyFilter) {
    let (mut layers, mut bytes) = (0, 0);
    filter.each_layer(|words| {
        layers += 1;
        bytes += words.bytes();
        assert!((0.0..=1.0).contains(&words.fill(4096)));
    });
    assert_eq!(layers, filter.layer_count());
    assert!(filter.size_bytes() >= bytes && filter.size_bytes() <= LIMIT);
    assert!(filter.newest_len() <= filter.len());
    let nothing = filter.added_since(filter.layer_count(), filter.newest_len());
    assert_eq!((nothing.items, nothing.layers, nothing.capacity, nothing.bytes), (0, 0, 0, 0));
    let mut allocations = 0;
    filter.each_block(|_| allocations += 1);
    assert!(allocations >= layers);
    let _ =
        (filter.capacity(), filter.room(), filter.growth(), filter.error_rate(), filter.layout());
    match filter {
        AnyFilter::Bloomline(filter) => {
            assert!(filter.newest_len() <= filter.capacity());
            assert!((0.0..=1.0).contains(&filter.fp_rate()));
            assert!(
                filter.layer_errors().all(|error| error > 0.0 && error <= filter.spec().error_rate)
            );
            for layer in filter.layers() {
                let rate = layer.fp_rate_of_fill(layer.words().fill(4096));
                assert!((0.0..=1.0).contains(&rate), "rate {rate}");
            }
        }
        AnyFilter::RedisBloom(filter) => {
            let sum = filter.layers_with_len().map(|(_, len)| len).fold(0, u64::saturating_add);
            assert_eq!(sum, filter.len());
            assert!(
                filter.layers().all(|layer| layer.shape().is_sound()),
                "a layer that no entry point would accept"
            );
        }
    }
}

/// Encodes the filter as header and chunks, and decodes them again, as SCANDUMP and LOADCHUNK, an
/// append-only file and a replica do. Panics unless both filters are equal.
pub fn assert_round_trip(filter: &AnyFilter) -> AnyFilter {
    let header = filter.encode_header();
    let mut copy = AnyFilter::decode_header(&header, &mut |_| true)
        .unwrap_or_else(|why| panic!("the filter's own header is refused: {why}"));
    let mut offset = 0;
    while let Some(chunk) = filter.chunk(offset) {
        copy.write_chunk(offset, chunk).expect("its own chunk");
        offset += chunk.len() as u64;
    }
    assert_equal(filter, &copy);
    assert_equal(filter, &filter.try_clone(&mut |_| true).expect("memory"));
    copy
}

/// Panics unless both filters are equal.
pub fn assert_equal(one: &AnyFilter, other: &AnyFilter) {
    assert_eq!(one.encode_header(), other.encode_header());
    assert_eq!((one.len(), one.size_bytes()), (other.len(), other.size_bytes()));
    // Not `assert_eq`, which would print up to a megabyte.
    assert!(bits(one) == bits(other), "the bits differ");
}
