//! The server bench: what a `BF.*` command costs a real server, as a multiple of the least it could cost.
//!
//! ```text
//! cargo build --release && cargo build --release --example floor
//! cargo bench --bench server -- --quick
//! PEER=/path/a.so:/path/b.so cargo bench --bench server -- --full --markdown docs/benchmarks.md
//! ```
//!
//! Each column of the table is a server of its own with one module (or none) in it: the floor
//! (`examples/floor.rs`), this module, the server's own sets and bit strings, and any peers. Each row is one
//! workload, told to every column in its own commands with the same items. A round runs a row on every column in
//! turn, so that a drifting machine hits all alike; the table gives medians over the rounds.
//!
//! What is measured is the server's own account of the time in the command (`INFO commandstats`), divided by
//! items: sockets, parsing and the client are not in it. Answers are checked too, so that nothing is fast because
//! it is wrong.
//!
//! | file | idea |
//! |---|---|
//! | `options` | the command line |
//! | `workloads` | the rows: which filters, which calls |
//! | `items` | the keys that are added and asked for |
//! | `dialect` | how a column says a row in commands |
//! | `bit_string` | the filter a client library builds with SETBIT |
//! | `payload` | commands encoded ahead of time |
//! | `server` | a server process of our own |
//! | `column` | which servers there are |
//! | `measure` | one sample: reset, send, read the statistics, check |
//! | `run` | rounds over rows and columns |
//! | `report` | table, JSON, markdown |

mod bit_string;
mod column;
mod dialect;
mod items;
mod machine;
mod measure;
mod options;
mod payload;
mod progress;
mod report;
mod run;
mod server;
mod workloads;

use std::process::ExitCode;

/// Whatever goes wrong is told to the user as a sentence; nothing here handles one error unlike another.
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

/// Runs everything; false if a row failed on the floor or on this module, which must answer all of them.
fn bench() -> Result<bool> {
    let options = options::Options::from_args()?;
    let cores = server::Cores::pin_client()?;
    let mut columns = column::start_all(&options, &cores)?;
    let machine = machine::Machine::describe(&mut columns, &cores)?;
    let outcome = run::run(&options, &mut columns)?;
    let report = report::Report { options: &options, machine: &machine, outcome: &outcome };
    println!("{}", report.table());
    report.write_json()?;
    if let Some(path) = &options.markdown {
        std::fs::write(path, report.markdown())?;
        eprintln!("wrote {}", path.display());
    }
    Ok(outcome.is_complete())
}
