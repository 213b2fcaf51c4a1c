//! Calls of RedisBloom's commands, valid and not, generated from bytes.

use arbitrary::{Result, Unstructured};
use bloomline_harness::arguments;

use super::cuckoo;
use super::words::{Words, item, items, iterator, number, word};
use crate::filters::Family;

/// The keys: three of filters, one of a string. They are few, so that calls meet.
pub const KEYS: [&str; 4] = ["a", "b", "c", "text"];

pub fn key(u: &mut Unstructured) -> Result<Vec<u8>> {
    Ok(word(KEYS[if u.ratio(1, 24)? { 3 } else { u.int_in_range(0..=2usize)? }]))
}

fn rate(u: &mut Unstructured) -> Result<Vec<u8>> {
    const USUAL: [&str; 8] = ["0.01", "0.25", "0.001", "1e-6", "1e-12", ".1", "0.2", "1e-318"];
    const OTHERS: [&str; 8] = ["0.26", "0.9", "1", "1.5", "inf", "-inf", "5e-324", "1e-400"];
    number(u, &USUAL, &OTHERS)
}

/// Not so large that a filter of either server takes more memory than this machine has.
fn capacity(u: &mut Unstructured) -> Result<Vec<u8>> {
    const USUAL: [&str; 7] = ["1", "2", "10", "37", "100", "200", "3000"];
    number(u, &USUAL, &["1073741825", "1073741900"])
}

fn expansion(u: &mut Unstructured) -> Result<Vec<u8>> {
    number(u, &["1", "2", "3", "4"], &["32768", "32769", "4294967296"])
}

/// Options of BF.RESERVE and BF.INSERT, which may contradict each other.
fn options(u: &mut Unstructured, is_insert: bool) -> Result<Words> {
    // Names that only RedisBloom knows, by their first letters, and names that neither knows.
    const UNKNOWN: [&str; 5] = ["cap", "nothing", "bogus", "", "err"];
    let mut options = Vec::new();
    for _ in 0..u.int_in_range(0..=3u8)? {
        match u.int_in_range(0..=15u8)? {
            0..=3 => options.extend([word("Expansion"), expansion(u)?]),
            4 | 5 => options.push(word("NONSCALING")),
            6 => options.push(word(u.choose(&UNKNOWN)?)),
            7..=9 if is_insert => options.extend([word("capacity"), capacity(u)?]),
            10..=12 if is_insert => options.extend([word("ERROR"), rate(u)?]),
            13 if is_insert => options.push(word("NoCreate")),
            14 => options.push(word("EXPANSION")),
            _ => {}
        }
    }
    Ok(options)
}

/// A call of a command of this family, or of the server. No Bloom filter is loaded.
pub fn call(u: &mut Unstructured, family: Family) -> Result<Words> {
    let key = key(u)?;
    let mut call = match (u.int_in_range(0..=31u8)?, family) {
        (27.., _) => of_the_server(u, key)?,
        (_, Family::Bloom) => bloom(u, key)?,
        (_, Family::Cuckoo) => cuckoo::call(u, key)?,
    };
    damage(u, &mut call)?;
    cuckoo::end_options(&mut call);
    Ok(call)
}

/// A call of the server for this key.
fn of_the_server(u: &mut Unstructured, key: Vec<u8>) -> Result<Words> {
    const NAMES: [&str; 4] = ["TYPE", "DUMP", "OBJECT ENCODING", "MEMORY USAGE"];
    Ok(match u.int_in_range(0..=4u8)? {
        0 => vec![word("DEL"), key],
        1 => {
            let mut call = arguments(u.choose(&NAMES)?);
            call.push(key);
            call
        }
        2 => vec![word("COPY"), key, self::key(u)?],
        3 => vec![word("RENAME"), key, self::key(u)?],
        _ => vec![word("SET"), word("text"), item(u)?],
    })
}

fn bloom(u: &mut Unstructured, key: Vec<u8>) -> Result<Words> {
    let with = |name: &str, rest: Words| [vec![word(name), key], rest].concat();
    Ok(match u.int_in_range(0..=26u8)? {
        0..=3 => with("BF.RESERVE", [vec![rate(u)?, capacity(u)?], options(u, false)?].concat()),
        4..=6 => with("BF.ADD", vec![item(u)?]),
        7..=11 => with("bf.MADD", items(u)?),
        12..=16 => {
            let rest = [options(u, true)?, vec![word("items")], items(u)?].concat();
            with("BF.INSERT", rest)
        }
        17 | 18 => with("BF.EXISTS", vec![item(u)?]),
        19 | 20 => with("BF.MEXISTS", items(u)?),
        21 | 22 => {
            const FIELDS: [&str; 7] =
                ["CAPACITY", "Size", "FILTERS", "ITEMS", "expansion", "bogus", ""];
            let field = if u.arbitrary()? { vec![word(u.choose(&FIELDS)?)] } else { vec![] };
            with("BF.INFO", field)
        }
        23 => with("BF.CARD", vec![]),
        24 => with("BF.DEBUG", vec![]),
        _ => with("BF.SCANDUMP", vec![iterator(u)?]),
    })
}

/// In one call of sixteen an argument is missing, there twice, or another one.
fn damage(u: &mut Unstructured, call: &mut Words) -> Result<()> {
    if u.ratio(15, 16)? {
        return Ok(());
    }
    // The key stays.
    let at = u.int_in_range(2..=call.len().max(3) - 1)?;
    match u.int_in_range(0..=3u8)? {
        0 if at < call.len() => drop(call.remove(at)),
        1 if at < call.len() => call.insert(at, call[at].clone()),
        2 if at < call.len() => call[at] = number(u, &["1", "7"], &["0.5"])?,
        _ => call.truncate(at),
    }
    Ok(())
}
