//! Load tests: clients make all kinds of steps on all kinds of filters at full speed, and each checks
//! the replies against its own exact model, false-positive rates included. Between the rounds of the
//! load clocks move, servers are killed, restarted and promoted.
//!
//! A run of the tests takes 20 s in total. `make soak S=3600` takes an hour on each of the newest
//! servers and prints the measured numbers.

mod deletable;
mod events;
mod kinds;
mod latency;
mod life;
mod model;
mod one_item;
mod saving;

use std::env;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bloomline_harness::{Client, Kind, SetOnDrop, for_newest_servers, until};

use events::{EVENTS, Pair};
use latency::{Latencies, Slow};
use life::Life;
use model::Tally;

use crate::inspect::{Totals, totals};

/// Clients that check models.
const LIVES: u64 = 3;

/// How long each server is under load; `None` in a run of the tests.
fn requested_length() -> Option<Duration> {
    let seconds = env::var("BLOOMLINE_SOAK_SECONDS").ok()?;
    Some(Duration::from_secs(
        seconds.parse().expect("BLOOMLINE_SOAK_SECONDS is a number of seconds"),
    ))
}

/// A round of the load, shared by all clients.
pub struct Load {
    is_over: AtomicBool,
    /// True if it includes calls of 1,000 items on large filters.
    pub is_heavy: bool,
}

impl Load {
    fn continues(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }
}

#[test]
fn soak_agrees_with_exact_models_and_frees_its_memory() {
    for_newest_servers(|kind| soak(kind, requested_length()));
}

fn soak(kind: &Kind, length: Option<Duration>) {
    let mut pair = Pair::start(
        kind,
        &[
            "appendonly yes",
            // What is acknowledged must be in the file when a server is killed.
            "appendfsync no",
            "slowlog-log-slower-than 1000",
            "slowlog-max-len 10000",
        ],
    );
    let (mut tally, mut latencies) = (Tally::default(), Latencies::new());
    // A short round before memory is compared, so that everything exists that the server allocates
    // only once.
    let mut lives: Vec<Life> = (0..LIVES).map(|seed| Life::new(pair.client(), 90 + seed)).collect();
    round(&pair, &mut lives, true, Duration::from_millis(200), &mut latencies, &mut tally);
    let memory_before = emptied(&mut pair.client());
    pair.client().call("SLOWLOG RESET");

    let mut lives: Vec<Life> = (0..LIVES).map(|seed| Life::new(pair.client(), seed)).collect();
    let turn = length.map_or(Duration::from_millis(300), |length| {
        (length / 16).clamp(Duration::from_millis(300), Duration::from_secs(20))
    });
    let start = Instant::now();
    let mut slow = Slow::default();
    for (turns, (name, event)) in EVENTS.iter().cycle().enumerate() {
        // Each event happens at least once.
        if turns >= EVENTS.len() && start.elapsed() >= length.unwrap_or_default() {
            break;
        }
        round(&pair, &mut lives, turns % 2 == 1, turn, &mut latencies, &mut tally);
        slow.collect(&mut pair.client());
        pair.happen(*event);
        for life in &mut lives {
            life.client = pair.client();
            life.assert_kept();
        }
        *tally.steps.entry(name).or_default() += 1;
    }
    lives.iter().for_each(|life| tally.add(&life.tally));
    tally.assert_sound();

    // The restarted server counts from zero, so this compares its empty state with the empty state
    // before.
    let (server, clocks) = pair.into_primary();
    for life in &mut lives {
        life.client = server.resp2();
        life.assert_kept();
    }
    let memory_after = emptied(&mut server.resp2());
    assert!(
        memory_after < memory_before + (2 << 20),
        "{memory_before} bytes before, {memory_after} after the load"
    );
    println!(
        "SOAK | {} | {:?} | {tally} | used_memory empty: {memory_before} before, {memory_after} after",
        kind.name,
        start.elapsed()
    );
    latencies.report(kind);
    slow.report(kind);
    drop((server, clocks));
}

/// Lets all clients work at the same time.
fn round(
    pair: &Pair,
    lives: &mut [Life],
    is_heavy: bool,
    length: Duration,
    latencies: &mut Latencies,
    tally: &mut Tally,
) {
    let load = &Load { is_over: AtomicBool::new(false), is_heavy };
    let socket: &Path = &pair.primary().socket();
    thread::scope(|scope| {
        let end = SetOnDrop(&load.is_over);
        let lives: Vec<_> = lives
            .iter_mut()
            .map(|life| {
                scope.spawn(move || {
                    while load.continues() {
                        life.step();
                    }
                })
            })
            .collect();
        if is_heavy {
            scope.spawn(|| latency::heavy(socket, load));
        }
        scope.spawn(|| latency::probe(socket, load, latencies));
        let saver = scope.spawn(|| saving::save_repeatedly(socket, load));
        let (start, mut client) = (Instant::now(), pair.client());
        while start.elapsed() < length && !lives.iter().any(|life| life.is_finished()) {
            client.assert_answers_ping("a part of the load");
            thread::sleep(Duration::from_millis(20));
        }
        drop(end);
        lives.into_iter().for_each(|life| life.join().expect("a model that agrees"));
        tally.saves += saver.join().expect("saves that work");
    });
}

/// The bytes that the server uses after all filters are deleted.
fn emptied(client: &mut Client) -> u64 {
    client.wait_for_saves();
    client.ok("FLUSHALL");
    client.wait_for_frees();
    until("deleted filters not to be counted", || {
        (totals(client) == Totals::default()).then_some(())
    });
    client.info_number("used_memory")
}
