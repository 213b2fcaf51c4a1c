//! Command lines generated from bytes: valid ones, ones with numbers at the limits, damaged ones.

use arbitrary::{Result, Unstructured};

use crate::cuckoo_calls;
use crate::family::Family;
use crate::words::{Words, word};
use bloomline_reference::checks::number::{double, whole};

/// The keys: three of filters, one of a string. They are few, so that commands meet.
pub const KEYS: [&str; 4] = ["a", "b", "c", TEXT];
/// The key that holds a string.
pub const TEXT: &str = "text";

/// A key.
pub fn key(u: &mut Unstructured) -> Result<Vec<u8>> {
    Ok(word(KEYS[if u.int_in_range(0..=31u8)? == 0 { 3 } else { u.int_in_range(0..=2usize)? }]))
}

/// A number as a client might write it, valid or not.
fn number(u: &mut Unstructured) -> Result<Vec<u8>> {
    const JUNK: [&str; 14] = [
        "",
        "nan",
        "-inf",
        "inf",
        "0x10",
        "1e",
        " 1",
        "1 ",
        "+1",
        "01",
        "1.0",
        "1e3",
        "--1",
        "18446744073709551616",
    ];
    Ok(match u.int_in_range(0..=7u8)? {
        0 => word(u.choose(&JUNK)?),
        1 => word(whole(u)? as i64),
        2 => word(whole(u)?),
        3 => word(format!("{:e}", double(u)?)),
        _ => word(u.int_in_range(0..=500u32)?),
    })
}

/// The value, or, in one case of twelve, some number.
fn mostly(u: &mut Unstructured, value: Vec<u8>) -> Result<Vec<u8>> {
    if u.int_in_range(0..=11u8)? == 0 { number(u) } else { Ok(value) }
}

/// A rate; mostly one that other filters have, so that they can be merged.
fn rate(u: &mut Unstructured) -> Result<Vec<u8>> {
    const RATES: [&str; 7] = ["0.25", "0.001", "1e-6", "1e-12", "0.9", "1e-300", ".1"];
    let rate = word(if u.ratio(3, 4)? { "0.01" } else { u.choose(&RATES)? });
    mostly(u, rate)
}

/// A capacity; mostly one that other filters have. The larger one takes pages, which are folded.
fn capacity(u: &mut Unstructured) -> Result<Vec<u8>> {
    let any = u.int_in_range(1..=200u32)?;
    let capacity = word(u.choose(&[any, 40, 40, 20_000])?);
    mostly(u, capacity)
}

fn expansion(u: &mut Unstructured) -> Result<Vec<u8>> {
    let expansion = word(u.int_in_range(0..=4u32)?);
    mostly(u, expansion)
}

fn generations(u: &mut Unstructured) -> Result<Vec<u8>> {
    let generations = word(u.int_in_range(2..=5u32)?);
    mostly(u, generations)
}

/// BF.ROTATE, mostly without a time.
fn rotation(u: &mut Unstructured, key: Vec<u8>) -> Result<Words> {
    let mut command = words([word("BF.ROTATE"), key]);
    if u.int_in_range(0..=3u8)? == 0 {
        command.extend(words([word("AT"), number(u)?]));
    }
    Ok(command)
}

fn item(u: &mut Unstructured) -> Result<Vec<u8>> {
    Ok(match u.int_in_range(0..=7u8)? {
        0 => u.bytes(u.len().min(9))?.to_vec(),
        1 => vec![b'x'; u.int_in_range(0..=1000)?],
        _ => word(u.int_in_range(0..=400u32)?),
    })
}

fn items(u: &mut Unstructured) -> Result<Words> {
    if u.int_in_range(0..=3u8)? == 0 {
        // So many that layers fill.
        let (first, count) = (u.int_in_range(0..=2000u32)?, u.int_in_range(1..=300u32)?);
        return Ok((first..first + count).map(word).collect());
    }
    (0..u.int_in_range(1..=5u8)?).map(|_| item(u)).collect()
}

/// A call with packed items, sometimes with none.
fn packed(u: &mut Unstructured, name: &str, key: Vec<u8>) -> Result<Words> {
    let items = if u.int_in_range(0..=15u8)? == 0 { Vec::new() } else { items(u)? };
    Ok([words([word(name), key]), crate::packed::arguments(u, &items)?].concat())
}

/// A call of RedisBloom's commands of cuckoo filters, with options that it does not have.
fn cuckoo(u: &mut Unstructured, key: Vec<u8>) -> Result<Words> {
    const OPTIONS: [[&str; 2]; 6] = [
        ["LAYOUT", "REDISBLOOM"],
        ["layout", "bloomline"],
        ["ERROR", "0.2"],
        ["ERROR", "1e-5"],
        ["SEED", "7"],
        ["SEED", "-7"],
    ];
    let mut call = cuckoo_calls::call(u, key)?;
    if call[0].starts_with(b"CF.RESERVE") && u.ratio(1, 2)? {
        call.extend(u.choose(&OPTIONS)?.map(word));
    }
    Ok(call)
}

fn words<const N: usize>(words: [Vec<u8>; N]) -> Words {
    words.into()
}

/// The options of every kind of filter. The windows are so long that no case of a test lasts as
/// long.
const KINDS: [&str; 12] = [
    "",
    "EXPANSION 1",
    "NONSCALING",
    "LAYOUT redisbloom",
    "LAYOUT redisbloom EXPANSION 4",
    "LAYOUT redisbloom NONSCALING",
    "WINDOW 1000000",
    "WINDOW 1000000 GENERATIONS 3 NONSCALING",
    "LAST GENERATIONS 4",
    "LAST GENERATIONS 2 NOREFRESH",
    "GENERATIONS 2",
    "GENERATIONS 3 EXPANSION 1 NOREFRESH",
];

/// Options of BF.RESERVE and BF.INSERT: those of a kind of filter, mostly with a common seed, or
/// any, which may contradict each other.
fn options(u: &mut Unstructured, is_insert: bool) -> Result<Words> {
    let mut options: Words = Vec::new();
    if u.ratio(3, 4)? {
        let kind = u.choose(&KINDS)?;
        options.extend(kind.split_whitespace().map(word));
        if !kind.contains("LAYOUT") && u.ratio(7, 8)? {
            options.extend(words([word("SEED"), word("7")]));
        }
        return Ok(options);
    }
    for _ in 0..u.int_in_range(0..=3u8)? {
        match u.int_in_range(0..=12u8)? {
            0 | 1 => options.extend(words([word("EXPANSION"), expansion(u)?])),
            2 => options.push(word("NonScaling")),
            3 => options.extend(words([
                word("LAYOUT"),
                word(u.choose(&["redisbloom", "BLOOMLINE", "none"])?),
            ])),
            4 if is_insert => options.extend(words([word("CAPACITY"), capacity(u)?])),
            5 if is_insert => options.extend(words([word("ERROR"), rate(u)?])),
            6 if is_insert => options.push(word("NOCREATE")),
            7 => options.push(word("last")),
            8 => options.push(word("NoRefresh")),
            9 | 10 => options.extend(words([word("GENERATIONS"), generations(u)?])),
            // So long that no case of a test lasts as long.
            11 => options.extend(words([
                word("WINDOW"),
                word(u.choose(&["1000000", "9007199254740", "9007199254741", "0"])?),
            ])),
            12 => options.extend(words([
                word("Seed"),
                word(u.choose(&["0", "18446744073709551615", "18446744073709551616"])?),
            ])),
            _ => {}
        }
    }
    Ok(options)
}

/// A command of the module whose arguments contain no bytes of a filter.
pub fn command(u: &mut Unstructured) -> Result<Words> {
    const FIELDS: [&str; 15] = [
        "CAPACITY",
        "SIZE",
        "FILTERS",
        "items",
        "EXPANSION",
        "ERROR",
        "LAYOUT",
        "FILL",
        "fprate",
        "estimate",
        "WINDOW",
        "generations",
        "OLDEST",
        "NEWEST",
        "nothing",
    ];
    let key = key(u)?;
    let mut command = match u.int_in_range(0..=31u8)? {
        // A TTL would be part of the digest.
        24 => match u.int_in_range(0..=5u8)? {
            0..=2 => [words([word("cf.mdel"), key]), items(u)?].concat(),
            3 => packed(u, "CF.BULKADD", key)?,
            4 => packed(u, "CF.BULKDEL", key)?,
            _ => packed(u, "CF.BULKEXISTS", key)?,
        },
        25.. => cuckoo(u, key)?,
        20..=21 => {
            let sources = (0..u.int_in_range(1..=3u8)?).map(|_| self::key(u));
            let sources = sources.collect::<Result<Words>>()?;
            [words([word("BF.MERGE"), key]), sources].concat()
        }
        22..=23 => words([word("BF.COMPACT"), key]),
        0 => {
            [words([word("BF.RESERVE"), key, rate(u)?, capacity(u)?]), options(u, false)?].concat()
        }
        1 | 2 => words([word("BF.ADD"), key, item(u)?]),
        3..=5 => [words([word("bf.madd"), key]), items(u)?].concat(),
        6 | 7 => {
            [words([word("BF.INSERT"), key]), options(u, true)?, words([word("ITEMS")]), items(u)?]
                .concat()
        }
        8 => words([word("BF.EXISTS"), key, item(u)?]),
        9 => [words([word("BF.MEXISTS"), key]), items(u)?].concat(),
        10 => words([word("BF.CARD"), key]),
        11 => words([word("BF.INFO"), key, word(u.choose(&FIELDS)?)]),
        12 => words([word("BF.DEBUG"), key]),
        13 | 14 => rotation(u, key)?,
        15..=17 => packed(u, "BF.BULKADD", key)?,
        18 => packed(u, "bf.bulkexists", key)?,
        _ => words([word("BF.SCANDUMP"), key, number(u)?]),
    };
    damage(u, &mut command)?;
    Ok(command)
}

/// True for commands that change no filter.
pub fn reads(name: &[u8]) -> bool {
    const NAMES: [&str; 14] = [
        "BF.EXISTS",
        "BF.MEXISTS",
        "BF.BULKEXISTS",
        "BF.CARD",
        "BF.INFO",
        "BF.DEBUG",
        "BF.SCANDUMP",
        "CF.EXISTS",
        "CF.MEXISTS",
        "CF.COUNT",
        "CF.INFO",
        "CF.DEBUG",
        "CF.SCANDUMP",
        "OBJECT",
    ];
    NAMES.iter().any(|read| name.eq_ignore_ascii_case(read.as_bytes()))
}

/// In one case of twelve, changes an argument: removes, repeats, inserts, moves or overwrites it.
pub fn damage(u: &mut Unstructured, command: &mut Words) -> Result<()> {
    if u.int_in_range(0..=11u8)? != 0 || command.len() < 3 {
        return Ok(());
    }
    // Neither the name of the command nor the key changes, because the module is under test.
    let at = u.int_in_range(2..=command.len() - 1)?;
    match u.int_in_range(0..=4u8)? {
        0 => drop(command.remove(at)),
        1 => command.insert(at, command[at].clone()),
        2 => command.insert(at, number(u)?),
        3 => command.swap(at, 2),
        _ => command[at] = u.bytes(u.len().min(6))?.to_vec(),
    }
    Ok(())
}

/// A command of the server on keys that may hold filters.
pub fn of_the_server(u: &mut Unstructured) -> Result<Words> {
    let (from, to) = (key(u)?, word(KEYS[u.int_in_range(0..=2usize)?]));
    Ok(match u.int_in_range(0..=4u8)? {
        0 => words([word("DEL"), from]),
        1 => words([word("UNLINK"), from]),
        2 => words([word("COPY"), from, to, word("REPLACE")]),
        3 => words([word("RENAME"), from, to]),
        _ => words([word("OBJECT"), word("ENCODING"), from]),
    })
}

/// LOADCHUNK of a dumped chunk, with its iterator and bytes unchanged or damaged.
pub fn piece(
    u: &mut Unstructured,
    family: Family,
    to: Vec<u8>,
    (iterator, data): (i64, &[u8]),
) -> Result<Words> {
    let iterator = word(iterator);
    let iterator = mostly(u, iterator)?;
    let mut data = data.to_vec();
    if u.arbitrary()? && !data.is_empty() {
        let at = u.choose_index(data.len())?;
        match u.int_in_range(0..=3u8)? {
            0 => data.truncate(at),
            1 => data.push(u.arbitrary()?),
            _ => data[at] = u.arbitrary()?,
        }
    }
    Ok(words([family.command("LOADCHUNK"), to, iterator, data]))
}
