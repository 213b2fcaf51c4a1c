//! Calls of RedisBloom's commands of cuckoo filters, valid and not, generated from bytes.
//!
//! Not generated, because it ends RedisBloom 2.8: an option of CF.RESERVE as the last argument, for
//! whose value it reads past the arguments. Nor what grows to gigabytes: a filter with a large
//! expansion is deleted before a second table can be full.

use arbitrary::{Result, Unstructured};
use bloomline_harness::arguments;

use super::words::{Words, item, items, iterator, number, word};

/// The options of CF.RESERVE.
const OPTIONS: [&str; 3] = ["BUCKETSIZE", "MAXITERATIONS", "EXPANSION"];

/// The largest filter that a generated header creates, in bytes. Each table that it grows by is at
/// most four times as large as the one before.
const MOST_BYTES: u64 = 64 << 10;

fn capacity(u: &mut Unstructured) -> Result<Vec<u8>> {
    const USUAL: [&str; 9] = ["4", "8", "10", "37", "100", "200", "510", "1000", "3000"];
    number(u, &USUAL, &["1", "2", "3", "1073741825", "4611686018427387904"])
}

/// The value of an option of CF.RESERVE.
fn value(u: &mut Unstructured, name: &str) -> Result<Vec<u8>> {
    match name {
        "BUCKETSIZE" if u.ratio(1, 4)? => Ok(word(u.int_in_range(1..=255u8)?)),
        "BUCKETSIZE" => number(u, &["1", "2", "3", "4", "8"], &["255", "256", "65537"]),
        "MAXITERATIONS" => number(u, &["1", "2", "5", "20", "100"], &["500", "65535", "65536"]),
        _ => number(u, &["0", "1", "1", "2", "3", "4"], &["32769", "40000", "65537"]),
    }
}

/// CF.RESERVE after the key.
fn reserve(u: &mut Unstructured) -> Result<Words> {
    let mut rest = vec![capacity(u)?];
    for _ in 0..u.int_in_range(0..=3u8)? {
        let name = *u.choose(&OPTIONS)?;
        let value = value(u, name)?;
        let name = match u.int_in_range(0..=15u8)? {
            0 => "bogus".to_owned(),
            1..=3 => name.to_lowercase(),
            _ => name.to_owned(),
        };
        rest.extend([word(name), value]);
    }
    Ok(rest)
}

/// CF.INSERT and CF.INSERTNX after the key. RedisBloom reads the first letter of an option.
fn insert(u: &mut Unstructured) -> Result<Words> {
    const UNKNOWN: [&str; 4] = ["bogus", "", "0", "\u{fc}"];
    let mut rest = Vec::new();
    for _ in 0..u.int_in_range(0..=2u8)? {
        match u.int_in_range(0..=15u8)? {
            0..=5 => rest.extend([word(u.choose(&["CAPACITY", "cap", "C"])?), capacity(u)?]),
            6 | 7 => rest.push(word(u.choose(&["NOCREATE", "n", "Nothing"])?)),
            8 => rest.push(word(u.choose(&UNKNOWN)?)),
            9 => rest.push(word("capacity")),
            _ => {}
        }
    }
    rest.push(word(u.choose(&["ITEMS", "items", "ITEMS", "i"])?));
    rest.extend(items(u)?);
    Ok(rest)
}

/// A call for this key.
pub fn call(u: &mut Unstructured, key: Vec<u8>) -> Result<Words> {
    let (name, rest) = match u.int_in_range(0..=31u8)? {
        0..=2 => ("CF.RESERVE", reserve(u)?),
        3..=5 => ("CF.ADD", vec![item(u)?]),
        6 | 7 => ("cf.addnx", vec![item(u)?]),
        8..=12 => ("CF.INSERT", insert(u)?),
        13..=15 => ("CF.INSERTNX", insert(u)?),
        16 => ("CF.EXISTS", vec![item(u)?]),
        17 | 18 => ("CF.MEXISTS", items(u)?),
        19 | 20 => ("CF.COUNT", vec![item(u)?]),
        21..=26 => ("CF.DEL", vec![item(u)?]),
        27 => ("CF.COMPACT", vec![]),
        28 => ("CF.INFO", vec![]),
        29 => ("CF.DEBUG", vec![]),
        30 => ("CF.SCANDUMP", vec![iterator(u)?]),
        _ => {
            let (iterator, length) = (iterator(u)?, u.int_in_range(0..=9usize)?);
            ("CF.LOADCHUNK", vec![iterator, u.bytes(length.min(u.len()))?.to_vec()])
        }
    };
    Ok([vec![word(name), key], rest].concat())
}

/// Appends a value if the last argument of CF.RESERVE is an option.
pub fn end_options(call: &mut Words) {
    let is_option =
        |word: &Vec<u8>| OPTIONS.iter().any(|option| word.eq_ignore_ascii_case(option.as_bytes()));
    if call[0] == b"CF.RESERVE" && call.last().is_some_and(is_option) {
        call.push(word("2"));
    }
}

/// The calls of a short life of a filter: what random calls would seldom do, or make too large.
pub fn life(u: &mut Unstructured, key: &[u8]) -> Result<Vec<Words>> {
    let key = String::from_utf8_lossy(key).into_owned();
    let mut calls = vec![arguments(&format!("DEL {key}"))];
    let (capacity, bucket) = (u.int_in_range(4..=600u16)?, u.int_in_range(1..=255u8)?);
    if u.ratio(1, 4)? {
        // One table of an expansion that the next one could not be allocated for.
        calls.push(arguments(&format!("CF.RESERVE {key} 64 BUCKETSIZE 1 EXPANSION 32768")));
        let items = u.int_in_range(1..=90u8)?;
        calls.push(arguments(&format!("CF.INSERT {key} ITEMS")));
        let last = calls.len() - 1;
        calls[last].extend((0..items).map(word));
        calls.extend(["CF.INFO", "CF.SCANDUMP", "DEL"].map(|name| match name {
            "CF.SCANDUMP" => arguments(&format!("{name} {key} 0")),
            _ => arguments(&format!("{name} {key}")),
        }));
        return Ok(calls);
    }
    // Copies of few items, which fill their buckets in every table, and are deleted again.
    let bucket = if u.arbitrary()? { bucket } else { bucket % 4 + 1 };
    let (expansion, iterations) = (u.int_in_range(0..=1u8)?, u.int_in_range(1..=50u8)?);
    let reserve = format!("CF.RESERVE {key} {capacity} BUCKETSIZE {bucket}");
    calls.push(arguments(&format!("{reserve} EXPANSION {expansion} MAXITERATIONS {iterations}")));
    let (kinds, copies) = (u.int_in_range(1..=5u16)?, u.int_in_range(1..=120u16)?);
    let mut insert = arguments(&format!("CF.INSERT {key} ITEMS"));
    insert.extend((0..copies).map(|copy| word(copy % kinds)));
    calls.extend([insert, arguments(&format!("CF.COUNT {key} 0"))]);
    for copy in 0..u.int_in_range(0..=copies)? {
        calls.push(arguments(&format!("CF.DEL {key} {}", copy % kinds)));
    }
    calls.push(arguments(&format!("CF.COMPACT {key}")));
    Ok(calls)
}

/// The numbers of a filter, mostly valid.
pub struct Numbers {
    pub items: u64,
    pub buckets: u64,
    pub deletes: u64,
    pub tables: u64,
    pub bucket_size: u64,
    pub iterations: u64,
    pub expansion: u64,
}

impl Numbers {
    pub fn mostly_valid(u: &mut Unstructured) -> Result<Self> {
        let mut mostly = |usual: &[u64], others: &[u64]| -> Result<u64> {
            Ok(if u.ratio(1, 16)? { *u.choose(others)? } else { *u.choose(usual)? })
        };
        let mut numbers = Self {
            items: mostly(&[1, 1, 2, 30], &[0, 1 << 63, u64::MAX])?,
            buckets: mostly(&[1, 2, 4, 64, 256], &[0, 3, 63, 1 << 56, 1 << 63, u64::MAX])?,
            deletes: mostly(&[0, 0, 1, 50], &[1 << 63, u64::MAX])?,
            tables: mostly(&[1, 1, 2, 3, 5], &[0, 65_536, 65_537, 65_538])?,
            bucket_size: mostly(&[1, 2, 3, 4, 16, 255], &[0, 256, 65_535])?,
            iterations: mostly(&[1, 5, 20, 300], &[0, 65_535])?,
            expansion: mostly(&[0, 1, 1, 2, 4], &[3, 7, 32_769, 40_000, 65_535])?,
        };
        // RedisBloom cuts the number of tables to 16 bits, and allocates what it does not refuse.
        let growth = numbers.expansion.saturating_pow(u32::from(numbers.tables as u16));
        let bytes = numbers.buckets.saturating_mul(numbers.bucket_size).saturating_mul(growth);
        if bytes > MOST_BYTES {
            numbers.tables = 1;
        }
        Ok(numbers)
    }

    /// The header for CF.LOADCHUNK.
    pub fn header(&self) -> Vec<u8> {
        let mut header = Vec::new();
        for number in [self.items, self.buckets, self.deletes, self.tables] {
            header.extend(number.to_le_bytes());
        }
        for number in [self.bucket_size, self.iterations, self.expansion] {
            header.extend((number as u16).to_le_bytes());
        }
        header
    }
}
