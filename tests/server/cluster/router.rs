//! A client of a cluster: follows redirections, and retries while the nodes reorganise.

use std::collections::HashMap;
use std::path::PathBuf;

use bloomline_harness::{Client, show, until};
use redis::Value;

/// Connections to the nodes of a cluster, by port.
pub struct Router {
    sockets: Vec<(u16, PathBuf)>,
    open: HashMap<u16, Client>,
    /// The port of the node that answered last.
    at: u16,
    /// Redirections followed, by their kind.
    followed: HashMap<&'static str, usize>,
}

impl Router {
    /// A client of the nodes with these ports and sockets.
    pub fn new(sockets: Vec<(u16, PathBuf)>) -> Self {
        let at = sockets[0].0;
        Router { sockets, open: HashMap::new(), at, followed: HashMap::new() }
    }

    /// Runs a command on the node that accepts it.
    pub fn run(&mut self, args: &[&[u8]]) -> Value {
        let mut asking = None;
        until("a node that accepts the command", || {
            let node = asking.unwrap_or(self.at);
            let Some(reply) = self.try_on(node, asking.take().is_some(), args) else {
                self.open.remove(&node);
                self.at = self.after(node);
                return None;
            };
            let shown =
                if matches!(reply, Value::ServerError(_)) { show(&reply) } else { String::new() };
            let mut words = shown.split(' ');
            match words.next() {
                Some("-MOVED") => {
                    self.at = port(words.nth(1));
                    *self.followed.entry("MOVED").or_default() += 1;
                }
                Some("-ASK") => {
                    asking = Some(port(words.nth(1)));
                    *self.followed.entry("ASK").or_default() += 1;
                }
                // The node or another one will accept the command soon.
                Some("-TRYAGAIN") => {}
                Some("-CLUSTERDOWN" | "-LOADING" | "-MASTERDOWN" | "-READONLY") => {
                    self.at = self.after(node)
                }
                _ => return Some(reply),
            }
            None
        })
    }

    /// Runs a command on the node that answered the last one.
    pub fn run_there(&mut self, args: &[&[u8]]) -> Option<Value> {
        self.try_on(self.at, false, args)
    }

    /// The number of redirections of this kind, `MOVED` or `ASK`.
    pub fn followed(&self, word: &str) -> usize {
        self.followed.get(word).copied().unwrap_or_default()
    }

    fn try_on(&mut self, node: u16, is_asking: bool, args: &[&[u8]]) -> Option<Value> {
        let client = match self.open.entry(node) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let (_, socket) =
                    self.sockets.iter().find(|(port, _)| *port == node).expect("a node");
                entry.insert(Client::connect(socket).ok()?)
            }
        };
        if is_asking {
            client.try_run(&["ASKING"]).ok()?;
        }
        client.try_run(args).ok()
    }

    fn after(&self, node: u16) -> u16 {
        let here = self.sockets.iter().position(|(port, _)| *port == node).expect("a node");
        self.sockets[(here + 1) % self.sockets.len()].0
    }
}

/// The port in `127.0.0.1:7001`.
fn port(address: Option<&str>) -> u16 {
    let port = address.and_then(|address| address.rsplit(':').next()?.parse().ok());
    port.unwrap_or_else(|| panic!("no port in {address:?}"))
}
