//! Headers of filters without a window, versions 1 to 3.

use bloomline_core::bloom::bloomline::sizing::REVISION;
use bloomline_core::bloom::layer::Layer;
use bloomline_core::error::HeaderError::{
    Growth, Irregular, Layers, Len, Length, Magic, Offset, Reserved, Sizing, Version,
};
use bloomline_core::host::{AnyFilter, Filter, Growth as Kind, Spec};
use bloomline_core::spec::MAX_LAYERS;
use bloomline_core::{Error, Layout};
use bloomline_reference::calls::Calls;
use bloomline_reference::checks::check::assert_reloads;
use bloomline_reference::checks::header::{Header, Plain, Record};

use super::{Table, changed, row};

/// The unit of the offset at which the bits begin.
const UNIT: u64 = 4 << 20;

/// Three layers of 10, 20 and 40 items, the newest of which holds five.
const PLAIN: Plain = Plain {
    version: 1,
    revision: REVISION,
    growth: 1,
    expansion: 2,
    layers: 3,
    capacity: 10,
    error_rate: 0.01,
    seed: 0x0123_4567_89ab_cdef,
    newest_len: 5,
    first_byte: 0,
    records: Vec::new(),
};

fn encoded(header: Plain) -> Vec<u8> {
    Header::from(header).encode()
}

/// A filter of 100,000 items whose layers have one page and 50 items.
fn folded(layers: u32) -> Vec<u8> {
    let records = (0..layers).map(|index| (index, 1, 50)).collect::<Vec<_>>();
    irregular(layers, &records, 5, UNIT)
}

/// A filter of 100,000 items at 0.01 with records of index, pages and capacity.
fn irregular(
    layers: u32,
    records: &[(u32, u32, u64)],
    newest_len: u64,
    first_byte: u64,
) -> Vec<u8> {
    let record = |&(index, pages, capacity)| Record { index, pages, capacity };
    let records = records.iter().map(record).collect();
    let plain = Plain { version: 2, layers, capacity: 100_000, newest_len, first_byte, ..PLAIN };
    encoded(Plain { records, ..plain })
}

/// The pages of the first layer of [`irregular`].
fn pages() -> u32 {
    let header = encoded(Plain { layers: 1, capacity: 100_000, ..PLAIN });
    let filter = Filter::decode_header(&header, &mut |_| true).expect("valid");
    filter.layers().next().expect("a layer").geometry().pages() as u32
}

pub(super) fn tables() -> [Table; 3] {
    [plain(), extended(), sparse()]
}

/// What is refused in a header of each version, of a filter that grows twofold.
pub(super) fn common(valid: &[u8]) -> Vec<(Vec<u8>, Error)> {
    let mut rows = vec![
        row(valid, 10, 1u16, Sizing(1)),
        row(valid, 10, 2u16, Sizing(2)),
        row(valid, 12, 2u8, Growth(2)),
        // A fixed filter has no expansion, and a scaling one has one.
        row(valid, 12, 0u8, Error::Expansion(2)),
        row(valid, 16, 0u32, Error::Expansion(0)),
        row(valid, 16, 32_769u32, Error::Expansion(32_769)),
        row(valid, 24, (1u64 << 40) + 1, Error::Capacity((1 << 40) + 1)),
    ];
    let rates = [0.0, -0.01, 0.250_001, f64::INFINITY, f64::NAN];
    rows.extend(rates.map(|rate| row(valid, 32, rate, Error::ErrorRate(rate))));
    rows
}

fn plain() -> Table {
    let valid = encoded(PLAIN);
    let fixed = encoded(Plain { growth: 0, expansion: 0, layers: 1, ..PLAIN });
    let of_one_item = Plain { layers: MAX_LAYERS, expansion: 1, capacity: 1, ..PLAIN };
    let longest = encoded(Plain { newest_len: 1, ..of_one_item });
    let mut invalid = common(&valid);
    invalid.extend([
        row(&valid, 0, b'B', Magic),
        row(&valid, 7, b'm', Magic),
        row(&valid, 8, 0u16, Version(0)),
        row(&valid, 8, 2u16, Version(2)),
        row(&valid, 13, 1u8, Reserved),
        row(&valid, 63, 128u8, Reserved),
        row(&valid, 20, 0u32, Layers(0)),
        row(&valid, 20, 60u32, Layers(60)),
        row(&valid, 20, u32::MAX, Layers(u32::MAX)),
        row(&fixed, 20, 2u32, Layers(2)),
        row(&longest, 20, MAX_LAYERS + 1, Layers(MAX_LAYERS + 1)),
        row(&valid, 24, 0u64, Error::Capacity(0)),
        // The first layer is in range, but the third one would have a capacity of 2^41 items.
        row(&valid, 24, 1u64 << 39, Layers(3)),
        row(&valid, 32, 1e-15, Error::ErrorRateTooSmall(5e-16)),
        row(&valid, 48, 41u64, Len(41)),
        row(&valid, 48, u64::MAX, Len(u64::MAX)),
    ]);
    let huge = vec![encoded(Plain { capacity: 1 << 40, layers: 1, ..PLAIN })];
    // The newest layer may be full, or empty.
    let filled = [0u64, 40].map(|len| changed(&valid, 48, &len));
    let valid = [&filled[..], &[fixed, valid]].concat();
    Table { layout: Layout::Bloomline, is_cuckoo: false, valid, huge, invalid }
}

fn extended() -> Table {
    let (all, last) = (pages(), u64::from(u32::MAX) * UNIT);
    let valid = irregular(2, &[(0, 20, 5_000)], 7, UNIT);
    let mut invalid = common(&valid);
    invalid.extend([
        row(&valid, 8, 1u16, Version(1)),
        row(&valid, 8, 4u16, Version(4)),
        row(&valid, 14, 1u8, Reserved),
        row(&valid, 48, 1u8, Reserved),
        row(&valid, 79, 128u8, Reserved),
        row(&valid, 20, 0u32, Layers(0)),
        row(&valid, 56, 100_001u64, Len(100_001)),
        // A regular filter has version 1.
        (changed(&irregular(2, &[], 7, UNIT), 64, &0u64), Version(2).into()),
    ]);
    let offsets = [1, UNIT - 64, UNIT + 64, last + UNIT, u64::MAX];
    invalid.extend(offsets.map(|byte| row(&valid, 64, byte, Offset(byte))));
    let records = [
        // Twice, out of order, for layers that do not exist.
        (1, vec![(0, 5, 50), (0, 5, 50)], 0),
        (3, vec![(2, 5, 50), (0, 5, 50)], 0),
        (3, vec![(1, 5, 50), (1, 6, 50)], 1),
        (1, vec![(1, 5, 50)], 1),
        (1, vec![(u32::MAX, 5, 50)], u32::MAX),
        (2, vec![(0, 5, 50), (2, 5, 50)], 2),
        // No pages, or more than the layer has.
        (1, vec![(0, 0, 50)], 0),
        (1, vec![(0, all + 1, 50)], 0),
        (1, vec![(0, u32::MAX, 50)], 0),
        (2, vec![(1, 0, 50)], 1),
        // No capacity: the bytes are left.
        (1, vec![(0, 5, 0)], 0),
        // All pages and the expected capacity: a regular layer.
        (1, vec![(0, all, 100_000)], 0),
        // A rate above the target.
        (1, vec![(0, all, 1_000_000)], 0),
        (1, vec![(0, 1, 10_000)], 0),
        (1, vec![(0, all / 2, u64::MAX)], 0),
        (2, vec![(0, all, 100_100), (1, 3, 90_000)], 1),
    ];
    invalid.extend(records.into_iter().map(|(layers, records, index)| {
        (irregular(layers, &records, 0, 0), Irregular(index).into())
    }));
    let mut all_valid = vec![
        irregular(1, &[(0, 1, 10)], 10, 0),
        irregular(1, &[(0, all / 2, 40_000)], 9, UNIT),
        irregular(1, &[(0, all, 99_999)], 0, 3 * UNIT),
        irregular(1, &[(0, all, 100_001)], 100_001, 0),
        irregular(3, &[(1, 20, 1_000)], 2_000, last),
        irregular(3, &[(0, 20, 5_000), (2, 7, 700)], 700, UNIT),
        irregular(2, &[], 100, UNIT),
    ];
    // The last record ends at any place in the last 64 bytes. 3,200 bytes would be the length of a
    // header in RedisBloom's layout.
    all_valid.extend([1, 2, 3, 4, 191, 192, 195, 196].map(folded));
    all_valid.push(valid);
    let huge = vec![encoded(Plain {
        version: 2,
        layers: 1,
        capacity: 1 << 40,
        first_byte: UNIT,
        ..PLAIN
    })];
    Table { layout: Layout::Bloomline, is_cuckoo: false, valid: all_valid, huge, invalid }
}

/// A list of three items.
fn sparse() -> Table {
    let spec = Spec { capacity: 100, error_rate: 0.01, growth: Kind::Scaling { expansion: 2 } };
    let mut filter = AnyFilter::bloomline(spec, 7, &mut |_| true).expect("a filter");
    for item in 0..3u32 {
        filter.insert_item(&item.to_le_bytes(), 0, &mut |_| true).expect("room");
    }
    let valid = filter.encode_header();
    let mut long = changed(&valid, 48, &17u8);
    long.resize(64 + 17 * 8, 7);
    let mut invalid = common(&valid);
    invalid.extend([
        row(&valid, 13, 1u8, Reserved),
        row(&valid, 56, 1u8, Reserved),
        row(&valid, 20, 0u32, Layers(0)),
        row(&valid, 20, 2u32, Layers(2)),
        row(&valid, 48, 2u64, Len(2)),
        row(&valid, 48, 4u64, Len(4)),
        // No room for three items: two by the capacity, none by the size.
        row(&valid, 24, 2u64, Len(3)),
        row(&valid, 24, 10_000u64, Len(3)),
        // Seventeen items, of which there is room for sixteen.
        (long.clone(), Length(long.len()).into()),
    ]);
    // Any hashes are those of items: the first two are equal.
    let valid = vec![changed(&valid, 64, &valid[72..80]), valid];
    Table { layout: Layout::Bloomline, is_cuckoo: false, valid, huge: Vec::new(), invalid }
}

#[test]
fn a_filter_of_the_most_layers_does_not_grow() {
    let header = Plain { layers: MAX_LAYERS, expansion: 1, capacity: 1, newest_len: 1, ..PLAIN };
    let mut filter = Filter::decode_header(&encoded(header), &mut |_| true).expect("valid");
    assert_eq!((filter.layer_count(), filter.len(), filter.room()), (MAX_LAYERS, 4_096, 0));
    let refused = filter.insert_item(b"one more", 0, &mut |_| true);
    assert_eq!(refused, Err(Error::TooManyLayers(MAX_LAYERS)));
}

#[test]
fn layers_after_a_folded_one_have_the_reserved_capacity() {
    let all = pages();
    for ((index, pages, capacity), expected) in [
        ((0, 20, 5_000), [5_000, 100_000, 200_000, 400_000]),
        ((1, 20, 1_000), [100_000, 1_000, 100_000, 200_000]),
        ((2, 20, 700), [100_000, 200_000, 700, 100_000]),
        // A smaller capacity without a fold.
        ((0, all, 5_000), [5_000, 10_000, 20_000, 40_000]),
    ] {
        let header = irregular(3, &[(index, pages, capacity)], 7, UNIT);
        let mut filter = Filter::decode_header(&header, &mut |_| true).expect("valid");
        let folded = filter.layers().nth(index as usize).expect("a layer");
        assert_eq!((folded.fold().stored(), folded.capacity()), (pages.into(), capacity));
        for item in 0..filter.room() + 100 {
            filter.insert_item(&item.to_le_bytes(), 0, &mut |_| true).expect("memory");
        }
        let capacities: Vec<u64> = filter.layers().map(Layer::capacity).collect();
        assert_eq!(capacities, expected);
        assert_reloads(&filter.into());
    }
}

#[test]
fn builds_before_the_first_release_are_named() {
    let text = "sizing revision 1 is that of builds before the first release, whose filters are not \
                read";
    assert_eq!(Sizing(1).to_string(), text);
    assert_eq!(Sizing(2).to_string(), text.replace('1', "2"));
    assert_eq!(Sizing(REVISION + 1).to_string(), "sizing revision 4 is unknown");
}
