//! The server bench: the time of a `BF.*` command in a real server, as a multiple of the least time
//! that any module can take.
//!
//! ```text
//! make bench
//! PEER=/path/a.so:/path/b.so make bench ARGS=--full   # without PEER: RedisBloom 2.8
//! make bench ARGS="--only 'In cache'"
//! make bench ARGS="--huge --sizes 1g,4g,10g"
//! make bench-beside BASE=main~10
//! make bench-latency
//! ```
//!
//! Each column of the table is a server of its own with one module or none: the baseline
//! (`examples/baseline.rs`), the baseline with the hash that every filter needs, this module, the
//! server's own sets and bit strings, and any peers. Each row is one workload, which every column
//! runs in its own commands with the same items. A round runs a row on all columns in turn, so that
//! changes in the machine's speed affect all columns equally. The table shows medians over the
//! rounds.
//!
//! The measured time is what the server itself counts for the command (`INFO commandstats`),
//! divided by the number of items. It excludes sockets, parsing and the client. Answers are
//! checked, so that wrong answers never count as fast ones.
//!
//! | file | idea |
//! |---|---|
//! | `options` | the command line |
//! | `scale`, `sizes` | how much is run |
//! | `workloads` | what a row is: a filter of some shape, and calls on it |
//! | `groups` | the rows |
//! | `items` | the items that are added and looked up |
//! | `dialect` | the commands of each column for a row |
//! | `bit_string` | the filter that a client library builds with SETBIT |
//! | `packed` | items packed in one string |
//! | `payload` | commands encoded ahead of time |
//! | `cores` | which cores the client and the servers use |
//! | `server` | a server of the bench, with its connections |
//! | `bits` | filters whose bits are set without adding items |
//! | `column` | the servers of a run |
//! | `measure` | one sample: reset, send, read the statistics, check |
//! | `run` | rounds over rows and columns |
//! | `costs` | memory, disk, copied pages, replicated bytes: one file per experiment |
//! | `latency` | the second mode: how long one call of each command blocks the server |
//! | `huge` | the third mode: large filters with small and with huge pages |
//! | `outcome` | the results as JSON |

mod bit_string;
mod bits;
mod column;
mod cores;
mod costs;
mod dialect;
mod groups;
mod huge;
mod items;
mod latency;
mod machine;
mod measure;
mod options;
mod outcome;
mod packed;
mod payload;
mod result;
mod run;
mod scale;
mod server;
mod sizes;
mod workloads;

use std::process::ExitCode;

use options::Mode;
use result::Result;

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

/// Runs everything; false if a row failed on the baseline or on this module, which must complete
/// all rows.
fn bench() -> Result<bool> {
    let options = options::Options::from_args()?;
    let cores = cores::Cores::pin_client()?;
    match options.mode {
        Mode::Items => {}
        Mode::Latency => return latency::bench(&options, &cores).map(|()| true),
        Mode::Huge => return huge::bench(&options, &cores).map(|()| true),
    }
    let mut columns = column::start_all(&options, &cores)?;
    let version = columns.first_mut().map(|column| column.server.version()).transpose()?;
    let machine = machine::Machine::describe(version.unwrap_or_default(), cores.server);
    let mut modules = Vec::new();
    for column in &mut columns {
        modules.extend(column.module()?);
    }
    let outcome = run::run(&options, &mut columns, &cores)?;
    outcome::write(&options, &machine, &modules, &outcome)?;
    for (_, line) in &outcome.failures {
        eprintln!("FAILED: {line}");
    }
    drop(columns);
    if options.scale == scale::Scale::Smoke && options.only.is_none() {
        latency::smoke(&options, &cores)?;
    }
    Ok(!outcome.failures.iter().any(|&(is_ours, _)| is_ours))
}
