//! Settings: load arguments on every server, CONFIG on servers that allow settings of modules.

mod config;
mod cuckoo;
mod load_arguments;
mod ways;

use bloomline_harness::{Client, Kind, for_each_server, show};
use redis::Value;

/// Runs the test on servers where modules can register settings: all but Redis 6.2.
fn for_each_server_with_settings(test: impl Fn(&Kind) + Sync) {
    for_each_server(|kind| {
        if !kind.is_before_7() {
            test(kind);
        }
    });
}

fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => panic!("expected a text, got {}", show(other)),
    }
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

/// The parameters of a filter that BF.ADD creates.
fn created(client: &mut Client) -> Parameters {
    client.call("DEL made");
    client.call("BF.ADD made item");
    let debug = client.ask("BF.DEBUG made");
    let rate = debug.split("ratio:").nth(1).unwrap_or_default().trim_end_matches(']').to_owned();
    (client.ask("BF.INFO made CAPACITY"), client.ask("BF.INFO made EXPANSION"), rate)
}

fn parameters(capacity: &str, expansion: &str, rate: &str) -> Parameters {
    (format!("*[{capacity}]"), format!("*[{expansion}]"), rate.to_owned())
}
