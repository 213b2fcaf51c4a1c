//! Load tests: clients send all commands at full speed, and each checks the replies against its own
//! exact model.
//!
//! A run of the tests takes 20 s in total. `make soak S=3600` takes an hour on each of the newest
//! servers and prints the measured numbers.

mod clients;
mod latency;
mod model;
mod one_item;
mod saving;

use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bloomline_harness::{Client, Kind, SetOnDrop, Setup, Stop, for_newest_servers, show, until};

use model::Tally;

/// Clients that check models.
const CLIENTS: u64 = 3;

/// How long each server is under load; `None` in a run of the tests.
fn requested_length() -> Option<Duration> {
    let seconds = env::var("BLOOMLINE_SOAK_SECONDS").ok()?;
    Some(Duration::from_secs(
        seconds.parse().expect("BLOOMLINE_SOAK_SECONDS is a number of seconds"),
    ))
}

/// The state of the load, shared by all clients.
pub struct Load {
    is_over: AtomicBool,
    /// True while it includes calls of 1,000 items on large filters.
    pub is_heavy: AtomicBool,
}

impl Load {
    fn continues(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }
}

#[test]
fn soak_agrees_with_exact_models_and_frees_its_memory() {
    for_newest_servers(|kind| soak(kind, requested_length().unwrap_or(Duration::from_secs(8))));
}

fn soak(kind: &Kind, length: Duration) {
    let mut server = Setup::new()
        .line("appendonly yes")
        .line("appendfsync everysec")
        .line("slowlog-log-slower-than 1000")
        .line("slowlog-max-len 10000")
        .start(kind);
    let socket = server.socket();
    let mut client = server.resp2();
    // Run all kinds of calls once, so that everything that the server allocates only once exists
    // before memory is compared.
    let warmup = Load { is_over: AtomicBool::new(false), is_heavy: AtomicBool::new(true) };
    thread::scope(|scope| {
        scope.spawn(|| clients::heavy(&socket, &warmup));
        let end = SetOnDrop(&warmup.is_over);
        clients::check(&mut Client::connect(&socket).expect("a connection"), 99, 300, &warmup);
        drop(end);
    });
    let memory_before = emptied(&mut client);
    client.call("SLOWLOG RESET");

    let load = Load { is_over: AtomicBool::new(false), is_heavy: AtomicBool::new(false) };
    let (sum, latencies) = (Mutex::new(Tally::default()), Mutex::new(latency::Pair::new()));
    let models = thread::scope(|scope| {
        let checkers: Vec<_> = (0..CLIENTS)
            .map(|i| {
                let (load, socket) = (&load, &socket);
                scope.spawn(move || {
                    clients::check(
                        &mut Client::connect(socket).expect("a connection"),
                        i,
                        u64::MAX,
                        load,
                    )
                })
            })
            .collect();
        scope.spawn(|| clients::heavy(&socket, &load));
        scope.spawn(|| latency::probe(&socket, &load, &latencies));
        let saver = scope.spawn(|| saving::save_repeatedly(&socket, &load));
        // Half of the time with calls on large filters, half without, in turns.
        let end = SetOnDrop(&load.is_over);
        let (start, mut turns) = (Instant::now(), 0);
        while start.elapsed() < length {
            turns += 1;
            load.is_heavy.store(turns % 2 == 0, Ordering::Relaxed);
            let next =
                (start + length).min(Instant::now() + (length / 8).min(Duration::from_secs(30)));
            while Instant::now() < next && !checkers.iter().any(|checker| checker.is_finished()) {
                client.assert_answers_ping("a part of the load");
                thread::sleep(Duration::from_millis(20));
            }
            if checkers.iter().any(|checker| checker.is_finished()) {
                break;
            }
        }
        drop(end);
        let models: Vec<_> = checkers
            .into_iter()
            .map(|checker| checker.join().expect("a model that agrees"))
            .collect();
        let saves = saver.join().expect("saves that work");
        sum.lock().expect("no panic").saves = saves;
        models
    });
    let mut sum = sum.into_inner().expect("no panic");
    for model in &models {
        sum.add(&model.tally);
    }
    let slow = latency::slow_commands(&mut client);

    // All items are present after a restart from the append-only file, then after one from an RDB
    // file.
    for stop in [Stop::NoSave, Stop::Save] {
        server.restart(stop);
        models.iter().for_each(|model| model.assert_kept(&mut server.resp2()));
        assert_eq!(server.resp2().ask("CONFIG SET appendonly no"), "+OK");
    }
    drop(client);
    let mut client = server.resp2();
    sum.assert_sound();
    // The restarted server counts from zero, so this compares its empty state with the empty state
    // before.
    let memory_after = emptied(&mut client);
    assert!(
        memory_after < memory_before + (2 << 20),
        "{memory_before} bytes before, {memory_after} after the load"
    );
    println!(
        "SOAK | {} | {length:?} | {sum} | used_memory empty: {memory_before} before, {memory_after} after",
        kind.name
    );
    latencies.into_inner().expect("no panic").report(kind);
    slow.iter().for_each(|line| println!("SLOW | {} | {line}", kind.name));
}

/// The bytes that the server uses after all filters are deleted.
fn emptied(client: &mut Client) -> u64 {
    client.wait_for_saves();
    client.ok("FLUSHALL");
    until("the memory to be freed", || {
        (client.info("lazyfree_pending_objects") == "0").then_some(())
    });
    assert_eq!(filters(client), "0", "deleted filters are counted");
    client.info_number("used_memory")
}

fn filters(client: &mut Client) -> String {
    let text = show(&client.call("INFO bf"));
    let found = text.split("bf_filters:").nth(1).unwrap_or_else(|| panic!("{text}"));
    found.chars().take_while(char::is_ascii_digit).collect()
}
