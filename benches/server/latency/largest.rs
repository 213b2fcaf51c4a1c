//! Calls whose time grows with two quantities at once, such as items and layers, with both of them
//! large.

use redis::{Cmd, cmd};

use super::bench::Bench;
use crate::result::Result;
use crate::scale::Scale;
use crate::server::command;

/// How many of each: layers of a Bloom filter, sources of a merge, packed items, tables of a cuckoo
/// filter, items that are deleted.
struct Quantities {
    layers: u64,
    sources: u64,
    packed: usize,
    tables: u16,
    deleted: u64,
}

/// Measures the rows.
pub fn measure(bench: &mut Bench, scale: Scale) -> Result<()> {
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
    of_layers(bench, &quantities)?;
    of_large_buckets(bench, &quantities)?;
    of_compactions(bench, &quantities)?;
    bench.flush()
}

/// A filter of many layers: lookups, and merges of many sources.
fn of_layers(bench: &mut Bench, quantities: &Quantities) -> Result<()> {
    let &Quantities { layers, sources, packed, .. } = quantities;
    let reserve = |key: &str| format!("BF.RESERVE {key} 0.01 2 EXPANSION 1 SEED 1");
    for key in ["many", "one"] {
        bench.server.run(&reserve(key))?;
    }
    for item in 0..2 * layers {
        bench.server.run(&format!("BF.ADD many {item}"))?;
    }
    let mut merges = ["many", "one"].map(|key| command(&format!("BF.MERGE {key}")));
    for source in 0..sources {
        let key = format!("source:{source}");
        bench.server.run(&reserve(&key))?;
        merges.iter_mut().for_each(|merge| _ = merge.arg(&key));
    }
    for (merge, into) in merges.iter().zip([layers, 1]) {
        let row = format!("BF.MERGE of {sources} empty filters into one of {into} layers");
        bench.repeat(&row, "", merge, "")?;
    }
    let mut lookup = command("BF.BULKEXISTS many COUNT FIXED 1");
    lookup.arg(vec![b'x'; packed]);
    bench.repeat(&format!("BF.BULKEXISTS, {packed} items in {layers} layers"), "", &lookup, "")
}

/// A cuckoo filter of many tables of the largest buckets, as a header of 38 bytes makes it.
fn of_large_buckets(bench: &mut Bench, quantities: &Quantities) -> Result<()> {
    let tables = quantities.tables;
    let numbers = [0, 2, 0, u64::from(tables)].map(u64::to_le_bytes).concat();
    let header = [numbers, [255u16, 20, 1].map(u16::to_le_bytes).concat()].concat();
    let mut load = cmd("CF.LOADCHUNK");
    load.arg("k").arg(1).arg(header).exec(&mut bench.server.connection)?;
    for name in ["CF.MEXISTS", "CF.MDEL"] {
        let mut call: Cmd = cmd(name);
        call.arg("k");
        (0..500).for_each(|item| _ = call.arg(item));
        let row = format!("{name}, 500 absent items in {tables} tables of buckets of 255 slots");
        bench.repeat(&row, "", &call, "")?;
    }
    Ok(())
}

/// A cuckoo filter of a small table and one that is 32,768 times as large, which is compacted each
/// time when a tenth of its items was deleted.
fn of_compactions(bench: &mut Bench, quantities: &Quantities) -> Result<()> {
    let deleted = quantities.deleted;
    let mut lines = String::new();
    (0..deleted).for_each(|item| lines += &format!("{item}\n"));
    let mut call = command("CF.BULKDEL compacted COUNT LINES");
    call.arg(lines);
    let row = format!("CF.BULKDEL, {deleted} items in a table of 512 MiB and a small one");
    for _ in bench.runs() {
        bench.server.run("DEL compacted")?;
        bench.server.run(
            "CF.RESERVE compacted 16384 LAYOUT REDISBLOOM BUCKETSIZE 1 MAXITERATIONS 1 \
             EXPANSION 32768",
        )?;
        for item in 0..deleted {
            bench.server.run(&format!("CF.ADD compacted {item}"))?;
        }
        bench.timed(&row, &call)?;
    }
    Ok(())
}
