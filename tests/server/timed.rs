//! Servers with a clock that the test moves, for windowed filters.
//!
//! The windows last hours and the tests seconds, so an item is never near the end of its window
//! unless the test moves the clock there.

use bloomline_harness::{Client, Clock, Kind, Server, Setup, for_each_server};

use crate::cluster::equal;

/// Lines of a server with an append-only file, always as commands.
pub const APPEND_ONLY: [&str; 2] = ["appendonly yes", "aof-use-rdb-preamble no"];

/// Seconds of the windows.
pub const WINDOW: i64 = 8000;

/// Seconds of a slot, with eight generations.
pub const SLOT: i64 = WINDOW / 8;

/// Options of a filter that remembers for [`WINDOW`], and makes no mistake in these tests.
pub const RESERVE: &str = "BF.RESERVE k 0.0000001 1000 WINDOW 8000 GENERATIONS 8";

/// A server with a clock, whose links survive moved clocks.
pub fn setup(clock: &Clock) -> Setup {
    equal::setup().clock(clock)
}

/// A server with its own clock.
pub struct Timed {
    // Stopped before its clock is gone.
    pub server: Server,
    pub clock: Clock,
}

impl Timed {
    pub fn start(kind: &Kind, lines: &[&str]) -> Self {
        let clock = Clock::new();
        let setup = lines.iter().fold(setup(&clock), |setup, line| setup.line(*line));
        Self { server: setup.start(kind), clock }
    }

    /// Runs `test` with a server of each version, and a connection to it.
    pub fn on_each_server(lines: &[&str], test: impl Fn(Client, Self) + Sync) {
        for_each_server(|kind| {
            let timed = Self::start(kind, lines);
            test(timed.server.resp2(), timed);
        });
    }
}

/// Seconds of the server's clock.
pub fn time(client: &mut Client) -> i64 {
    let redis::Value::Array(parts) = client.call("TIME") else { panic!("no time") };
    String::from_utf8_lossy(bloomline_harness::bulk(&parts[0])).parse().expect("seconds")
}

/// A number of BF.STATS.
pub fn stat(client: &mut Client, name: &str) -> i64 {
    let value = crate::inspect::stat(client, "k", name);
    let number = value.strip_prefix(':').and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("{name} is {value}"))
}

/// The digest of everything in the filter. It does not depend on a clock.
pub fn digest(client: &mut Client) -> String {
    let digest = client.ask("DEBUG DIGEST-VALUE k");
    assert!(digest.starts_with("*[") && !digest.ends_with("0000000000000000]"), "{digest}");
    digest
}

/// Asserts that two servers hold the same bytes under these keys.
///
/// BF.INFO and BF.DEBUG depend on the clocks of the servers.
pub fn assert_equal(one: &mut Client, other: &mut Client, keys: &[&str]) {
    for client in [&mut *one, &mut *other] {
        client.call("READONLY");
    }
    for key in keys {
        for question in [format!("DEBUG DIGEST-VALUE {key}"), format!("DUMP {key}")] {
            let is_equal = one.call(&question) == other.call(&question);
            assert!(
                is_equal,
                "{question} differs: {}\n{}",
                one.ask(&format!("BF.DEBUG {key}")),
                other.ask(&format!("BF.DEBUG {key}"))
            );
        }
    }
    assert_eq!(one.ask("DEBUG DIGEST"), other.ask("DEBUG DIGEST"));
}
