//! Calls whose time grows with two quantities at once, such as items and layers, with both of them
//! large.

use redis::{Cmd, cmd};

use crate::column::Planned;
use crate::result::Result;
use crate::row::{Group, Row};
use crate::scale::Scale;
use crate::server::{Server, command};

/// How many of each: layers of a Bloom filter, sources of a merge, packed items, tables of a cuckoo
/// filter, items that are deleted.
struct Quantities {
    layers: u64,
    sources: u64,
    packed: usize,
    tables: u16,
    deleted: u64,
}

pub fn groups(scale: Scale) -> [Group; 3] {
    let quantities = match scale {
        Scale::Smoke => {
            Quantities { layers: 20, sources: 20, packed: 100, tables: 20, deleted: 200 }
        }
        _ => Quantities {
            layers: 4_096,
            sources: 20_000,
            packed: 8_192,
            tables: 32_768,
            deleted: 8_192,
        },
    };
    [layers(&quantities), large_buckets(&quantities), compactions(&quantities)]
}

fn group(rows: Vec<Row>) -> Group {
    Group::new("largest: ms", Planned::is_own_layout, rows)
}

/// A row of a call that is the same in each run.
fn repeated(name: String, call: Cmd) -> Row {
    Row::blocking(name, move |_, _| Ok(call.clone()), "")
}

/// A filter of many layers: lookups, and merges of many sources.
fn layers(&Quantities { layers, sources, packed, .. }: &Quantities) -> Group {
    let merges = [("many", layers), ("one", 1)].map(|(key, into)| {
        let mut merge = command(&format!("BF.MERGE {key}"));
        (0..sources).for_each(|source| _ = merge.arg(format!("source:{source}")));
        let name = format!("BF.MERGE of {sources} empty filters into one of {into} layers");
        repeated(name, merge)
    });
    let mut lookup = command("BF.BULKEXISTS many COUNT FIXED 1");
    lookup.arg(vec![b'x'; packed]);
    let lookup = repeated(format!("BF.BULKEXISTS, {packed} items in {layers} layers"), lookup);
    group(merges.into_iter().chain([lookup]).collect()).with(move |server| {
        let reserve = |key: &str| format!("BF.RESERVE {key} 0.01 2 EXPANSION 1 SEED 1");
        for key in ["many", "one"] {
            server.run(&reserve(key))?;
        }
        for item in 0..2 * layers {
            server.run(&format!("BF.ADD many {item}"))?;
        }
        (0..sources).try_for_each(|source| server.run(&reserve(&format!("source:{source}"))))
    })
}

/// A cuckoo filter of many tables of the largest buckets, as a header of 38 bytes makes it.
fn large_buckets(&Quantities { tables, .. }: &Quantities) -> Group {
    let row = |name| {
        let mut call: Cmd = cmd(name);
        call.arg("k");
        (0..500).for_each(|item| _ = call.arg(item));
        repeated(
            format!("{name}, 500 absent items in {tables} tables of buckets of 255 slots"),
            call,
        )
    };
    group(["CF.MEXISTS", "CF.MDEL"].map(row).into_iter().collect()).with(move |server| {
        let numbers = [0, 2, 0, u64::from(tables)].map(u64::to_le_bytes).concat();
        let header = [numbers, [255u16, 20, 1].map(u16::to_le_bytes).concat()].concat();
        let mut load = cmd("CF.LOADCHUNK");
        Ok(load.arg("k").arg(1).arg(header).exec(&mut server.connection)?)
    })
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
        let mut call = command("CF.BULKDEL compacted COUNT LINES");
        call.arg(lines);
        Ok(call)
    };
    let name = format!("CF.BULKDEL, {deleted} items in a table of 512 MiB and a small one");
    group(vec![Row::blocking(name, call, "")])
}
