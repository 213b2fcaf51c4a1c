//! A primary and its replica, and what happens to them between lives.

use std::sync::Arc;

use bloomline_harness::{Client, Clock, Kind, Random, Server, Setup, Stop};

use crate::cluster::equal::{catch_up, setup};

/// Something that happens to a primary and its replica.
type Event = fn(&mut Pair);

/// The events, in the order in which they happen.
pub const EVENTS: [(&str, Event); 10] = [
    ("the clock moves on", |pair| pair.move_clock(0, 13_000)),
    ("the primary is killed", |pair| pair.kill(pair.primary)),
    ("the replica is promoted", Pair::promote),
    ("the primary restarts", |pair| pair.servers[pair.primary].restart(Stop::NoSave)),
    ("the clock jumps back", |pair| pair.move_clock(-4, -1)),
    ("the replica is killed", |pair| pair.kill(1 - pair.primary)),
    ("the data set is loaded again", |pair| pair.client().ok("DEBUG RELOAD")),
    ("a day passes", |pair| pair.move_clock(86_400, 90_000)),
    ("the append-only file is rewritten", |pair| pair.client().rewrite_append_only_file()),
    ("memory is defragmented from now on", Pair::defragment),
];

/// A primary and its replica, each with a clock of its own.
pub struct Pair {
    // Stopped before their clocks are gone.
    servers: [Server; 2],
    clocks: Arc<[Clock; 2]>,
    primary: usize,
    random: Random,
}

impl Pair {
    /// Starts both, which allow filters of clients up to a number of bytes.
    pub fn start(kind: &Kind, limit: u64, lines: &[&str]) -> Self {
        let clocks = Arc::new([Clock::new(), Clock::new()]);
        let configured = |clock: &Clock| -> Setup {
            // No PING: only commands are replicated.
            let setup = setup().line("repl-ping-replica-period 3600");
            let setup = setup.module_args(&format!("bf-max-filter-bytes {limit}"));
            let setup = setup.module_args("cf-max-expansions 65536").clock(clock);
            lines.iter().fold(setup, |setup, line| setup.line(*line))
        };
        let servers = [0, 1].map(|at| configured(&clocks[at]).start(kind));
        let mut pair = Self { servers, clocks, primary: 0, random: Random(7) };
        pair.settle();
        pair
    }

    pub fn primary(&self) -> &Server {
        &self.servers[self.primary]
    }

    /// A connection to the replica.
    pub fn replica(&self) -> Client {
        self.servers[1 - self.primary].resp2()
    }

    /// The clocks of both servers.
    pub fn clocks(&self) -> Arc<[Clock; 2]> {
        self.clocks.clone()
    }

    /// A connection to the primary.
    pub fn client(&self) -> Client {
        self.primary().resp2()
    }

    /// Makes an event happen. Afterwards both servers hold the same data set.
    pub fn happen(&mut self, event: Event) {
        self.wait_for_saves();
        event(self);
        self.settle();
    }

    fn wait_for_saves(&self) {
        self.servers.iter().for_each(|server| server.resp2().wait_for_saves());
    }

    /// Attaches the replica, waits until it has everything, and compares the data sets.
    fn settle(&mut self) {
        let (mut primary, mut replica) = (self.client(), self.servers[1 - self.primary].resp2());
        primary.ok("REPLICAOF NO ONE");
        replica.call(&format!("REPLICAOF 127.0.0.1 {}", self.primary().port));
        catch_up(&mut primary, &mut replica);
        self.wait_for_saves();
        assert_eq!(primary.ask("DEBUG DIGEST"), replica.ask("DEBUG DIGEST"));
    }

    /// The primary alone, restarted from its append-only file.
    pub fn into_primary(self) -> (Server, Arc<[Clock; 2]>) {
        let [one, other] = self.servers;
        let (mut primary, replica) = if self.primary == 0 { (one, other) } else { (other, one) };
        drop(replica);
        primary.resp2().wait_for_saves();
        primary.restart(Stop::NoSave);
        (primary, self.clocks)
    }

    fn kill(&mut self, at: usize) {
        self.servers[at].kill();
        self.servers[at].revive();
    }

    /// Only some builds can.
    fn defragment(&mut self) {
        for server in &self.servers {
            let mut client = server.resp2();
            for line in ["active-defrag-ignore-bytes 1", "active-defrag-threshold-lower 0"] {
                client.call(&format!("CONFIG SET {line}"));
            }
            client.call("CONFIG SET activedefrag yes");
        }
    }

    fn promote(&mut self) {
        self.primary = 1 - self.primary;
    }

    /// Moves the clocks on by some of these seconds, or back. They do not stay equal.
    fn move_clock(&mut self, from: i64, to: i64) {
        for clock in self.clocks.iter() {
            clock.advance(from + (self.random.next() % (to - from + 1) as u64) as i64);
        }
    }
}
