//! Numbers that no filter of RedisBloom's layout has are refused in headers and in values, headers
//! before memory is requested. Wrong sums are repaired in values, and refused in headers.

use bloomline_core::bloom::redisbloom::geometry::Shape;
use bloomline_core::error::HeaderError;
use bloomline_core::host::AnyFilter;
use bloomline_core::{Error, Layout};
use bloomline_reference::calls::Calls;
use bloomline_reference::checks::check::assert_reloads;
use bloomline_reference::checks::header::{Classic, Header, Link};
use bloomline_reference::forged::overflowing_header;
use bloomline_reference::payload::{Field, FieldError, bloom_of};

const LINK: Link = Link {
    shape: Shape {
        capacity: 100,
        error: 0.005,
        bits_per_item: 11.027754,
        hashes: 8,
        bits: 1152,
        log2_bits: 0,
        len: 3,
    },
    bytes: 144,
};

/// A filter of these links, with the sum of their items or the largest sum.
fn of(links: &[Link]) -> Classic {
    let total = links.iter().fold(0u64, |sum, link| sum.saturating_add(link.shape.len));
    let count = links.len() as u32;
    Classic { total, count, options: 5, expansion: 2, links: links.to_vec() }
}

/// A filter of links with these numbers of items.
fn with_lens(lens: &[u64]) -> Classic {
    let link = |&len: &u64| Link { shape: Shape { len, ..LINK.shape }, ..LINK };
    of(&lens.iter().map(link).collect::<Vec<_>>())
}

fn header(numbers: &Classic) -> Vec<u8> {
    Header::Classic(numbers.clone()).encode()
}

/// The fields of a value, whose bits are zeros.
fn fields(numbers: &Classic) -> Vec<Field> {
    numbers.fields(numbers.links.iter().map(|link| vec![0; link.bytes.min(1 << 20) as usize]))
}

fn value(fields: &[Field]) -> Result<AnyFilter, FieldError> {
    bloom_of(Layout::RedisBloom, fields, &mut |_| true)
}

fn assert_header_refused(case: &str, bytes: &[u8]) {
    let result = AnyFilter::decode_header(bytes, &mut |_| panic!("{case}: memory was requested"));
    assert!(matches!(result, Err(Error::Header(_))), "{case}: {result:?}");
}

fn assert_value_refused(case: &str, fields: &[Field]) {
    let result = value(fields);
    assert!(matches!(result, Err(FieldError::Core(Error::Header(_)))), "{case}: {result:?}");
}

#[test]
fn valid_header_requests_memory_once() {
    let mut demands = Vec::new();
    let bytes = header(&of(&[LINK; 2]));
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
    type Change = fn(&mut Link);
    let changes: [(&str, Change); 24] = [
        ("bytes not bits", |it| it.bytes = 143),
        ("no bits", |it| (it.bytes, it.shape.bits) = (0, 0)),
        ("bytes that overflow into no bits", |it| (it.bytes, it.shape.bits) = (1 << 61, 0)),
        ("bytes that overflow", |it| it.bytes = (1 << 61) + 144),
        ("more bits than bytes hold", |it| it.shape.bits = 1216),
        ("fewer bits than bytes hold", |it| it.shape.bits = 64),
        ("bits within a word", |it| (it.bytes, it.shape.bits) = (145, 1160)),
        ("the most bits", |it| (it.bytes, it.shape.bits) = (u64::MAX / 8, u64::MAX - 63)),
        ("one hash more", |it| it.shape.hashes = 9),
        ("one hash less", |it| it.shape.hashes = 7),
        ("no hashes", |it| (it.shape.hashes, it.shape.bits_per_item) = (0, 0.0)),
        ("bits per item not a number", |it| {
            (it.shape.hashes, it.shape.bits_per_item) = (0, f64::NAN);
        }),
        ("infinite bits per item", |it| {
            (it.shape.hashes, it.shape.bits_per_item) = (u32::MAX, f64::INFINITY);
        }),
        ("negative bits per item", |it| {
            (it.shape.hashes, it.shape.bits_per_item) = (0, -11.0);
        }),
        // ln 2 times the bits per item.
        ("a lookup of 20 million probes", |it| {
            (it.shape.hashes, it.shape.bits_per_item) = (20_794_416, 3e7);
        }),
        ("a lookup of 2 billion probes", |it| {
            (it.shape.hashes, it.shape.bits_per_item) = (2_079_441_542, 3e9);
        }),
        ("error 0", |it| it.shape.error = 0.0),
        ("error 1", |it| it.shape.error = 1.0),
        ("a negative error", |it| it.shape.error = -0.005),
        ("an error that is not a number", |it| it.shape.error = f64::NAN),
        ("an infinite error", |it| it.shape.error = f64::INFINITY),
        ("a power beyond the bits", |it| it.shape.log2_bits = 11),
        ("a power of 64", |it| it.shape.log2_bits = 64),
        ("a power of 255", |it| it.shape.log2_bits = 255),
    ];
    for (case, change) in changes {
        let mut link = LINK;
        change(&mut link);
        let numbers = of(&[link]);
        assert_header_refused(case, &header(&numbers));
        assert_value_refused(case, &fields(&numbers));
    }
}

#[test]
fn wrong_length_count_options_or_total_are_refused() {
    let valid = header(&of(&[LINK]));
    for length in 0..valid.len() {
        assert_header_refused(&format!("{length} bytes"), &valid[..length]);
    }
    assert_header_refused("a byte more", &[&valid[..], &[0]].concat());
    let one = || of(&[LINK]);
    for (case, numbers) in [
        ("no layers", of(&[])),
        ("fewer layers than counted", Classic { count: 2, ..one() }),
        ("more layers than counted", Classic { count: 1, ..of(&[LINK; 2]) }),
        ("a count that overflows", Classic { count: u32::MAX, ..one() }),
        ("a total too small", Classic { total: 2, ..one() }),
        ("a total too large", Classic { total: 4, ..one() }),
        ("a total that overflows", Classic { total: 2, ..with_lens(&[u64::MAX, 3]) }),
    ] {
        assert_header_refused(case, &header(&numbers));
    }
    for bit in 4..32 {
        let numbers = Classic { options: 5 | 1 << bit, ..one() };
        assert_header_refused(&format!("option bit {bit}"), &header(&numbers));
    }
}

/// Numbers of 64 bits in values whose low bits are those of a valid filter, and strings of other
/// lengths.
#[test]
fn numbers_of_values_are_not_cut() {
    let valid = fields(&of(&[LINK]));
    value(&valid).unwrap();
    let wide = |at: usize| match valid[at] {
        Field::Unsigned(number) => number + (1 << 32),
        ref other => panic!("{other:?}"),
    };
    let range = |field, number| Err(FieldError::Core(HeaderError::Range { field, number }.into()));
    for (at, field, number) in [
        (1, "layers", wide(1)),
        (2, "options", wide(2)),
        (3, "growth", wide(3)),
        (6, "hashes", wide(6)),
        (9, "log2_bits", 256),
    ] {
        let mut fields = valid.clone();
        fields[at] = Field::Unsigned(number);
        assert_eq!(value(&fields), range(field, number));
    }
    for bytes in [0, 136, 143, 145, 152] {
        let mut fields = valid.clone();
        fields[10] = Field::String(vec![0; bytes]);
        assert_value_refused(&format!("{bytes} bytes"), &fields);
    }
}

#[test]
fn totals_above_2_to_the_64_are_refused() {
    const HALF: u64 = 1 << 63;
    // The saturated sum, the wrapped sum, and the numbers of single layers.
    for total in [u64::MAX, 0, HALF, 1] {
        for lens in [&[HALF, HALF][..], &[u64::MAX, 1], &[1, u64::MAX], &[HALF, HALF - 1, 1]] {
            let numbers = Classic { total, ..with_lens(lens) };
            assert_header_refused(&format!("{lens:?}"), &header(&numbers));
        }
    }
    assert_header_refused("2^64 - 1 items and 42 more", &overflowing_header());
    for (lens, total) in [(&[HALF, HALF - 1][..], u64::MAX), (&[u64::MAX], u64::MAX), (&[0, 0], 0)]
    {
        let decoded = AnyFilter::decode_header(&header(&with_lens(lens)), &mut |_| true);
        assert_eq!(decoded.unwrap().len(), total);
    }
}

/// A file that is refused would prevent the start of a server.
#[test]
fn values_with_other_sums_or_options_are_repaired() {
    const HALF: u64 = 1 << 63;
    let filter_of = |numbers: &Classic| value(&fields(numbers)).unwrap();
    for lens in [[3, 3], [HALF, HALF], [u64::MAX, 10], [10, u64::MAX]] {
        let filter = filter_of(&Classic { total: 7, ..with_lens(&lens) });
        assert_eq!(filter.len(), lens[0].saturating_add(lens[1]), "{lens:?}");
        assert_reloads(&filter);
    }
    let with_unknown = Classic { options: 0xffff_fff5, ..of(&[LINK]) };
    assert_eq!(filter_of(&with_unknown), filter_of(&of(&[LINK])));
}

#[test]
fn header_of_a_filter_with_too_many_items_is_decoded() {
    // The total is already 2^64 - 1 before the filter grows.
    let full = header(&with_lens(&[u64::MAX]));
    let mut filter = AnyFilter::decode_header(&full, &mut |_| true).unwrap();
    for n in 0u64..150 {
        filter.insert_item(&n.to_le_bytes(), 0, &mut |_| true).unwrap();
    }
    assert_eq!((filter.layer_count(), filter.len()), (2, u64::MAX));
    let read = assert_reloads(&filter);
    assert_eq!(read.newest_len(), filter.newest_len());
}
