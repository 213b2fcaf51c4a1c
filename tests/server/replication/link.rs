//! A server with a recording replica.

use bloomline_harness::{Client, Replica, Server, Setup};

/// A server, a connection to it, and a replica that records what the server replicates.
pub struct Link {
    pub server: Server,
    pub client: Client,
    pub replica: Replica,
}

impl Link {
    /// Starts a server of each version, attaches the replica, and runs `test`.
    pub fn on_each_server(setup: Setup, test: impl Fn(Self) + Sync) {
        setup.on_each_server(|client, server| {
            test(Self { client, replica: Replica::attach(&server), server });
        });
    }

    /// Runs a command, and returns what it replicated, without the frame of a transaction.
    pub fn writes(&mut self, line: &str) -> Vec<String> {
        self.client.call(line);
        self.pending()
    }

    /// What was replicated since the last call, without the frame of transactions.
    pub fn pending(&mut self) -> Vec<String> {
        self.replica.writes(&self.server)
    }
}
