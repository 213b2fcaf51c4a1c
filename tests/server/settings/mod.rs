//! Settings: load arguments on every server, CONFIG on servers that allow settings of modules.

mod config;
mod cuckoo;
mod load_arguments;
mod ways;

use bloomline_harness::{Client, Kind, for_each_server, show};
use redis::Value;

use crate::inspect::text;

/// Runs the test on servers where modules can register settings: all but Redis 6.2.
fn for_each_server_with_settings(test: impl Fn(&Kind) + Sync) {
    for_each_server(|kind| {
        if !kind.is_before_7() {
            test(kind);
        }
    });
}

/// The full name of a setting in CONFIG, and its value.
///
/// The name has the prefix `bf.` on servers that do not allow bare names.
fn get(client: &mut Client, setting: &str) -> (String, String) {
    let reply = client.call(&format!("CONFIG GET *{setting}"));
    match &reply {
        Value::Array(pair) if pair.len() == 2 => (text(&pair[0]), text(&pair[1])),
        other => panic!("CONFIG GET *{setting} returned {}", show(other)),
    }
}

fn set(client: &mut Client, setting: &str, value: &str) -> String {
    let (name, _) = get(client, setting);
    client.ask(&format!("CONFIG SET {name} {value}"))
}

/// Capacity, expansion and error rate of the first layer of a filter.
type Parameters = (String, String, String);

/// The parameters of a filter that is created by an addition, which are the same by each command.
fn created(client: &mut Client) -> Parameters {
    let calls = [
        "BF.ADD made item",
        "BF.MADD made item",
        "BF.INSERT made ITEMS item",
        "BF.BULKADD made LINES item",
    ];
    let made = calls.map(|call| {
        client.call("DEL made");
        client.call(call);
        let debug = client.ask("BF.DEBUG made");
        let rate = debug.split("ratio:").nth(1).unwrap_or_default().trim_end_matches(']');
        let [capacity, expansion] =
            ["CAPACITY", "EXPANSION"].map(|field| client.ask(&format!("BF.INFO made {field}")));
        (capacity, expansion, rate.to_owned())
    });
    assert!(made.iter().all(|one| *one == made[0]), "{made:?}");
    made[0].clone()
}

fn parameters(capacity: &str, expansion: &str, rate: &str) -> Parameters {
    (format!("*[{capacity}]"), format!("*[{expansion}]"), rate.to_owned())
}
