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
//! Each column of the table is a separate server, with one module or none: the baseline
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
//! | `row` | groups of rows: what all tables consist of |
//! | `column` | the servers of a run |
//! | `run` | rounds over rows and columns |
//! | `sample` | one sample: reset, send, read the statistics |
//! | `workloads` | filters of some shape, and calls on them |
//! | `groups` | the workloads |
//! | `timed` | workloads as rows, with the time per item |
//! | `costs` | memory, disk, copied pages, replicated bytes: one file per table |
//! | `latency` | the second mode: how long one call of each command blocks the server |
//! | `huge` | the third mode: large filters with small and with huge pages |
//! | `items` | the items that are added and looked up |
//! | `dialect` | the commands of each column for a workload |
//! | `bit_string` | the filter that a client library builds with SETBIT |
//! | `packed` | items packed in one string |
//! | `payload` | commands encoded ahead of time |
//! | `cores` | which cores the client and the servers use |
//! | `server` | a server of the bench, with its connections |
//! | `bits` | filters whose bits are set without adding items |
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
mod options;
mod outcome;
mod packed;
mod payload;
mod result;
mod row;
mod run;
mod sample;
mod scale;
mod server;
mod sizes;
mod timed;
mod workloads;

use std::process::ExitCode;

use column::Planned;
use options::{Mode, Options};
use outcome::Outcome;
use result::Result;
use scale::Scale;

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
    let options = Options::from_args()?;
    let cores = cores::Cores::pin_client()?;
    let mut planned = column::plan(&options)?;
    let mut outcome = Outcome::default();
    let mut run =
        |planned: &[Planned], groups| run::run(&options, &cores, planned, groups, &mut outcome);
    match options.mode {
        Mode::Items => {
            let workloads = groups::groups(options.scale, options.items);
            let mut groups = timed::groups(workloads, options.scale, options.rounds);
            groups.extend(costs::groups(&options));
            run(&planned, groups)?;
        }
        Mode::Latency => {
            planned.retain(Planned::is_latency);
            run(&planned, latency::groups(&options)?)?;
        }
        Mode::Huge => {
            planned.retain(Planned::is_own_layout);
            for is_huge in [false, true] {
                huge::permit_huge_pages(is_huge)?;
                run(&planned, vec![huge::group(&options, is_huge)?])?;
            }
        }
    }
    let pinned = if options.mode == Mode::Items { cores.server } else { None };
    let (version, modules) = column::describe(&planned, &options.server, cores.all)?;
    let machine = machine::Machine::describe(version, pinned);
    outcome::write(&options, &machine, &modules, &outcome)?;
    let is_smoke = options.scale == Scale::Smoke && options.mode == Mode::Items;
    if is_smoke && options.only.is_none() {
        run::run(&options, &cores, &planned, latency::groups(&options)?, &mut outcome)?;
    }
    for (_, line) in &outcome.failures {
        eprintln!("FAILED: {line}");
    }
    Ok(!outcome.failures.iter().any(|&(is_ours, _)| is_ours))
}
