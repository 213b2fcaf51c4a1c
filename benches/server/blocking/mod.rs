//! How long one call of each command blocks the server: the table of `docs/reference/latency.md`.
//!
//! ```text
//! make bench-blocking
//! make bench-packed
//! make bench-blocking SERVER=valkey-9.1 ARGS="--sizes 1g,10g"
//! ```
//!
//! A server executes one command at a time, so every other client waits for the time of one call.
//! That time is read from SLOWLOG, which has one entry per call, so that the longest of a series is
//! known. INFO commandstats has only the sum over calls. Both measure the command alone: they
//! exclude reading arguments from the socket and sending the reply, which the server does in small
//! portions between other clients' commands.
//!
//! Each figure is the longest of up to five runs. A row ends early when its time is used up, so
//! large filters have one or two runs. Filters have two states. *Untouched*: just reserved, so that
//! no page is backed by memory yet. *Filled*: every page is written by BF.LOADCHUNK with
//! pseudo-random bits, half of which are set, as in a full filter.
//!
//! | file | idea |
//! |---|---|
//! | `rows` | the rows of the table, and what a cell holds |
//! | `clock` | the time of one call, from SLOWLOG |
//! | `filters` | filters of a wanted size, untouched and filled |
//! | `bench` | the runs of one row |
//! | `measure` | one filter: every command on it |
//! | `persist` | DUMP, RESTORE, SAVE and BGSAVE of it |
//! | `rotation` | windowed filters: a generation is opened and another dropped |
//! | `joining` | BF.MERGE and BF.COMPACT, each beside a plain pass over as much memory |
//! | `cuckoo` | cuckoo filters: CF.COMPACT, and what else takes a time in proportion to the bytes |
//! | `layers` | filters of hundreds and thousands of layers |
//! | `plain_copy` | the time to copy memory without a filter |
//! | `table` | the tables as Markdown, and the check of their shape |
//! | `packed` | calls of packed items, by their number |
//! | `page` | the part of a page between two markers |

mod bench;
mod clock;
mod cuckoo;
mod filters;
mod joining;
mod layers;
mod measure;
pub mod packed;
mod page;
mod persist;
mod plain_copy;
mod rotation;
mod rows;
mod table;

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::cores::Cores;
use crate::machine::Machine;
use crate::options::Options;
use crate::progress::Progress;
use crate::result::Result;
use crate::server::{Launch, Server, program};
use filters::{Layout, State};
use rows::{Cells, cells_json};

/// The page of the repository with the table.
const PAGE: &str = "docs/reference/latency.md";

/// The name of the markers in it.
const MARKERS: &str = "bench-blocking";

/// The results of one filter.
pub struct Column {
    pub name: String,
    pub untouched: Cells,
    /// Empty if the filter is too large to be filled.
    pub filled: Cells,
}

/// All results.
pub struct Outcome {
    pub columns: Vec<Column>,
    /// Filters of many layers.
    pub layers: Vec<Column>,
}

/// Measures, prints the tables, and writes them into the page if the user named one.
pub fn bench(options: &Options, cores: &Cores) -> Result<()> {
    let (machine, outcome) = run(options, cores)?;
    let text = table::text(options, &machine, &outcome);
    println!("{text}");
    write_json(options, &machine, &outcome)?;
    table::check(&text)?;
    if let Some(path) = &options.markdown {
        fs::write(path, page::with_table(&fs::read_to_string(path)?, MARKERS, &text)?)?;
        eprintln!("wrote {}", path.display());
    }
    Ok(())
}

/// Runs everything in small. Checks the tables, and that the page of this repository has its
/// markers.
///
/// # Errors
///
/// What failed, as a sentence.
pub fn smoke(options: &Options, cores: &Cores) -> Result<()> {
    let (machine, outcome) = run(options, cores)?;
    let text = table::text(options, &machine, &outcome);
    table::check(&text)?;
    if table::check(&text.replacen(" | ", " ", 1)).is_ok() {
        return Err("the check of the tables accepts a head with one cell too few".into());
    }
    let refusals = table::refusals(&outcome.columns) + &table::refusals(&outcome.layers);
    if !refusals.is_empty() {
        return Err(format!("the server refused calls on small filters:\n{refusals}").into());
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let before =
        fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    for (markers, text) in [(MARKERS, text), (packed::MARKERS, packed::text(options, cores)?)] {
        let after = page::with_table(&before, markers, &text)?;
        let is_unchanged =
            page::without_table(&before, markers)? == page::without_table(&after, markers)?;
        if !is_unchanged || !after.contains(&text) {
            return Err(format!("writing the table {markers} changes the rest of {PAGE}").into());
        }
    }
    Ok(())
}

/// A server with this module, on all cores, so that background threads and children have cores of
/// their own.
fn start(options: &Options, cores: &Cores) -> Result<Server> {
    let (module, _) = &options.bloomline;
    let module = module.canonicalize().map_err(|error| format!("{}: {error}", module.display()))?;
    let launch = Launch {
        program: program(options.server.as_deref()),
        cores: cores.all,
        module: vec![module.to_string_lossy().into_owned()],
    };
    // hz 500: the server notices within 2 ms that a child has ended.
    let settings = ["--slowlog-log-slower-than", "0", "--slowlog-max-len", "100000", "--hz", "500"];
    // Redis 6.2 does not know the setting that newer servers need for DEBUG.
    let with_debug = [settings.as_slice(), &["--enable-debug-command", "yes"]].concat();
    launch.start(&with_debug).or_else(|_| launch.start(&settings))
}

fn run(options: &Options, cores: &Cores) -> Result<(Machine, Outcome)> {
    let server = &mut start(options, cores)?;
    let machine = Machine::describe(server.version()?, &Cores { server: None, all: cores.all })?;
    let sizes = options.sizes.or_default(options.scale);
    let mut progress = Progress::new(4 * sizes.len() + layers::STEPS);
    let mut columns = Vec::new();
    for size in sizes {
        let mut column =
            Column { name: size.to_string(), untouched: Cells::new(), filled: Cells::new() };
        for layout in [Layout::Bloomline, Layout::RedisBloom] {
            for state in [State::Untouched, State::Filled] {
                progress.show(&column.name, &format!("{layout:?}, {state:?}"));
                let cells = match state {
                    State::Untouched => &mut column.untouched,
                    State::Filled => &mut column.filled,
                };
                measure::measure(server, size, layout, state, options.rounds, cells)
                    .map_err(|error| format!("{size}, {layout:?}, {state:?}: {error}"))?;
                progress.step();
            }
        }
        columns.push(column);
    }
    let layers = layers::measure(server, options.scale, options.rounds, &mut progress)?;
    Ok((machine, Outcome { columns, layers }))
}

/// Writes every run in milliseconds. The page has only the longest.
fn write_json(options: &Options, machine: &Machine, outcome: &Outcome) -> Result<()> {
    let machine: serde_json::Map<String, serde_json::Value> =
        machine.fields().into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
    let column = |column: &Column| {
        json!({
            "name": column.name,
            "untouched": cells_json(&column.untouched),
            "filled": cells_json(&column.filled),
        })
    };
    let whole = json!({
        "command": options.command_line(),
        "machine": machine,
        "unit": "ms per call",
        "columns": outcome.columns.iter().map(column).collect::<Vec<_>>(),
        "layers": outcome.layers.iter().map(column).collect::<Vec<_>>(),
    });
    if let Some(folder) = options.json.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&options.json, serde_json::to_string_pretty(&whole)? + "\n")?;
    eprintln!("wrote {}", options.json.display());
    Ok(())
}
