//! Malicious input: each call is refused or makes a filter that works. The core's tests have the
//! numbers that are refused: `core/tests/families/headers`.

mod boundaries;
mod commands;
mod damage;
mod edges;
mod forged;
mod found;
mod sizes;
mod value;

use bloomline_harness::Client;

use crate::filters::{change, observe};
use crate::inspect::digest;

/// Runs every command on an accepted filter, and saves, loads and deletes it. It may refuse items
/// and rotations, but must answer. The server has DEBUG.
pub fn assert_works(client: &mut Client, key: &str, what: &str) {
    for reply in observe(client, key) {
        assert!(!reply.starts_with('-'), "{what}: {reply}");
    }
    for _ in 0..2 {
        assert_saves(client, key, what);
        change(client, key);
    }
    assert_saves(client, key, what);
    assert_eq!(client.ask(&format!("DEL {key}")), ":1", "{what}");
}

/// Asserts that a filter is loaded from its own dump, and from its own chunks.
fn assert_saves(client: &mut Client, key: &str, what: &str) {
    let dump = client.dump(key);
    assert_restores(client, key, &dump, what);
    client.copy_by_chunks(key, "loaded");
    assert_eq!(digest(client, "loaded"), digest(client, key), "{what}: its own chunks");
    assert_eq!(client.ask("DEL loaded"), ":1");
}

/// Asserts that a filter is loaded from its own dump.
pub fn assert_restores(client: &mut Client, key: &str, dump: &[u8], what: &str) {
    assert_eq!(client.restore("saved", dump), "+OK", "{what}: its own dump");
    assert_eq!(digest(client, "saved"), digest(client, key), "{what}: its own dump");
    assert_eq!(client.ask("DEL saved"), ":1");
}
