//! Malicious input: each call is refused or makes a filter that works.

mod boundaries;
mod chunk;
mod commands;
mod counts;
mod cuckoo;
mod damage;
mod edges;
mod found;
mod generations;
mod sizes;
mod value;

use bloomline_harness::{Client, bulk, numbered, show};

/// Runs every command on an accepted filter, saves, loads and deletes it.
fn assert_works(client: &mut Client, key: &str, what: &str) {
    for line in [
        "BF.EXISTS KEY a",
        "BF.CARD KEY",
        "BF.INFO KEY",
        "BF.INFO KEY SIZE",
        "BF.DEBUG KEY",
        "BF.SCANDUMP KEY 0",
        "BF.SCANDUMP KEY 1",
        "TYPE KEY",
    ] {
        let reply = client.ask(&line.replace("KEY", key));
        assert!(!reply.starts_with('-'), "{what}: {line} returned {reply}");
    }
    let found = show(&client.items("BF.MEXISTS", key, &numbered("absent", 100)));
    assert!(found.starts_with("*["), "{what}: {found}");
    assert_saves(client, key, what);
    // The filter may be full or unable to grow, but it must not break.
    client.items("BF.MADD", key, &numbered("more", 100));
    assert_saves(client, key, what);
    assert_eq!(client.ask(&format!("DEL {key}")), ":1", "{what}");
}

fn assert_saves(client: &mut Client, key: &str, what: &str) {
    let dump = client.call(&format!("DUMP {key}"));
    let reply = client.restore("saved", bulk(&dump));
    assert_eq!(reply, "+OK", "{what}: the filter does not load from its own dump");
    let (debug, saved) = (client.ask(&format!("BF.DEBUG {key}")), client.ask("BF.DEBUG saved"));
    assert_eq!(debug, saved, "{what}");
    client.call("DEL saved");
}
