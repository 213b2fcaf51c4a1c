//! How long one call of packed items blocks the server, by the number of its items: a second table
//! of `docs/reference/latency.md`.

use std::fs;

use redis::{Value, cmd};

use super::clock;
use super::filters::{self, Bits, FILTER, State};
use super::table::{markdown, number, wrapped};
use super::{page, start};
use crate::cores::Cores;
use crate::items::{Item, Kind};
use crate::machine::Machine;
use crate::options::Options;
use crate::packed::Form;
use crate::result::Result;
use crate::run::median;
use crate::scale::Scale;
use crate::server::Server;
use crate::workloads::thousands;

/// The name of the markers in the page.
pub const MARKERS: &str = "bench-packed";

const KIND: Kind = Kind::Bytes20;

/// Items of the filter: it does not grow in any run.
const CAPACITY: u64 = 100_000_000;

/// Command, name, state of the filter, and items of a row.
type Row = (&'static str, &'static str, State, fn(u64) -> Item);

const ROWS: [Row; 3] = [
    ("BF.BULKADD", "new items, untouched", State::Untouched, Item::Stored),
    ("BF.BULKADD", "new items, filled", State::Filled, Item::Stored),
    ("BF.BULKEXISTS", "absent items, filled", State::Filled, Item::Absent),
];

/// Measures, prints the table, and writes it into the page if the user named one.
pub fn bench(options: &Options, cores: &Cores) -> Result<()> {
    let text = text(options, cores)?;
    println!("{text}");
    if let Some(path) = &options.markdown {
        fs::write(path, page::with_table(&fs::read_to_string(path)?, MARKERS, &text)?)?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

/// The table and the text above it.
pub fn text(options: &Options, cores: &Cores) -> Result<String> {
    let server = &mut start(options, cores)?;
    let machine = Machine::describe(server.version()?, &Cores { server: None, all: cores.all })?;
    let sizes: &[u64] = match options.scale {
        Scale::Smoke => &[100, 1_000],
        Scale::Quick | Scale::Full => &[1_000, 10_000, 100_000, 1_000_000, 10_000_000],
    };
    let capacity = if options.scale == Scale::Smoke { 10_000 } else { CAPACITY };
    let bits = Bits::new();
    let mut lines = vec![vec!["items in the call".to_owned()]];
    lines.iter_mut().for_each(|heads| heads.extend(sizes.iter().copied().map(thousands)));
    for (command, what, state, item) in ROWS {
        let mut line = vec![format!("{command}, {what}")];
        for &items in sizes {
            cmd("DEL").arg(FILTER).exec(&mut server.connection)?;
            let mut reserve = cmd("BF.RESERVE");
            reserve.arg(FILTER).arg("0.01").arg(capacity).exec(&mut server.connection)?;
            if state == State::Filled {
                filters::fill(server, FILTER, &bits)?;
            }
            // Small calls vary more.
            let runs = options.rounds * if items <= 100_000 { 5 } else { 1 };
            line.push(cell(&times(server, command, item, items, runs)?));
        }
        lines.push(line);
    }
    let busy = if machine.is_loaded() {
        " Other work ran on the machine: figures may be too high."
    } else {
        ""
    };
    let about = format!(
        "Made by `make {MARKERS}`: {}.{busy} Milliseconds of one call by SLOWLOG, median / longest of {} runs, of {} \
         for calls of more than 100,000 items. The items are FIXED, of 20 bytes. The filter is reserved for {} items \
         at 1 %, untouched before the first run or filled.",
        machine.summary(),
        options.rounds * 5,
        options.rounds,
        thousands(capacity),
    );
    Ok(wrapped(&about) + "\n" + &markdown(&lines))
}

/// Milliseconds of each run. Every run has other items.
fn times(
    server: &mut Server,
    command: &str,
    item: fn(u64) -> Item,
    items: u64,
    runs: u32,
) -> Result<Vec<f64>> {
    let mut times = Vec::new();
    for run in 0..u64::from(runs) {
        let data = Form::Fixed.pack(KIND, (run * items..(run + 1) * items).map(item));
        let call = Form::Fixed.call(command, FILTER, KIND, &data);
        let (reply, time): (Value, f64) = clock::timed(server, &call)?;
        match reply {
            Value::Array(parts) if parts.first() == Some(&Value::Int(items as i64)) => {}
            other => return Err(format!("{command} of {items} items: {other:?}").into()),
        }
        times.push(time);
    }
    Ok(times)
}

fn cell(times: &[f64]) -> String {
    let text = |time: Option<f64>| time.map(number).unwrap_or_default();
    let longest = times.iter().copied().max_by(f64::total_cmp);
    format!("{} / {}", text(median(times.iter().copied())), text(longest))
}
