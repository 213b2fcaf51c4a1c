//! Fault injection: crashes, full disks, lack of memory, damaged files, cut links.
//!
//! Everything that was acknowledged is present afterwards, and the server runs or logs why it does
//! not. Each fault is injected a few times; `BLOOMLINE_REPEAT=50` injects each fifty times and
//! more.

mod allocations;
mod cut_links;
mod damaged_files;
mod disk_full;
pub mod failover;
mod killed;
mod killed_while_saving;
mod ledger;
mod no_random;
mod out_of_memory;
mod panics;

use std::env;

use bloomline_harness::Kind;

/// How often a fault is injected per server: `BLOOMLINE_REPEAT` times, otherwise `default` times.
fn repetitions(default: usize) -> usize {
    match env::var("BLOOMLINE_REPEAT") {
        Ok(number) => {
            number.parse().unwrap_or_else(|_| panic!("BLOOMLINE_REPEAT={number} is not a number"))
        }
        Err(_) => default,
    }
}

/// Prints one line of the table of faults, which `--nocapture` shows.
fn report(kind: &Kind, fault: &str, times: usize, outcome: &str) {
    println!("FAULT | {fault} | {} | {times} | {outcome}", kind.name);
}
