//! How long one call of each command blocks the server: the tables of
//! `docs/explanation/performance.md`, which `benches/published/latency.py` writes.
//!
//! ```text
//! make bench-latency
//! make bench-latency SERVER=valkey-9.1 ARGS="--sizes 1g,10g"
//! make bench-latency ARGS="--sizes largest"       # the last of these tables only
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
//! | `bench` | the runs of rows on one filter |
//! | `clock` | the time of one call, from SLOWLOG |
//! | `filters` | filters of a wanted size, untouched and filled |
//! | `rows` | the table of rows, and the filters on which each is run |
//! | `layers` | filters of hundreds and thousands of layers |
//! | `packed` | calls of packed items, by their number |
//! | `largest` | calls whose time grows with two quantities |

mod bench;
mod clock;
mod filters;
mod largest;
mod layers;
mod packed;
mod rows;

use serde_json::json;

use crate::cores::Cores;
use crate::machine::Machine;
use crate::options::Options;
use crate::outcome;
use crate::result::Result;
use crate::scale::Scale;
use crate::server::Server;
use crate::workloads::thousands;
use crate::{column, sizes};
use bench::{Bench, Run};
use filters::{Layout, State};

/// Measures all rows, and writes every run as JSON.
pub fn bench(options: &Options, cores: &Cores) -> Result<()> {
    let mut server = start(options, cores)?;
    let runs = measure(options, &mut server)?;
    let machine = Machine::describe(server.version()?, None);
    let whole = json!({
        "command": options.command_line(),
        "machine": machine.fields,
        "most_runs": options.rounds,
        "unit": "ms per call",
        "runs": runs.iter().map(Run::json).collect::<Vec<_>>(),
    });
    outcome::write_file(&options.json, &whole)
}

/// Runs everything in small, and writes nothing.
pub fn smoke(options: &Options, cores: &Cores) -> Result<()> {
    measure(options, &mut start(options, cores)?).map(|_| ())
}

/// A server with this module, on all cores, so that background threads and children have cores of
/// their own.
fn start(options: &Options, cores: &Cores) -> Result<Server> {
    let (module, _) = &options.bloomline;
    // hz 500: the server notices within 2 ms that a child has ended.
    let settings = ["slowlog-log-slower-than 0", "hz 500"];
    let setup = column::setup(Some(module), "")?.on_cores(cores.all).debug();
    Server::start(&options.server, &settings.iter().fold(setup, |setup, line| setup.line(*line)))
}

/// Runs the rows on each of the filters.
fn measure(options: &Options, server: &mut Server) -> Result<Vec<Run>> {
    let mut bench = Bench::new(server, options.rounds);
    if options.sizes != "largest" {
        measure_sizes(options, &mut bench)?;
    }
    bench.begin("largest", "ms".to_owned(), Layout::Bloomline, State::Untouched);
    largest::measure(&mut bench, options.scale)?;
    Ok(bench.done)
}

/// Runs the rows whose filters or calls have several sizes.
fn measure_sizes(options: &Options, bench: &mut Bench) -> Result<()> {
    let sizes = sizes::parse(match (options.sizes.as_str(), options.scale) {
        ("", Scale::Smoke) => "64k,1m",
        ("", _) => "1m,100m,1g,4g,10g",
        (sizes, _) => sizes,
    })?;
    let states = [State::Untouched, State::Filled];
    for bytes in sizes {
        for layout in [Layout::Bloomline, Layout::RedisBloom] {
            for state in states {
                let size = sizes::show(bytes);
                let failed = format!("{size}, {layout:?}, {state:?}");
                bench.begin("one layer of", size, layout, state);
                rows::measure(bench, bytes).map_err(|error| format!("{failed}: {error}"))?;
            }
        }
    }
    for shape in layers::shapes(options.scale) {
        for state in states {
            let column = format!("{} × {}", thousands(shape.0.into()), sizes::show(shape.1));
            bench.begin("layers", column, Layout::Bloomline, state);
            layers::measure(bench, shape)?;
        }
    }
    let (counts, capacity) = packed::sizes(options.scale);
    for &items in counts {
        bench.begin("items in the call", thousands(items), Layout::Bloomline, State::Untouched);
        packed::measure(bench, items, capacity)?;
    }
    Ok(())
}
