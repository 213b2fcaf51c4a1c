//! Which numbers a filter in this project's layout may have: each of them out of range is refused.

use bloomline_core::Error;
use bloomline_core::cuckoo::bloomline::MIN_ERROR_RATE;
use bloomline_core::error::{CuckooError, HeaderError};
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooSpec};
use bloomline_reference::cuckoo_header::{Header, MAX_BITS, Table};

use super::{Layout, compact, granted, item, options};

/// A change of the numbers of a filter.
type Change = fn(&mut Header);

/// An empty filter that grows.
fn empty() -> AnyCuckoo {
    Layout::Bloomline { error_rate: 0.01, is_fixed: false }.create(20)
}

/// The header of the same filter with empty slots, which a header alone describes.
fn without_slots(header: &[u8]) -> Vec<u8> {
    let mut header = header.to_vec();
    for table in 0..usize::from(header[18]) {
        header[64 + 40 * table + 8..][..8].fill(0);
    }
    header
}

fn assert_accepted(header: &[u8], what: &str) {
    let filter = AnyCuckoo::decode_header(header, &mut granted);
    let filter = filter.unwrap_or_else(|error| panic!("{what}: {error}"));
    filter.check().unwrap();
    assert!(filter.encode_header() == without_slots(header), "{what}: another header");
}

fn assert_refused(header: &[u8], what: &str) {
    let result = AnyCuckoo::decode_header(header, &mut |_| panic!("{what}: a demand"));
    let is_refused =
        matches!(result, Err(Error::Header(_) | Error::Cuckoo(_) | Error::CuckooErrorRate(_)));
    assert!(is_refused, "{what}: {result:?}");
}

/// The header of a filter of three tables at least, of which one is drained, with lists.
fn doubling_at() -> Header {
    let (mut filter, mut number) = (empty(), 0);
    loop {
        for _ in 0..if number % 20 == 0 { 6 } else { 1 } {
            filter.insert(&item(number), &mut granted).unwrap();
        }
        let header = Header::of(&filter);
        if header.tables.len() >= 4 && header.doubling_at.is_some_and(|at| at >= 16) {
            return header;
        }
        number += 1;
    }
}

/// The newest table.
fn newest(header: &mut Header) -> &mut Table {
    header.tables.last_mut().unwrap()
}

/// The table that is drained.
fn source(header: &mut Header) -> &mut Table {
    let index = header.tables.len() - 2;
    &mut header.tables[index]
}

#[test]
fn accepts_what_it_encodes() {
    let mut filter = empty();
    for number in 0..2_000 {
        filter.insert(&item(number), &mut granted).unwrap();
        assert_accepted(&filter.encode_header(), "as encoded");
    }
    for number in 0..1_900 {
        filter.remove(&item(number));
    }
    compact(&mut filter);
    assert_accepted(&filter.encode_header(), "compacted");
    assert_accepted(&doubling_at().encode(), "doubling_at");
}

#[test]
fn refuses_each_number_out_of_range() {
    let changes: &[(&str, Change)] = &[
        ("no table", |it| it.tables.clear()),
        ("no windows", |it| newest(it).windows = 0),
        ("one window", |it| newest(it).windows = 1),
        ("too many windows", |it| newest(it).windows = 1 << 60),
        ("all windows", |it| newest(it).windows = u64::MAX),
        ("no bits", |it| newest(it).bits = 0),
        ("6 bits", |it| newest(it).bits = 6),
        ("29 bits", |it| newest(it).bits = 29),
        ("255 bits", |it| newest(it).bits = 255),
        ("spare doublings below 7 bits", |it| newest(it).spare = newest(it).bits - 6),
        ("255 spare doublings", |it| newest(it).spare = 255),
        ("prefixes that do not divide", |it| {
            let windows = it.tables[0].windows;
            it.tables[0].windows = windows + 1;
        }),
        ("prefixes that do not divide by bits", |it| it.tables[0].bits = MAX_BITS),
        ("a rate of 0", |it| it.error_rate = 0.0),
        ("a rate of 1", |it| it.error_rate = 1.0),
        ("a negative rate", |it| it.error_rate = -0.01),
        ("a rate that is no number", |it| it.error_rate = f64::NAN),
        ("an infinite rate", |it| it.error_rate = f64::INFINITY),
        ("a rate below the least", |it| it.error_rate = MIN_ERROR_RATE / 1.001),
        ("a rate below the sum of all tables", |it| {
            it.error_rate = it.rate_for_life() * (1.0 - 1e-6);
        }),
        ("no copies", |it| _ = newest(it).list.insert(0, 0)),
        ("a prefix past the last", |it| {
            let prefixes = newest(it).prefixes();
            newest(it).list.insert(prefixes, 1);
        }),
        ("the largest prefix", |it| _ = newest(it).list.insert(u64::MAX, 1)),
        ("a list of a source", |it| _ = source(it).list.insert(0, 1)),
        ("a position past the last slot", |it| it.doubling_at = Some(source(it).windows + 1)),
        ("the largest position", |it| it.doubling_at = Some(u64::MAX)),
        ("a source of as many windows", |it| {
            source(it).windows = newest(it).windows;
            source(it).bits = newest(it).bits;
            source(it).spare = newest(it).spare;
        }),
        ("a source of other spare doublings", |it| source(it).spare += 1),
        ("a source without a target", |it| it.tables.truncate(1)),
        ("tables that overlap", |it| newest(it).start -= 1),
        ("tables in another order", |it| {
            let start = it.tables[0].start;
            it.tables[0].start = it.tables[1].start;
            it.tables[1].start = start;
        }),
        ("equal starts", |it| newest(it).start = source(it).start),
        ("an end before the last byte", |it| it.end -= 1),
        ("no end", |it| it.end = 0),
        ("a start at the end of all offsets", |it| {
            newest(it).start = u64::MAX - 7;
            it.end = u64::MAX;
        }),
        ("an end that leaves no room to grow", |it| it.end = u64::MAX),
        ("an end past all offsets", |it| it.end = (1 << 62) + 1),
    ];
    for (what, change) in changes {
        let mut header = doubling_at();
        change(&mut header);
        assert_refused(&header.encode(), what);
    }
}

#[test]
fn refuses_each_field_out_of_range() {
    let mut header = doubling_at();
    let valid = header.encode();
    let table = 64 + 40 * (header.tables.len() - 1);
    let long = header.tables.iter().position(|table| table.list.len() > 1).expect("a list");
    let before: usize = header.tables[..long].iter().map(|table| table.list.len()).sum();
    let list = 64 + 40 * header.tables.len() + 16 * before;
    let most = newest(&mut header).windows + 1;
    let with = |at: usize, field: &[u8]| {
        let mut header = valid.clone();
        header[at..at + field.len()].copy_from_slice(field);
        header
    };
    for (at, field, what) in [
        (0, &b"bloomlin"[..], "the magic of a Bloom filter"),
        (8, &[0, 0], "version 0"),
        (8, &[2, 0], "version 2"),
        (10, &[0, 0], "revision 0"),
        (10, &[2, 0], "revision 2"),
        (12, &[0], "no slots per bucket"),
        (13, &[2], "draining twice"),
        (13, &[255], "draining 255 times"),
        (14, &[0, 0], "no iterations"),
        (16, &[3, 0], "expansion 3"),
        (18, &[0, 0], "no tables"),
        (18, &[33, 0], "33 tables"),
        (18, &[255, 255], "65,535 tables"),
        (20, &[1], "reserved"),
        (23, &[1], "reserved"),
        (table + 8, &(most + 1).to_le_bytes(), "more entries than slots"),
        (table + 8, &u64::MAX.to_le_bytes(), "the most entries"),
        (table + 24, &[0; 8], "no listed entries"),
        (table + 24, &u64::MAX.to_le_bytes(), "the most listed entries"),
        (table + 24, &(1u64 << 60).to_le_bytes(), "listed entries of 2^64 bytes"),
        (table + 34, &[1], "reserved"),
        (table + 39, &[1], "reserved"),
        // The second entry is less than the first.
        (list + 16, &valid[list..list + 8], "the same prefix twice"),
        (list, &valid[list + 16..list + 24], "the same prefix twice"),
    ] {
        assert_refused(&with(at, field), what);
    }
    assert_accepted(&with(table + 8, &most.to_le_bytes()), "all slots occupied");
    assert_accepted(&with(12, &[255]), "255 slots per bucket");
    assert_accepted(&with(14, &[255, 255]), "65,535 iterations");
    assert_accepted(&with(40, &[255; 8]), "the most deletions");
    assert_accepted(&with(list + 8, &(1u64 << 57).to_le_bytes()), "many copies");
    assert_refused(&with(list + 8, &(1u64 << 58).to_le_bytes()), "2^58 copies, and others");
    assert_refused(&with(list + 8, &[255; 8]), "the most copies");
}

#[test]
fn refuses_to_create_what_is_out_of_range() {
    let create = |capacity, error_rate| {
        let spec = CuckooSpec { capacity, error_rate, options: options(2, 20, 1) };
        AnyCuckoo::bloomline(spec, 7, &mut |demand| demand.new_bytes < 1 << 20)
    };
    for rate in [0.0, -0.0, -0.5, 1.0, 2.0, MIN_ERROR_RATE / 1.001, f64::INFINITY, f64::MIN] {
        assert_eq!(create(10, rate).unwrap_err(), Error::CuckooErrorRate(rate));
    }
    assert!(matches!(create(10, f64::NAN), Err(Error::CuckooErrorRate(_))));
    for capacity in [0, (1 << 40) + 1, u64::MAX] {
        assert_eq!(create(capacity, 0.01).unwrap_err(), Error::Capacity(capacity));
    }
    for (capacity, rate) in [(1, MIN_ERROR_RATE), (1, 1.0 - f64::EPSILON), (1_000, 0.5)] {
        let filter = create(capacity, rate).unwrap();
        assert_eq!(filter.error_rate(), Some(rate));
        assert!(filter.capacity() >= capacity && filter.is_empty());
        filter.check().unwrap();
    }
    for capacity in [1 << 30, 1 << 40] {
        assert!(matches!(create(capacity, 0.01), Err(Error::Refused(_))));
    }
    let classic = |capacity, options| AnyCuckoo::redisbloom(capacity, options, &mut granted);
    for capacity in [0, u64::MAX] {
        let error = classic(capacity, options(2, 20, 1)).unwrap_err();
        assert_eq!(error, Error::Capacity(capacity));
    }
    for (options, error) in [
        (options(0, 20, 1), CuckooError::BucketSize(0)),
        (options(2, 0, 1), CuckooError::MaxIterations(0)),
        (options(2, 20, 3), CuckooError::Expansion(3)),
    ] {
        let spec = CuckooSpec { capacity: 10, error_rate: 0.01, options };
        let own = AnyCuckoo::bloomline(spec, 7, &mut granted);
        for result in [own, classic(8, options)] {
            assert_eq!(result.unwrap_err(), Error::Cuckoo(error));
        }
    }
    for (capacity, bucket_size, buckets) in [(100, 2, 64), (50, 3, 16), (1000, 255, 4), (1, 2, 1)] {
        assert_eq!(classic(capacity, options(bucket_size, 20, 1)).unwrap().buckets(), buckets);
    }
}

/// At the least rate, a filter that grows takes at least four more tables after the first.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn the_least_rate_leaves_room_for_four_more_tables() {
    for capacity in [1, 10, 100] {
        let spec = CuckooSpec { capacity, error_rate: MIN_ERROR_RATE, options: options(2, 20, 1) };
        let mut filter = AnyCuckoo::bloomline(spec, 7, &mut granted).unwrap();
        let (mut number, mut grown) = (0, 0);
        while grown < 4 {
            let newest = Header::of(&filter).tables.pop().unwrap();
            filter.insert(&item(number), &mut granted).unwrap();
            number += 1;
            let last = Header::of(&filter).tables.pop().unwrap();
            // A table that is not a doubled one.
            grown += u32::from(last.start != newest.start && last.windows == newest.windows);
        }
        assert!(matches!(filter.check(), Ok(())));
    }
}

#[test]
fn refuses_a_position_without_a_source_and_other_headers() {
    let mut header = empty().encode_header();
    header[48] = 1;
    assert_refused(&header, "a position");
    let header = Header { doubling_at: Some(0), ..Header::of(&empty()) };
    assert_refused(&header.encode(), "the only table is doubling_at");
    for bytes in [&b""[..], b"bloomcko", b"bloomlin", &[0; 64], &[255; 64], &[0; 104]] {
        assert_refused(bytes, "another kind of header");
    }
    // The length of a header of RedisBloom's layout.
    let result = AnyCuckoo::decode_header(&empty().encode_header()[..38], &mut granted);
    assert!(matches!(result, Err(Error::Header(HeaderError::Cuckoo(_)))), "{result:?}");
}
