//! Servers that one test uses after another, because a start takes longer than most tests.

use std::ops::Deref;
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use super::client::Client;
use super::kinds::{Kind, for_each_server};
use super::server::{Server, Setup};

/// The most servers that wait for a test: two per version for two setups.
const MOST_IDLE: usize = 32;

/// The servers that no test uses at the moment, the one used last at the end.
static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

struct Idle {
    server: Server,
    setup: String,
    state: String,
}

/// A server for one test. Dropped, it is emptied and waits for the next test with the same setup.
pub struct Shared(Option<Idle>);

impl Setup {
    /// Runs `test` on a server of every version, as [`Setup::on_each_server`], but on servers that
    /// other tests have used before.
    ///
    /// Only for tests that are independent of the past of the server: its counters since the start,
    /// its memory, its log.
    pub fn on_shared_servers(&self, test: impl Fn(Client, &Server) + Sync) {
        for_each_server(|kind| {
            let server = self.clone().share(kind);
            test(server.resp2(), &server);
        });
    }

    /// A server without keys that other tests may have used, or a new one.
    pub fn share(self, kind: &Kind) -> Shared {
        let setup = format!("{} {self:?}", kind.name);
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let found = idle.iter().rposition(|idle| idle.setup == setup).map(|at| idle.remove(at));
        drop(idle);
        Shared(Some(found.unwrap_or_else(|| {
            let server = self.start(kind);
            let state = state_of(&server);
            Idle { server, setup, state }
        })))
    }
}

impl Deref for Shared {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.0.as_ref().expect("taken only when dropped").server
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The server of a failed test prints its log and ends.
        let Some(used) = self.0.take_if(|_| !thread::panicking()) else { return };
        let mut client = used.server.resp2();
        for line in ["FLUSHALL", "SCRIPT FLUSH", "CONFIG RESETSTAT"] {
            client.ok(line);
        }
        // The totals of INFO count filters that a thread has not freed yet.
        client.wait_for_frees();
        if state_of(&used.server) != used.state {
            return;
        }
        stop_idle_servers_at_exit();
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(used);
        if idle.len() > MOST_IDLE {
            idle.remove(0);
        }
    }
}

/// What FLUSHALL leaves: settings, users, functions, modules. A server in which a test has changed
/// any of it is not used again.
fn state_of(server: &Server) -> String {
    let mut client = server.resp2();
    let lines = ["CONFIG GET *", "ACL LIST", "FUNCTION LIST", "MODULE LIST", "ROLE"];
    lines.map(|line| client.ask(line)).join("\n")
}

/// Statics are not dropped, so the servers would outlive the tests.
fn stop_idle_servers_at_exit() {
    extern "C" fn stop() {
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // SAFETY: the function has the type that `atexit` expects, and does not unwind: dropping a
        // server ignores the errors of killing it and of removing its folder.
        let refused = unsafe { libc::atexit(stop) };
        assert_eq!(refused, 0, "the C library has no room for another function");
    });
}
