//! Calls whose time grows with two quantities at once, such as items and layers, with both of them
//! large.

use std::cell::Cell;
use std::rc::Rc;

use redis::{Cmd, cmd};

use super::many::{self, KEY, Make, OWN, REDISBLOOM, VALKEY, items};
use crate::column::Planned;
use crate::result::Result;
use crate::row::{Figures, Group, Row};
use crate::sample::blocked;
use crate::scale::Scale;
use crate::server::{Server, command};
use crate::sizes::show;

/// Milliseconds that a call of packed items may take. The page computes longer times, which are in
/// proportion to the items.
const LONGEST: f64 = 10_000.0;

/// A call that was made: its item, and its milliseconds per byte of items.
#[derive(Clone, Copy)]
struct Last {
    item: u8,
    per_byte: f64,
}

/// How many of each.
struct Quantities {
    /// Bytes of the packed items of a call, ascending.
    bytes: &'static [u64],
    layers: u32,
    /// The most that calls can make at a rate of 1 %.
    redisbloom_layers: u32,
    /// At least 97 % of what calls can make, which depends on the seed.
    valkey_layers: u32,
    generations: u32,
    sources: u64,
    /// Tables of a cuckoo filter by its header.
    tables: u16,
    /// Tables of a cuckoo filter by copies of one item: the most that a call adds.
    copied: usize,
    deleted: u64,
}

const LARGE: Quantities = Quantities {
    bytes: &[1_000, 80_000, 1_000_000],
    layers: 4_096,
    redisbloom_layers: 1_067,
    valkey_layers: 2_800,
    generations: 65,
    sources: 20_000,
    tables: u16::MAX,
    copied: 512,
    deleted: 8_192,
};

/// For [`Scale::Smoke`].
const SMALL: Quantities = Quantities {
    bytes: &[1_000, 2_000],
    layers: 20,
    redisbloom_layers: 20,
    valkey_layers: 20,
    generations: 3,
    sources: 20,
    tables: 20,
    copied: 4,
    deleted: 200,
};

pub fn groups(scale: Scale) -> Vec<Group> {
    let quantities = if scale == Scale::Smoke { &SMALL } else { &LARGE };
    let mut groups = packed(quantities);
    groups.push(growth(quantities));
    groups.extend([merges(quantities), tables(quantities), compactions(quantities)]);
    groups
}

/// Calls of packed items: a group for each filter and command, a row for each number of bytes.
fn packed(quantities: &Quantities) -> Vec<Group> {
    let &Quantities { layers, redisbloom_layers, valkey_layers, generations, .. } = quantities;
    let &Quantities { tables, copied, bytes, .. } = quantities;
    let filters: [(&str, String, Make); 8] = [
        ("BF", format!("{layers} layers"), many::layers(OWN, layers)),
        (
            "BF",
            format!("{generations} generations of 65 layers each"),
            many::generations(generations),
        ),
        (
            "BF",
            format!("{redisbloom_layers} layers in RedisBloom's layout"),
            many::layers(REDISBLOOM, redisbloom_layers),
        ),
        (
            "BF",
            format!("{valkey_layers} layers in valkey-bloom's layout"),
            many::layers(VALKEY, valkey_layers),
        ),
        (
            "BF",
            format!("forged, {layers} layers in RedisBloom's layout, 1 bit of each not set"),
            many::forged_layers(layers),
        ),
        (
            "BF",
            format!(
                "forged, {valkey_layers} layers in valkey-bloom's layout, 1 bit of each not set"
            ),
            many::filled_layers(VALKEY, valkey_layers),
        ),
        (
            "CF",
            format!("{copied} tables of copies of an item in RedisBloom's layout"),
            many::copies(copied),
        ),
        (
            "CF",
            format!("forged, {tables} tables of buckets of 255 slots"),
            many::forged_tables(tables),
        ),
    ];
    let of = |(family, filter, make): (&str, String, Make)| {
        let name = format!("{family}.BULKEXISTS");
        let title = format!("largest: {name}, {filter}");
        let last = Rc::new(Cell::new(None));
        let row = |&bytes: &u64| {
            let (name, last) = (name.clone(), Rc::clone(&last));
            Row::of(show(bytes), move |server, _| lookup(server, &name, bytes, &last))
        };
        group(title, bytes.iter().map(row).collect()).with(make)
    };
    filters.into_iter().map(of).collect()
}

/// A call of `bytes` equal items of one byte, unless it would take too long by the call `last`.
fn lookup(
    server: &mut Server,
    name: &str,
    bytes: u64,
    last: &Cell<Option<Last>>,
) -> Result<Figures> {
    let item = match last.get() {
        Some(Last { per_byte, .. }) if per_byte * bytes as f64 > LONGEST => {
            return Ok(Figures::new());
        }
        Some(Last { item, .. }) => item,
        None => many::slowest_item(server, name)?,
    };
    let time = blocked(server, &many::call_of(name, item, bytes as usize))?;
    last.set(Some(Last { item, per_byte: time / bytes as f64 }));
    Ok(vec![time])
}

fn group(title: String, rows: Vec<Row>) -> Group {
    Group::new(title, Planned::is_own_layout, rows)
}

/// Other calls.
fn others(rows: Vec<Row>) -> Group {
    group("largest: ms".to_owned(), rows)
}

/// The call that makes many layers: some items are false positives, all others get a layer each.
fn growth(quantities: &Quantities) -> Group {
    let &Quantities { layers, redisbloom_layers, valkey_layers, .. } = quantities;
    let filters = [
        (OWN, layers, "Bloomline's"),
        (REDISBLOOM, redisbloom_layers, "RedisBloom's"),
        (VALKEY, valkey_layers, "valkey-bloom's"),
    ];
    let row = |(options, layers, layout): (&'static str, u32, &str)| {
        let call = move |server: &mut Server, _| -> Result<Cmd> {
            server.run(&format!("BF.RESERVE {KEY} {options}"))?;
            let mut call = command(&format!("BF.BULKADD {KEY} FIXED 4"));
            call.arg(items(0..layers)).arg("COUNT");
            Ok(call)
        };
        let name = format!(
            "BF.BULKADD, {layers} items into a new filter of capacity 1 and EXPANSION 1, {layout} \
             layout"
        );
        Row::blocking(name, call, "DEL many")
    };
    others(filters.into_iter().map(row).collect())
}

/// Merges of many sources into filters of many layers and of one.
fn merges(&Quantities { layers, sources, .. }: &Quantities) -> Group {
    let row = |(key, into): (&str, &str)| {
        let mut merge = command(&format!("BF.MERGE {key}"));
        (0..sources).for_each(|source| _ = merge.arg(format!("source:{source}")));
        let name = format!("BF.MERGE of {sources} empty filters into one with {into}");
        Row::blocking(name, move |_, _| Ok(merge.clone()), "")
    };
    let layers_of_key = format!("{layers} layers");
    others([(KEY, layers_of_key.as_str()), ("one", "one layer")].map(row).into_iter().collect())
        .with(move |server| {
            let reserve = |key: &str| format!("BF.RESERVE {key} 0.01 2 EXPANSION 1 SEED 1");
            for key in [KEY, "one"] {
                server.run(&reserve(key))?;
            }
            for item in 0..2 * layers {
                server.run(&format!("BF.ADD {KEY} {item}"))?;
            }
            (0..sources).try_for_each(|source| server.run(&reserve(&format!("source:{source}"))))
        })
}

/// Deletions and compactions of a cuckoo filter of many tables.
fn tables(&Quantities { tables, copied, .. }: &Quantities) -> Group {
    let delete = many::call_of("CF.BULKDEL", many::ABSENT, 1_000);
    let name = format!("CF.BULKDEL of 1 KB, forged, {tables} tables of buckets of 255 slots");
    let forge = move |server: &mut Server, _| {
        server.run("DEL many")?;
        many::forged_tables(tables)(server)?;
        Ok(delete.clone())
    };
    let compaction = move |server: &mut Server, _| {
        server.run("DEL many")?;
        many::copies(copied)(server)?;
        Ok(command("CF.COMPACT many"))
    };
    others(vec![
        Row::blocking(name, forge, ""),
        Row::blocking(
            format!("CF.COMPACT, {copied} tables of copies of an item in RedisBloom's layout"),
            compaction,
            "",
        ),
    ])
}

/// A cuckoo filter of a small table and one that is 32,768 times as large, which is compacted each
/// time when a tenth of its items was deleted.
fn compactions(&Quantities { deleted, .. }: &Quantities) -> Group {
    let call = move |server: &mut Server, _| -> Result<Cmd> {
        server.run("DEL compacted")?;
        server.run(
            "CF.RESERVE compacted 16384 LAYOUT REDISBLOOM BUCKETSIZE 1 MAXITERATIONS 1 \
             EXPANSION 32768",
        )?;
        let mut lines = String::new();
        for item in 0..deleted {
            server.run(&format!("CF.ADD compacted {item}"))?;
            lines += &format!("{item}\n");
        }
        let mut call = cmd("CF.BULKDEL");
        call.arg("compacted").arg("COUNT").arg("LINES").arg(lines);
        Ok(call)
    };
    let name = format!("CF.BULKDEL, {deleted} items in a table of 512 MiB and a small one");
    others(vec![Row::blocking(name, call, "")])
}
