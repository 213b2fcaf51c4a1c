//! What breaks around a module, broken on purpose: what was acknowledged is there afterwards, and
//! the server runs or says why not.
//!
//! Each fault is tried a few times; `BLOOMLINE_REPEAT=50` tries each fifty times and more.

mod cut_links;
mod damaged_files;
mod disk_full;
mod failover;
mod killed;
mod killed_while_saving;
mod ledger;
mod no_random;
mod out_of_memory;
mod panics;

use std::env;

use bloomline_harness::Kind;

/// How often a fault is tried on each server: a few times, or as often as `BLOOMLINE_REPEAT` says.
fn repetitions(few: usize) -> usize {
    match env::var("BLOOMLINE_REPEAT") {
        Ok(number) => {
            number.parse().unwrap_or_else(|_| panic!("BLOOMLINE_REPEAT={number} is no number"))
        }
        Err(_) => few,
    }
}

/// One line of the table of faults, seen with `--nocapture`.
fn tell(kind: &Kind, fault: &str, times: usize, outcome: &str) {
    println!("FAULT | {fault} | {} | {times} | {outcome}", kind.name);
}
