//! Headers of cuckoo filters in both layouts.

use bloomline_core::Layout;
use bloomline_core::cuckoo::bloomline::MIN_ERROR_RATE;
use bloomline_core::cuckoo::redisbloom::{CuckooNumbers, RedisBloomCuckoo};
use bloomline_core::error::CuckooError::{
    BucketSize, Buckets, Doubling, Expansion, Items, List, MaxIterations, Table as TableOf, Tables,
};
use bloomline_core::error::HeaderError::{self, Length, Offset, Reserved, Sizing, Version};
use bloomline_core::error::{CuckooError, Error};
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions, CuckooSpec};
use bloomline_reference::cuckoo_header::{Header, MAX_BITS, Table as Numbers};
use bloomline_reference::edges::Forged;

use super::{Table, changed, row};

/// A change of the numbers of a filter.
type Change = fn(&mut Header);

fn error(error: CuckooError) -> Error {
    HeaderError::Cuckoo(error).into()
}

/// Tables with lists, of which one is being doubled.
fn doubling() -> Header {
    let options = CuckooOptions { bucket_size: 2, max_iterations: 20, expansion: 1 };
    let spec = CuckooSpec { capacity: 20, error_rate: 0.01, options };
    let mut filter = AnyCuckoo::bloomline(spec, 7, &mut |_| true).expect("a filter");
    for number in 0u64.. {
        for _ in 0..if number % 20 == 0 { 6 } else { 1 } {
            filter.insert(&number.to_le_bytes(), &mut |_| true).expect("memory");
        }
        let header = Header::of(&filter);
        if header.tables.len() == COUNT && header.doubling_at.is_some_and(|at| at >= 16) {
            return header;
        }
    }
    unreachable!()
}

/// The tables of [`doubling`]: the last but one is doubled, and the last takes its entries.
const COUNT: usize = 4;
const SOURCE: usize = COUNT - 2;
const NEWEST: usize = COUNT - 1;

fn newest(header: &mut Header) -> &mut Numbers {
    &mut header.tables[NEWEST]
}

fn source(header: &mut Header) -> &mut Numbers {
    &mut header.tables[SOURCE]
}

pub(super) fn tables() -> [Table; 2] {
    [own(), classic()]
}

fn own() -> Table {
    let (newest_table, end) = (error(TableOf(NEWEST as u32)), (1u64 << 62) + 1);
    let changes: &[(Change, Error)] = &[
        (|it| it.tables.clear(), error(Doubling(16))),
        (|it| (it.tables, it.doubling_at) = (Vec::new(), None), error(Tables(0))),
        (|it| newest(it).windows = 0, newest_table),
        (|it| newest(it).windows = u64::MAX, newest_table),
        (|it| newest(it).bits = 6, newest_table),
        (|it| newest(it).bits = 29, newest_table),
        // Spare doublings below 7 bits.
        (|it| newest(it).spare = newest(it).bits - 6, newest_table),
        // Prefixes that do not divide those of the next table.
        (|it| it.tables[0].windows += 1, error(TableOf(1))),
        (|it| it.tables[0].bits = MAX_BITS, error(TableOf(1))),
        (|it| it.error_rate = 0.0, Error::CuckooErrorRate(0.0)),
        (|it| it.error_rate = 1.0, Error::CuckooErrorRate(1.0)),
        (|it| it.error_rate = f64::NAN, Error::CuckooErrorRate(f64::NAN)),
        (|it| it.error_rate = MIN_ERROR_RATE / 2.0, Error::CuckooErrorRate(MIN_ERROR_RATE / 2.0)),
        // A rate below the sum of those of all tables.
        (|it| it.error_rate = it.rate_for_life() * (1.0 - 1e-6), error(Tables(COUNT as u64))),
        (|it| _ = newest(it).list.insert(0, 0), error(List(NEWEST as u32))),
        (
            |it| {
                let prefixes = newest(it).prefixes();
                newest(it).list.insert(prefixes, 1);
            },
            error(List(NEWEST as u32)),
        ),
        (|it| _ = newest(it).list.insert(0, 1 << 58), error(List(NEWEST as u32))),
        (|it| _ = source(it).list.insert(0, 1), error(Doubling(16))),
        (|it| it.doubling_at = Some(u64::MAX), error(Doubling(u64::MAX))),
        // A source of as many windows, of other spare doublings, and without a target.
        (|it| it.tables[SOURCE].windows = it.tables[NEWEST].windows, error(TableOf(NEWEST as u32))),
        (|it| source(it).spare += 1, error(Doubling(16))),
        (|it| it.tables.truncate(1), error(Doubling(16))),
        // Tables that overlap, in another order, and with equal starts.
        (|it| newest(it).start -= 1, newest_table),
        (|it| it.tables.swap(0, 1), error(TableOf(1))),
        (|it| newest(it).start = it.tables[SOURCE].start, newest_table),
        (|it| it.end = u64::MAX, Offset(u64::MAX).into()),
        (|it| it.end = (1 << 62) + 1, Offset(end).into()),
        (
            |it| {
                newest(it).start = u64::MAX - 7;
                it.end = u64::MAX;
            },
            newest_table,
        ),
    ];
    let mut invalid = Vec::new();
    for &(change, error) in changes {
        let mut header = doubling();
        change(&mut header);
        invalid.push((header.encode(), error));
    }
    let header = doubling();
    let valid = header.encode();
    let past = header.tables[SOURCE].windows + 1;
    invalid.push(row(&valid, 48, past, error(Doubling(past))));
    invalid.push(row(&valid, 56, header.end - 1, Offset(header.end - 1)));
    let table = 64 + 32 * NEWEST;
    let long = header.tables.iter().position(|table| table.list.len() > 1).expect("a list");
    let before: usize = header.tables[..long].iter().map(|table| table.list.len()).sum();
    let list = 64 + 32 * COUNT + 16 * before;
    let length = Length(valid.len());
    let not_ascending = || error(List(long as u32));
    invalid.extend([
        row(&valid, 7, b'n', Length(valid.len())),
        row(&valid, 8, 2u16, Version(2)),
        row(&valid, 10, 2u16, Sizing(2)),
        row(&valid, 12, 0u8, error(BucketSize(0))),
        row(&valid, 13, 0u8, error(Doubling(16))),
        row(&valid, 13, 2u8, error(Doubling(16))),
        row(&valid, 14, 0u16, error(MaxIterations(0))),
        row(&valid, 16, 3u16, error(Expansion(3))),
        // A filter that does not grow has one table.
        row(&valid, 16, 0u16, error(Tables(COUNT as u64))),
        row(&valid, 18, 0u16, length),
        row(&valid, 18, 33u16, error(Tables(33))),
        row(&valid, 23, 1u8, Reserved),
        row(&valid, table + 16, 0u64, length),
        row(&valid, table + 16, u64::MAX, length),
        // They would have 2^64 bytes.
        row(&valid, table + 16, 1u64 << 60, length),
        row(&valid, table + 31, 1u8, Reserved),
        // The same prefix twice.
        (changed(&valid, list + 16, &valid[list..list + 8]), not_ascending()),
        (changed(&valid, list, &valid[list + 16..list + 24]), not_ascending()),
        row(&valid, list + 8, 1u64 << 58, not_ascending()),
        // The length of a header in RedisBloom's layout.
        (valid[..38].to_vec(), error(MaxIterations(0))),
    ]);
    let mut huge = doubling();
    huge.doubling_at = None;
    huge.tables.drain(1..);
    let first = &mut huge.tables[0];
    (first.windows, first.spare) = (1 << 42, 0);
    huge.end = first.start + first.byte_count();
    Table {
        layout: Layout::Bloomline,
        is_cuckoo: true,
        invalid,
        huge: vec![huge.encode()],
        valid: vec![
            changed(&valid, 12, &255u8),
            changed(&valid, 14, &u16::MAX),
            changed(&valid, 40, &u64::MAX),
            changed(&valid, list + 8, &(1u64 << 57)),
            valid,
        ],
    }
}

/// Two tables of 4 and 8 buckets, which have 24 slots.
const NUMBERS: CuckooNumbers = CuckooNumbers {
    items: 0,
    buckets: 4,
    deletes: 0,
    tables: 2,
    bucket_size: 2,
    max_iterations: 20,
    expansion: 2,
};

fn header(numbers: CuckooNumbers) -> Vec<u8> {
    Forged::RedisBloomCuckoo(numbers).header()
}

fn classic() -> Table {
    let valid = header(NUMBERS);
    let fixed = CuckooNumbers { tables: 1, expansion: 0, ..NUMBERS };
    let mut invalid = vec![
        row(&valid, 0, 25u64, error(Items(25))),
        row(&valid, 32, 0u16, error(BucketSize(0))),
        row(&valid, 32, 256u16, error(BucketSize(256))),
        row(&valid, 34, 0u16, error(MaxIterations(0))),
        row(&valid, 36, 0u16, error(Tables(2))),
    ];
    invalid.extend([0, 3, 1 << 56, u64::MAX].map(|n| row(&valid, 8, n, error(Buckets(n)))));
    // 4 x 2^53 buckets are 2^55; one table more would have 2^56.
    invalid.extend([0, 55, 65_536, u64::MAX].map(|n| row(&valid, 24, n, error(Tables(n)))));
    invalid.extend([3u16, 32_767, 32_769].map(|n| row(&valid, 36, n, error(Expansion(n.into())))));
    let most = |tables, expansion, buckets| {
        header(CuckooNumbers { tables, expansion, buckets, bucket_size: 255, ..NUMBERS })
    };
    Table {
        layout: Layout::RedisBloom,
        is_cuckoo: true,
        invalid,
        huge: vec![most(65_535, 1, 1 << 55), most(54, 2, 4), most(1, 0, 1 << 55)],
        valid: vec![
            header(CuckooNumbers { items: 24, deletes: u64::MAX, ..NUMBERS }),
            header(fixed),
            header(CuckooNumbers {
                expansion: 32_768,
                max_iterations: 65_535,
                bucket_size: 255,
                ..fixed
            }),
            valid,
        ],
    }
}

/// A header has 16 bits for these, and a value 64.
#[test]
fn numbers_of_values_are_not_cut() {
    for (numbers, expected) in [
        (CuckooNumbers { bucket_size: 65_537, ..NUMBERS }, BucketSize(65_537)),
        (CuckooNumbers { max_iterations: 65_556, ..NUMBERS }, MaxIterations(65_556)),
        (CuckooNumbers { expansion: 65_536, ..NUMBERS }, Expansion(65_536)),
        (CuckooNumbers { tables: (1 << 32) + 2, ..NUMBERS }, Tables((1 << 32) + 2)),
    ] {
        let result = RedisBloomCuckoo::with_numbers(&numbers, &mut |_| panic!("{numbers:?}"));
        assert_eq!(result.err(), Some(error(expected)));
    }
}
