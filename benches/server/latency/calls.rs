//! Rows that several groups have.

use redis::{Cmd, cmd};

use crate::bits::layer_bytes;
use crate::items::{Item, Kind};
use crate::result::Result;
use crate::row::Row;
use crate::server::{Server, command};

/// The key of the filter that is measured.
pub const FILTER: &str = "filter";

/// A second key, for the filters that commands make.
pub const OTHER: &str = "other";

/// Items per call of several items.
pub const BATCH: u64 = 1000;

/// A row: its name in the table, and lines of commands. Those before and after each run of `call`
/// are not timed, and may be empty.
pub type Line = (&'static str, &'static str, &'static str, &'static str);

/// What reports on the whole filter, and a lookup.
pub const OVERVIEW: [Line; 7] = [
    ("BF.EXISTS", "", "BF.EXISTS filter nobody", ""),
    ("BF.CARD", "", "BF.CARD filter", ""),
    ("BF.INFO", "", "BF.INFO filter", ""),
    ("BF.STATS layer_fills", "", "BF.STATS filter layer_fills", ""),
    ("BF.STATS layer_fp_rates", "", "BF.STATS filter layer_fp_rates", ""),
    ("BF.DEBUG", "", "BF.DEBUG filter", ""),
    ("MEMORY USAGE", "", "MEMORY USAGE filter", ""),
];

pub fn line((name, before, call, after): Line) -> Row {
    let prepared = move |server: &mut Server, _| {
        server.run(before)?;
        Ok(command(call))
    };
    Row::blocking(name, prepared, after)
}

/// Calls of many items, with other items in each run.
pub fn items() -> [Row; 2] {
    let row = |name, command: &'static str, item: fn(u64) -> Item| {
        let call = move |_: &mut Server, run| {
            let first = u64::from(run) * BATCH;
            Ok(call(command, FILTER, (first..first + BATCH).map(item)))
        };
        Row::blocking(name, call, "")
    };
    [
        row("BF.MEXISTS, 1,000 items", "BF.MEXISTS", Item::Absent),
        row("BF.MADD, 1,000 new items", "BF.MADD", Item::Stored),
    ]
}

/// A command on items.
pub fn call(name: &str, key: &str, items: impl Iterator<Item = Item>) -> Cmd {
    let mut command = cmd(name);
    command.arg(key);
    let mut bytes = Vec::new();
    for item in items {
        Kind::Hex40.write(item, &mut bytes);
        command.arg(bytes.as_slice());
    }
    command
}

/// The capacity of a filter of this many bytes.
pub fn capacity_of(server: &mut Server, bytes: u64) -> Result<u64> {
    const PROBE: u64 = 1_000_000;
    server.run(&format!("BF.RESERVE probe 0.01 {PROBE}"))?;
    let size = layer_bytes(server, "probe")?.iter().sum();
    server.run("DEL probe")?;
    Ok(scaled(PROBE, bytes, size))
}

/// `items` times `bytes / of`, at least 1.
pub fn scaled(items: u64, bytes: u64, of: u64) -> u64 {
    ((items as f64 * bytes as f64 / of.max(1) as f64) as u64).max(1)
}
