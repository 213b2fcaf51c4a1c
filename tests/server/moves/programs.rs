//! Programs that add, test and count items, and go where the test sends them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bloomline_harness::{Client, int, show, until};
use redis::Value;

/// The key of the cuckoo filter. All other keys are Bloom filters.
pub const CUCKOO: &str = "members";

/// The socket of the server that programs use.
pub struct Address(Mutex<PathBuf>);

impl Address {
    pub fn new(socket: PathBuf) -> Self {
        Address(Mutex::new(socket))
    }

    /// Sends the programs to another server.
    pub fn set(&self, socket: PathBuf) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = socket;
    }

    fn get(&self) -> PathBuf {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A program that repeats each call until a server executes it.
pub struct Program<'a> {
    address: &'a Address,
    connection: Option<(PathBuf, Client)>,
    acknowledged: BTreeMap<Vec<u8>, usize>,
}

impl<'a> Program<'a> {
    pub fn new(address: &'a Address) -> Self {
        Program { address, connection: None, acknowledged: BTreeMap::new() }
    }

    /// Runs BF.MADD or BF.MEXISTS, or what does the same with a cuckoo filter. After BF.MEXISTS it
    /// also asserts that the filter counts no fewer items than were acknowledged.
    pub fn run(&mut self, args: &[&[u8]]) -> Value {
        let (key, items) = (args[1], &args[2..]);
        let is_addition = args[0] == b"BF.MADD";
        let command: &[&[u8]] = match (is_addition, key == CUCKOO.as_bytes()) {
            (_, false) => &args[..2],
            (true, true) => &[b"CF.INSERT", key, b"ITEMS"],
            (false, true) => &[b"CF.MEXISTS", key],
        };
        let reply = self.call(&[command, items].concat());
        let acknowledged = self.acknowledged.entry(key.to_vec()).or_default();
        if is_addition {
            *acknowledged += items.len();
        } else {
            let expected = *acknowledged;
            let counted = self.count(key);
            assert!(counted >= expected, "{counted} items are counted, {expected} were added");
        }
        reply
    }

    fn count(&mut self, key: &[u8]) -> usize {
        let count = if key == CUCKOO.as_bytes() {
            let Value::Array(info) = self.call(&[b"CF.INFO", key]) else { panic!("no CF.INFO") };
            let name = |value: &Value| show(value).ends_with("Number of items inserted");
            int(&info[info.iter().position(name).expect("the number of items") + 1])
        } else {
            int(&self.call(&[b"BF.CARD", key]))
        };
        usize::try_from(count).expect("a count")
    }

    /// Sends a call to the server of the moment until one executes it.
    pub fn call(&mut self, args: &[&[u8]]) -> Value {
        until("a server to execute a call", || {
            let reply = self.client()?.try_run(args).ok().filter(|reply| !is_elsewhere(reply));
            if reply.is_none() {
                self.connection = None;
            }
            reply
        })
    }

    fn client(&mut self) -> Option<&mut Client> {
        let socket = self.address.get();
        if self.connection.as_ref().is_none_or(|(connected, _)| *connected != socket) {
            self.connection = Some((socket.clone(), connect(&socket)?));
        }
        self.connection.as_mut().map(|(_, client)| client)
    }
}

fn connect(socket: &Path) -> Option<Client> {
    Client::connect(socket).ok()
}

/// True if the server is a replica, or still loads its files.
fn is_elsewhere(reply: &Value) -> bool {
    let shown = show(reply);
    ["-READONLY", "-LOADING", "-MASTERDOWN"].iter().any(|error| shown.starts_with(error))
}
