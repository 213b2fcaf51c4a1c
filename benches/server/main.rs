//! The server bench: what a `BF.*` command costs a real server, as a multiple of the least it could
//! cost.
//!
//! ```text
//! make bench
//! PEER=/path/a.so:/path/b.so make bench ARGS=--full
//! make bench-blocking
//! ```
//!
//! Each column of the table is a server of its own with one module (or none) in it: the floor
//! (`examples/floor.rs`), the same with the hash every filter needs, this module, the server's own
//! sets and bit strings, and any peers. Each row is one workload, told to every column in its own
//! commands with the same items. A round runs a row on every column in turn, so that a drifting
//! machine hits all alike; the table gives medians over the rounds.
//!
//! What is measured is the server's own account of the time in the command (`INFO commandstats`),
//! divided by items: sockets, parsing and the client are not in it. Answers are checked too, so
//! that nothing is fast because it is wrong.
//!
//! | file | idea |
//! |---|---|
//! | `options` | the command line |
//! | `workloads` | what a row is: a filter of some shape, calls on it |
//! | `groups` | the rows |
//! | `items` | the keys that are added and asked for |
//! | `dialect` | how a column says a row in commands |
//! | `bit_string` | the filter a client library builds with SETBIT |
//! | `payload` | commands encoded ahead of time |
//! | `cores` | which core is whose |
//! | `server`, `process`, `wait` | a server process of our own, what the system tells of it, waiting for it |
//! | `column` | which servers there are |
//! | `measure` | one sample: reset, send, read the statistics, check |
//! | `run` | rounds over rows and columns |
//! | `costs` | memory, disk, copied pages, replicated bytes: a file an experiment |
//! | `blocking` | the second mode: how long one call of each command blocks the server |
//! | `report`, `json`, `markdown`, `chart` | what comes out, one form a file |

mod bit_string;
mod blocking;
mod chart;
mod column;
mod cores;
mod costs;
mod dialect;
mod groups;
mod items;
mod json;
mod machine;
mod markdown;
mod measure;
mod options;
mod payload;
mod process;
mod progress;
mod report;
mod run;
mod server;
mod wait;
mod workloads;

use std::process::ExitCode;

/// Whatever goes wrong is told to the user as a sentence; nothing here handles one error unlike
/// another.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match bench() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("\nserver bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs everything; false if a row failed on the floor or on this module, which must answer all of
/// them.
fn bench() -> Result<bool> {
    let options = options::Options::from_args()?;
    let cores = cores::Cores::pin_client()?;
    if options.is_blocking {
        blocking::bench(&options, &cores)?;
        return Ok(true);
    }
    let mut columns = column::start_all(&options, &cores)?;
    let version = columns.first_mut().map(|column| column.server.version()).transpose()?;
    let machine = machine::Machine::describe(version.unwrap_or_default(), &cores)?;
    let outcome = run::run(&options, &mut columns, &cores)?;
    let report = report::Report { options: &options, machine: &machine, outcome: &outcome };
    println!("{}", report.table());
    json::write(&report, &options.json)?;
    eprintln!("wrote {}", options.json.display());
    if let Some(path) = &options.markdown {
        let chart = path.with_extension("svg");
        let name = chart.file_name().unwrap_or_default().to_string_lossy();
        chart::draw(&report, &chart)?;
        std::fs::write(path, markdown::document(&report, &name))?;
        eprintln!("wrote {} and {name}", path.display());
    }
    drop(columns);
    if options.scale == options::Scale::Smoke && options.only.is_none() {
        blocking::smoke(&options, &cores)?;
    }
    Ok(outcome.is_complete())
}
