//! What happens to the servers between two rounds of the load.

use bloomline_harness::{Client, Clock, Kind, Random, Server, Setup, Stop};

use super::kinds::WINDOW;
use crate::cluster::equal::{catch_up, setup};

/// Something that happens to a primary and its replica.
type Event = fn(&mut Pair);

/// The events, in the order in which they happen.
pub const EVENTS: [(&str, Event); 8] = [
    ("the clock moves on", |pair| pair.move_clock(0, WINDOW / 6)),
    ("the primary is killed", |pair| pair.kill(pair.primary)),
    ("the replica is promoted", Pair::promote),
    ("the primary restarts", |pair| pair.servers[pair.primary].restart(Stop::NoSave)),
    ("the clock jumps back", |pair| pair.move_clock(-4, -1)),
    ("the replica is killed", |pair| pair.kill(1 - pair.primary)),
    ("the data set is loaded again", |pair| pair.client().ok("DEBUG RELOAD")),
    ("a day passes", |pair| pair.move_clock(86_400, 90_000)),
];

/// A primary and its replica, each with a clock of its own.
pub struct Pair {
    // Stopped before their clocks are gone.
    servers: [Server; 2],
    clocks: [Clock; 2],
    primary: usize,
    random: Random,
}

impl Pair {
    pub fn start(kind: &Kind, lines: &[&str]) -> Self {
        let clocks = [Clock::new(), Clock::new()];
        let configured = |clock: &Clock| -> Setup {
            // A replica must not lose its primary when a clock moves.
            let setup = setup().line("repl-timeout 100000000").clock(clock);
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
    pub fn into_primary(self) -> (Server, [Clock; 2]) {
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

    fn promote(&mut self) {
        self.primary = 1 - self.primary;
    }

    /// Moves the clocks on by some of these seconds, or back. They do not stay equal.
    fn move_clock(&mut self, from: i64, to: i64) {
        for clock in &self.clocks {
            clock.advance(from + (self.random.next() % (to - from + 1) as u64) as i64);
        }
    }
}
