//! Headers in RedisBloom's layout, and the values that have the same numbers. Wrong sums are
//! repaired in values, and refused in headers.

use bloomline_core::bloom::redisbloom::geometry::RedisBloomShape;
use bloomline_core::error::HeaderError::{self, Layer, Layers, Length, Options, Total};
use bloomline_core::host::AnyFilter;
use bloomline_core::{Error, Layout};
use bloomline_reference::calls::Calls;
use bloomline_reference::checks::check::assert_reloads;
use bloomline_reference::checks::header::{Classic, Header, Link};
use bloomline_reference::forged::overflowing_header;
use bloomline_reference::payload::{Field, FieldError, bloom_of};

use super::{Table, row};

const HALF: u64 = 1 << 63;

const LINK: Link = Link {
    shape: RedisBloomShape {
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
    let link = |&len: &u64| Link { shape: RedisBloomShape { len, ..LINK.shape }, ..LINK };
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

pub(super) fn table() -> Table {
    let one = of(&[LINK]);
    let valid = header(&one);
    // Numbers that contradict each other.
    let changes: [fn(&mut Link); 20] = [
        |it| it.bytes = 143,
        |it| (it.bytes, it.shape.bits) = (0, 0),
        // Bytes that overflow, also into no bits.
        |it| (it.bytes, it.shape.bits) = (1 << 61, 0),
        |it| it.bytes = (1 << 61) + 144,
        // More or fewer bits than the bytes hold, and bits within a word.
        |it| it.shape.bits = 1216,
        |it| it.shape.bits = 64,
        |it| (it.bytes, it.shape.bits) = (145, 1160),
        |it| (it.bytes, it.shape.bits) = (u64::MAX / 8, u64::MAX - 63),
        |it| it.shape.hashes = 9,
        |it| (it.shape.hashes, it.shape.bits_per_item) = (0, 0.0),
        |it| (it.shape.hashes, it.shape.bits_per_item) = (0, f64::NAN),
        |it| (it.shape.hashes, it.shape.bits_per_item) = (u32::MAX, f64::INFINITY),
        // Lookups of 20 million and of 2 billion probes: ln 2 times the bits per item.
        |it| (it.shape.hashes, it.shape.bits_per_item) = (20_794_416, 3e7),
        |it| (it.shape.hashes, it.shape.bits_per_item) = (2_079_441_542, 3e9),
        |it| it.shape.error = 0.0,
        |it| it.shape.error = 1.0,
        |it| it.shape.error = f64::NAN,
        |it| it.shape.error = f64::INFINITY,
        // Powers of two beyond the bits.
        |it| it.shape.log2_bits = 11,
        |it| it.shape.log2_bits = 64,
    ];
    let contradicting = changes.map(|change| {
        let mut link = LINK;
        change(&mut link);
        (header(&of(&[link])), Layer(0).into())
    });
    let mut invalid: Vec<(Vec<u8>, Error)> = contradicting.into();
    invalid.extend([
        (header(&of(&[])), Layers(0).into()),
        (header(&of(&[LINK; 4_097])), Layers(4_097).into()),
        row(&valid, 8, 2u32, Length(valid.len())),
        row(&valid, 8, u32::MAX, Length(valid.len())),
        (header(&Classic { count: 1, ..of(&[LINK; 2]) }), Length(126).into()),
        row(&valid, 0, 2u64, Total(2)),
        row(&valid, 0, 4u64, Total(4)),
        (overflowing_header(), Total(u64::MAX).into()),
    ]);
    // The saturated sum, the wrapped sum, and the numbers of single layers.
    for total in [u64::MAX, 0, HALF, 1, 2] {
        for lens in [&[HALF, HALF][..], &[u64::MAX, 1], &[1, u64::MAX], &[HALF, HALF - 1, 1]] {
            let numbers = Classic { total, ..with_lens(lens) };
            invalid.push((header(&numbers), Total(total).into()));
        }
    }
    invalid.extend((4..32).map(|bit| row(&valid, 12, 5u32 | 1 << bit, Options(1 << bit))));
    let shape = RedisBloomShape { bits: 1 << 43, ..LINK.shape };
    Table {
        layout: Layout::RedisBloom,
        is_cuckoo: false,
        invalid,
        huge: vec![header(&of(&[LINK, Link { shape, bytes: 1 << 40 }]))],
        valid: vec![
            header(&of(&[LINK; 2])),
            header(&with_lens(&[HALF, HALF - 1])),
            header(&with_lens(&[u64::MAX])),
            header(&with_lens(&[0, 0])),
            valid,
        ],
    }
}

/// Numbers of 64 bits whose low bits are those of a valid filter, and strings of other lengths.
#[test]
fn numbers_of_values_are_not_cut() {
    let valid = fields(&of(&[LINK]));
    let names = [(1, "layers"), (2, "options"), (3, "growth"), (6, "hashes"), (9, "log2_bits")];
    for (at, field) in names {
        let mut fields = valid.clone();
        let Field::Unsigned(number) = &mut fields[at] else { panic!("{field}") };
        *number += if field == "log2_bits" { 256 } else { 1 << 32 };
        let range = HeaderError::Range { field, number: *number };
        assert_eq!(value(&fields), Err(FieldError::Core(range.into())));
    }
    for bytes in [0, 136, 143, 145, 152] {
        let mut fields = valid.clone();
        fields[10] = Field::String(vec![0; bytes]);
        assert_eq!(value(&fields), Err(FieldError::Core(Layer(0).into())), "{bytes} bytes");
    }
}

/// A file that is refused would prevent the start of a server.
#[test]
fn values_with_other_sums_or_options_are_repaired() {
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
fn a_filter_of_the_most_items_grows() {
    // The total is already 2^64 - 1 before the filter grows.
    let full = header(&with_lens(&[u64::MAX]));
    let mut filter = AnyFilter::decode_header(&full, &mut |_| true).unwrap();
    for n in 0u64..150 {
        filter.insert_item(&n.to_le_bytes(), 0, &mut |_| true).unwrap();
    }
    assert_eq!((filter.layer_count(), filter.len()), (2, u64::MAX));
    assert_eq!(assert_reloads(&filter).newest_len(), filter.newest_len());
}
