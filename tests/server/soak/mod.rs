//! Load tests: clients live with filters of all kinds at full speed, and each compares every reply
//! with the same filter in its own process. Between the rounds of the load clocks move, servers are
//! killed, restarted and promoted.
//!
//! A run of the tests takes 20 s in total. `make soak S=3600` takes an hour on each of the newest
//! servers and prints the measured numbers.

mod latency;
mod one_item;
mod saving;

use std::env;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bloomline_harness::{Client, Kind, SetOnDrop, for_newest_servers, until};
use bloomline_reference::life::kinds::KINDS;

use latency::{Latencies, Slow};

use crate::inspect::{Totals, totals};
use crate::life::{Count, EVENTS, Life, Pair};

/// Clients that compare replies.
const CLIENTS: u64 = 3;

/// The most operations of a life.
const STEPS: u64 = 40;

/// The most bytes of a filter.
const LIMIT: u64 = 1 << 30;

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

/// A client that lives one life after another.
struct Worker {
    number: u64,
    lives: u64,
    life: Option<Life>,
    steps: u64,
    done: Count,
}

impl Worker {
    fn new(number: u64) -> Self {
        Self { number, lives: 0, life: None, steps: 0, done: Count::default() }
    }

    fn work(&mut self, socket: &Path, load: &Load) {
        let client = || Client::connect(socket).expect("a connection");
        while load.continues() {
            match &mut self.life {
                Some(life) if self.steps < STEPS && !life.is_over() => {
                    life.step();
                    self.steps += 1;
                }
                _ => self.begin(client()),
            }
        }
    }

    /// Ends the life, and begins the next one. Some kinds have no filter with the numbers of a
    /// seed.
    fn begin(&mut self, mut client: Client) {
        let key = format!("life:{}", self.number);
        if let Some(life) = self.life.take() {
            self.done.add(life.count);
            assert_eq!(client.ask(&format!("UNLINK {key}")), ":1");
        }
        self.lives += 1;
        let kind = KINDS[self.lives as usize % KINDS.len()];
        let seed = self.number << 32 | self.lives;
        self.steps = 0;
        self.life = Life::begin(client, &key, (kind, seed), false, LIMIT, None);
    }
}

#[test]
fn soak_equals_filters_in_this_process_and_frees_its_memory() {
    for_newest_servers(|kind| soak(kind, requested_length()));
}

fn soak(kind: &Kind, length: Option<Duration>) {
    let mut pair = Pair::start(
        kind,
        LIMIT,
        &[
            "appendonly yes",
            // What is acknowledged must be in the file when a server is killed.
            "appendfsync no",
            "slowlog-log-slower-than 1000",
            "slowlog-max-len 10000",
        ],
    );
    let mut latencies = Latencies::new();
    // A short round before memory is compared, so that everything exists that the server allocates
    // only once.
    let mut workers: Vec<Worker> = (0..CLIENTS).map(|number| Worker::new(90 + number)).collect();
    let mut saves = round(&pair, &mut workers, true, Duration::from_millis(200), &mut latencies);
    let memory_before = emptied(&mut pair.client());
    pair.client().call("SLOWLOG RESET");

    let mut workers: Vec<Worker> = (0..CLIENTS).map(Worker::new).collect();
    let turn = length.map_or(Duration::from_millis(300), |length| {
        (length / 16).clamp(Duration::from_millis(300), Duration::from_secs(20))
    });
    let start = Instant::now();
    let mut slow = Slow::default();
    let mut events = 0;
    for (turns, (_, event)) in EVENTS.iter().cycle().enumerate() {
        // Each event happens at least once.
        if turns >= EVENTS.len() && start.elapsed() >= length.unwrap_or_default() {
            break;
        }
        saves += round(&pair, &mut workers, turns % 2 == 1, turn, &mut latencies);
        slow.collect(&mut pair.client());
        pair.happen(*event);
        events += 1;
        for life in workers.iter_mut().filter_map(|worker| worker.life.as_mut()) {
            life.reconnect(pair.client(), pair.replica());
        }
    }

    // The restarted server counts from zero, so this compares its empty state with the empty state
    // before.
    let (server, clocks) = pair.into_primary();
    let (mut done, mut lives) = (Count::default(), 0);
    for worker in &mut workers {
        if let Some(life) = &mut worker.life {
            life.reconnect(server.resp2(), server.resp2());
            worker.done.add(life.count);
        }
        done.add(worker.done);
        lives += worker.lives;
    }
    let memory_after = emptied(&mut server.resp2());
    assert!(
        memory_after < memory_before + (2 << 20),
        "{memory_before} bytes before, {memory_after} after the load"
    );
    println!(
        "SOAK | {} | {:?} | {lives} lives, {} calls compared, {} changes | {events} events, {saves} \
         saves and rewrites | used_memory empty: {memory_before} before, {memory_after} after",
        kind.name,
        start.elapsed(),
        done.calls,
        done.changes
    );
    latencies.report(kind);
    slow.report(kind);
    drop((server, clocks));
}

/// Lets all clients work at the same time. Returns the number of saves.
fn round(
    pair: &Pair,
    workers: &mut [Worker],
    is_heavy: bool,
    length: Duration,
    latencies: &mut Latencies,
) -> u64 {
    let load = &Load { is_over: AtomicBool::new(false), is_heavy };
    let socket: &Path = &pair.primary().socket();
    thread::scope(|scope| {
        let end = SetOnDrop(&load.is_over);
        let working: Vec<_> = workers
            .iter_mut()
            .map(|worker| scope.spawn(move || worker.work(socket, load)))
            .collect();
        if is_heavy {
            scope.spawn(|| latency::heavy(socket, load));
        }
        scope.spawn(|| latency::probe(socket, load, latencies));
        let saver = scope.spawn(|| saving::save_repeatedly(socket, load));
        let (start, mut client) = (Instant::now(), pair.client());
        while start.elapsed() < length && !working.iter().any(|worker| worker.is_finished()) {
            client.assert_answers_ping("a part of the load");
            thread::sleep(Duration::from_millis(20));
        }
        drop(end);
        working.into_iter().for_each(|worker| worker.join().expect("replies that are equal"));
        saver.join().expect("saves that work")
    })
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
