//! Invalid headers of RedisBloom's layout are refused before memory is requested.

use bloomline_core::Error;
use bloomline_core::host::AnyFilter;
use bloomline_reference::calls::Calls;
use bloomline_reference::forged::overflowing_header;

/// The fields of one layer in a header.
struct Forged {
    bytes: u64,
    bits: u64,
    len: u64,
    error: f64,
    bits_per_item: f64,
    hashes: u32,
    log2_bits: u8,
}

const VALID: Forged = Forged {
    bytes: 144,
    bits: 1152,
    len: 3,
    error: 0.005,
    bits_per_item: 11.027754,
    hashes: 8,
    log2_bits: 0,
};

fn header(total: u64, count: u32, options: u32, layers: &[Forged]) -> Vec<u8> {
    let mut to = [
        &total.to_le_bytes()[..],
        &count.to_le_bytes(),
        &options.to_le_bytes(),
        &2u32.to_le_bytes(),
    ]
    .concat();
    for layer in layers {
        for number in [layer.bytes, layer.bits, layer.len] {
            to.extend(number.to_le_bytes());
        }
        to.extend(layer.error.to_le_bytes());
        to.extend(layer.bits_per_item.to_le_bytes());
        to.extend(layer.hashes.to_le_bytes());
        to.extend(100u64.to_le_bytes());
        to.push(layer.log2_bits);
    }
    to
}

fn assert_refused(case: &str, bytes: &[u8]) {
    let mut is_called = false;
    let result = AnyFilter::decode_header(bytes, &mut |_| {
        is_called = true;
        false
    });
    assert!(matches!(result, Err(Error::Header(_))), "{case} is not refused: {:?}", result.err());
    assert!(!is_called, "{case}: memory was requested");
}

#[test]
fn valid_header_requests_memory_once() {
    let mut demands = Vec::new();
    let bytes = header(6, 2, 5, &[VALID, VALID]);
    let filter = AnyFilter::decode_header(&bytes, &mut |demand| {
        demands.push((demand.new_bytes, demand.filter_bytes));
        true
    });
    assert_eq!(filter.unwrap().encode_header(), bytes);
    assert_eq!(demands, [(288, 288 + 32 + 2 * 64)]);
    let refused = AnyFilter::decode_header(&bytes, &mut |_| false);
    assert!(matches!(refused.err(), Some(Error::Refused(_))));
}

#[test]
fn contradicting_numbers_are_refused() {
    let one = |layer: Forged| header(layer.len, 1, 5, &[layer]);
    for (case, layer) in [
        ("bytes not bits", Forged { bytes: 143, ..VALID }),
        ("no bits", Forged { bytes: 0, bits: 0, ..VALID }),
        ("bytes that overflow into no bits", Forged { bytes: 1 << 61, bits: 0, ..VALID }),
        ("bytes that overflow", Forged { bytes: (1 << 61) + 144, bits: 1152, ..VALID }),
        ("one hash more", Forged { hashes: 9, ..VALID }),
        ("one hash less", Forged { hashes: 7, ..VALID }),
        ("no hashes", Forged { hashes: 0, bits_per_item: 0.0, ..VALID }),
        ("bits per item not a number", Forged { bits_per_item: f64::NAN, hashes: 0, ..VALID }),
        (
            "infinite bits per item",
            Forged { bits_per_item: f64::INFINITY, hashes: u32::MAX, ..VALID },
        ),
        ("negative bits per item", Forged { bits_per_item: -11.0, hashes: 0, ..VALID }),
        (
            "a lookup of 20 million probes",
            Forged { bits_per_item: 3e7, hashes: 20_794_416, ..VALID },
        ),
        (
            "a lookup of 2 billion probes",
            Forged { bits_per_item: 3e9, hashes: 2_079_441_542, ..VALID },
        ),
        ("error 0", Forged { error: 0.0, ..VALID }),
        ("error 1", Forged { error: 1.0, ..VALID }),
        ("a negative error", Forged { error: -0.005, ..VALID }),
        ("an error that is not a number", Forged { error: f64::NAN, ..VALID }),
        ("an infinite error", Forged { error: f64::INFINITY, ..VALID }),
        ("a power beyond the bits", Forged { log2_bits: 11, ..VALID }),
        ("a power of 64", Forged { log2_bits: 64, ..VALID }),
        ("a power of 255", Forged { log2_bits: 255, ..VALID }),
    ] {
        assert_refused(case, &one(layer));
    }
    assert_eq!((0.693147180559945f64 * 3e7).ceil(), 20_794_416.0);
    assert_eq!((0.693147180559945f64 * 3e9).ceil(), 2_079_441_542.0);
}

#[test]
fn wrong_length_count_options_or_total_are_refused() {
    let valid = header(3, 1, 5, &[VALID]);
    for length in 0..valid.len() {
        assert_refused(&format!("{length} bytes"), &valid[..length]);
    }
    assert_refused("a byte more", &[&valid[..], &[0]].concat());
    assert_refused("no layers", &header(0, 0, 5, &[]));
    assert_refused("fewer layers than counted", &header(3, 2, 5, &[VALID]));
    assert_refused("more layers than counted", &header(6, 1, 5, &[VALID, VALID]));
    assert_refused("a count that overflows", &header(3, u32::MAX, 5, &[VALID]));
    for bit in 4..32 {
        assert_refused(&format!("option bit {bit}"), &header(3, 1, 5 | 1 << bit, &[VALID]));
    }
    assert_refused("a total too small", &header(2, 1, 5, &[VALID]));
    assert_refused("a total too large", &header(4, 1, 5, &[VALID]));
    let full = Forged { len: u64::MAX, ..VALID };
    assert_refused("a total that overflows", &header(2, 2, 5, &[full, VALID]));
}

#[test]
fn totals_above_2_to_the_64_are_refused() {
    let of = |lens: &[u64], total: u64| {
        let layers: Vec<Forged> = lens.iter().map(|&len| Forged { len, ..VALID }).collect();
        header(total, lens.len() as u32, 5, &layers)
    };
    const HALF: u64 = 1 << 63;
    // The saturated sum, the wrapped sum, and the numbers of single layers.
    for total in [u64::MAX, 0, HALF, 1] {
        assert_refused("2^63 + 2^63", &of(&[HALF, HALF], total));
        assert_refused("2^64 - 1 + 1", &of(&[u64::MAX, 1], total));
        assert_refused("three layers", &of(&[HALF, HALF - 1, 1], total));
    }
    for (lens, total) in [(&[HALF, HALF - 1][..], u64::MAX), (&[u64::MAX], u64::MAX), (&[0, 0], 0)]
    {
        let decoded = AnyFilter::decode_header(&of(lens, total), &mut |_| true);
        assert_eq!(decoded.unwrap().len(), total);
    }
}

#[test]
fn overflowing_header_is_refused() {
    assert_refused("2^64 - 1 items and 42 more", &overflowing_header());
}

#[test]
fn header_of_a_filter_with_too_many_items_is_decoded() {
    // The total is already 2^64 - 1 before the filter grows.
    let full = header(u64::MAX, 1, 5, &[Forged { len: u64::MAX, ..VALID }]);
    let mut filter = AnyFilter::decode_header(&full, &mut |_| true).unwrap();
    for n in 0u64..150 {
        filter.insert_item(&n.to_le_bytes(), 0, &mut |_| true).unwrap();
    }
    assert_eq!((filter.layer_count(), filter.len()), (2, u64::MAX));
    let bytes = filter.encode_header();
    let read = AnyFilter::decode_header(&bytes, &mut |_| true).unwrap();
    assert_eq!((read.layer_count(), read.len()), (2, u64::MAX));
    assert_eq!(read.newest_len(), filter.newest_len());
    assert_eq!(read.encode_header(), bytes);
}
