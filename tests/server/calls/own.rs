//! Command lines for this module alone: the calls of RedisBloom's commands, with further options,
//! and calls of the other commands; some are damaged, with numbers at the limits.

use arbitrary::{Result, Unstructured};
use bloomline_harness::arguments;
use bloomline_reference::checks::number::{double, whole};

use super::redisbloom::{self, key};
use super::words::{Words, item, items, word};
use crate::filters::Family;
use crate::packed::{FORMS, Form};

/// The options of every kind of filter. The windows are so long that no case of a test lasts as
/// long.
const KINDS: [&str; 16] = [
    "",
    "EXPANSION 1",
    "NONSCALING",
    "LAYOUT redisbloom",
    "LAYOUT redisbloom EXPANSION 4",
    "LAYOUT redisbloom NONSCALING",
    "LAYOUT valkey-bloom",
    "LAYOUT valkey-bloom EXPANSION 1 TIGHTENING 0.3",
    "LAYOUT valkey-bloom NONSCALING SEED abcdefghijklmnopqrstuvwxyz012345",
    "TIGHTENING 0.9 VALIDATESCALETO 100000",
    "WINDOW 1000000",
    "WINDOW 1000000 GENERATIONS 3 NONSCALING",
    "LAST GENERATIONS 4",
    "LAST GENERATIONS 2 NOREFRESH",
    "GENERATIONS 2",
    "GENERATIONS 3 EXPANSION 1 NOREFRESH",
];

/// Options that may contradict each other.
const OPTIONS: [&str; 20] = [
    "EXPANSION 3",
    "NonScaling",
    "LAYOUT BLOOMLINE",
    "LAYOUT none",
    "layout Valkey-Bloom",
    "SEED abcdefghijklmnopqrstuvwxyz012345",
    "Tightening 1e-3",
    "VALIDATESCALETO 300",
    "last",
    "NoRefresh",
    "GENERATIONS 5",
    "WINDOW 1000000",
    "WINDOW 9007199254740",
    "WINDOW 9007199254741",
    "WINDOW 0",
    "Seed 0",
    "SEED 18446744073709551615",
    "SEED 18446744073709551616",
    "ERROR 0.2",
    "NOCREATE",
];

/// Options of cuckoo filters that RedisBloom does not have.
const CUCKOO_OPTIONS: [&str; 6] =
    ["LAYOUT REDISBLOOM", "layout bloomline", "ERROR 0.2", "ERROR 1e-5", "SEED 7", "SEED -7"];

/// A number as a client might write it, at a limit or not.
fn number(u: &mut Unstructured) -> Result<Vec<u8>> {
    Ok(match u.int_in_range(0..=3u8)? {
        0 => word(whole(u)? as i64),
        1 => word(whole(u)?),
        2 => word(format!("{:e}", double(u)?)),
        _ => super::words::number(u, &["0", "1", "300"], &["inf"])?,
    })
}

/// Options of BF.RESERVE and BF.INSERT: those of a kind of filter, mostly with a common seed, or
/// any.
fn options(u: &mut Unstructured) -> Result<Words> {
    let mut options = String::new();
    if u.ratio(3, 4)? {
        options += u.choose(&KINDS)?;
        let is_ours = !["LAYOUT", "TIGHTENING"].iter().any(|name| options.contains(name));
        if is_ours && u.ratio(7, 8)? {
            options += " SEED 7";
        }
    } else {
        for _ in 0..u.int_in_range(0..=3u8)? {
            options += &format!(" {}", u.choose(&OPTIONS)?);
        }
    }
    Ok(arguments(&options))
}

/// Adds options to a call that may create a filter.
fn with_options(u: &mut Unstructured, mut call: Words) -> Result<Words> {
    let (name, mut end) = (call[0].to_ascii_uppercase(), call.len());
    let added = match name.as_slice() {
        b"BF.RESERVE" => {
            // Mostly numbers that other filters have, so that they can be merged. The larger
            // capacity takes pages, which are folded.
            if end > 3 && u.ratio(2, 3)? {
                (call[2], call[3]) = (word("0.01"), word(u.choose(&[40, 20_000])?));
            }
            options(u)?
        }
        b"BF.INSERT" => {
            end = end.min(2);
            options(u)?
        }
        b"CF.RESERVE" if u.arbitrary()? => arguments(u.choose(&CUCKOO_OPTIONS)?),
        _ => Words::new(),
    };
    call.splice(end..end, added);
    Ok(call)
}

/// The arguments of a call with packed items. A line with LF is several items, an empty one none.
fn packed(u: &mut Unstructured) -> Result<Words> {
    let (form, mut items) = (*u.choose(&FORMS)?, items(u)?);
    if form == Form::Fixed {
        let width = items[0].len();
        items.retain(|item| item.len() == width);
    }
    let mut words = form.args(&items);
    match u.int_in_range(0..=3u8)? {
        0 => words.insert(0, word("count")),
        1 => words.push(word("COUNT")),
        _ => {}
    }
    Ok(words)
}

/// A call of a command that only this module has.
fn own(u: &mut Unstructured) -> Result<Words> {
    const FIELDS: [&str; 6] =
        ["ERROR", "LAYOUT", "tightening", "MAXSCALEDCAPACITY", "size", "nothing"];
    const STATS: [&str; 7] =
        ["estimate", "FP_RATE", "layer_fills", "Layer_fp_rates", "oldest", "seed", "nothing"];
    let (name, rest) = match u.int_in_range(0..=16u8)? {
        0..=2 => ("BF.BULKADD", packed(u)?),
        3 => ("bf.bulkexists", packed(u)?),
        4 => ("CF.BULKADD", packed(u)?),
        5 => ("CF.BULKDEL", packed(u)?),
        6 => ("CF.BULKEXISTS", packed(u)?),
        7 => ("cf.mdel", items(u)?),
        8 => ("BF.INFO", vec![word(u.choose(&FIELDS)?)]),
        9 | 10 => ("BF.COMPACT", vec![]),
        11 | 12 if u.ratio(1, 4)? => ("BF.ROTATE", vec![word("AT"), number(u)?]),
        11 | 12 => ("BF.ROTATE", vec![]),
        13 => ("CF.ADD", vec![item(u)?]),
        14 => {
            let fields = (0..u.int_in_range(0..=2u8)?).map(|_| Ok(word(u.choose(&STATS)?)));
            ("BF.STATS", fields.collect::<Result<Words>>()?)
        }
        _ => {
            let sources = (0..u.int_in_range(1..=3u8)?).map(|_| key(u));
            ("BF.MERGE", sources.collect::<Result<Words>>()?)
        }
    };
    Ok([vec![word(name), key(u)?], rest].concat())
}

/// A command whose arguments contain no bytes of a filter.
pub fn command(u: &mut Unstructured) -> Result<Words> {
    let family = if u.ratio(1, 3)? { Family::Cuckoo } else { Family::Bloom };
    let call = if u.ratio(2, 3)? { redisbloom::call(u, family)? } else { own(u)? };
    let mut call = with_options(u, call)?;
    damage(u, &mut call)?;
    Ok(call)
}

/// True for commands that change no filter.
pub fn reads(name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name).to_uppercase();
    const READS: [&str; 7] = ["EXISTS", "CARD", "INFO", "STATS", "DEBUG", "SCANDUMP", "COUNT"];
    READS.iter().any(|it| name.ends_with(it))
}

/// In one case of twelve, changes an argument: removes, repeats, inserts, moves or overwrites it.
pub fn damage(u: &mut Unstructured, command: &mut Words) -> Result<()> {
    // The module is under test: neither keys change, nor the commands of the server.
    let is_own = Family::of_command(&command[0]).is_some();
    if u.int_in_range(0..=11u8)? != 0 || command.len() < 3 || !is_own {
        return Ok(());
    }
    let at = u.int_in_range(2..=command.len() - 1)?;
    match u.int_in_range(0..=6u8)? {
        0 => drop(command.remove(at)),
        1 => command.insert(at, command[at].clone()),
        2 => command.insert(at, number(u)?),
        3 => command.swap(at, 2),
        4 => command[at] = u.bytes(u.len().min(6))?.to_vec(),
        _ => command[at] = number(u)?,
    }
    Ok(())
}

/// LOADCHUNK of a dumped chunk, with its iterator and bytes unchanged or damaged.
pub fn piece(
    u: &mut Unstructured,
    family: &str,
    to: Vec<u8>,
    (iterator, data): (i64, &[u8]),
) -> Result<Words> {
    let iterator = if u.ratio(1, 12)? { number(u)? } else { word(iterator) };
    let mut data = data.to_vec();
    if u.arbitrary()? && !data.is_empty() {
        let at = u.choose_index(data.len())?;
        match u.int_in_range(0..=3u8)? {
            0 => data.truncate(at),
            1 => data.push(u.arbitrary()?),
            _ => data[at] = u.arbitrary()?,
        }
    }
    Ok(vec![word(format!("{family}.LOADCHUNK")), to, iterator, data])
}
