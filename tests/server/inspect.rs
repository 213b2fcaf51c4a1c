//! Queries that several tests share: the digest of a filter, its numbers, the totals of the module.

use bloomline_harness::{Client, show};
use redis::Value;

/// The server's digest of one key's value.
pub fn digest(client: &mut Client, key: &str) -> String {
    let digest = client.ask(&format!("DEBUG DIGEST-VALUE {key}"));
    let zeros = "0".repeat(40);
    assert!(digest.len() > zeros.len() && !digest.contains(&zeros), "no digest of {key}: {digest}");
    digest
}

/// The text in a reply, in either protocol.
pub fn text(reply: &Value) -> String {
    match reply {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::VerbatimString { text, .. } | Value::SimpleString(text) => text.clone(),
        other => panic!("expected a text, got {}", show(other)),
    }
}

/// One number of the module's INFO section, by its name without the prefix `bf_`.
pub fn number(client: &mut Client, name: &str) -> u64 {
    let [number] = numbers(client, [name]);
    number
}

/// Several numbers of the module's INFO section, of one moment.
pub fn numbers<const N: usize>(client: &mut Client, names: [&str; N]) -> [u64; N] {
    let section = text(&client.call("INFO bf"));
    names.map(|name| {
        let line = section
            .lines()
            .find_map(|line| line.strip_prefix("bf_")?.strip_prefix(name)?.strip_prefix(':'));
        let line = line.unwrap_or_else(|| panic!("no bf_{name} in\n{section}"));
        line.parse().unwrap_or_else(|why| panic!("bf_{name}:{line}: {why}"))
    })
}

/// The totals over all filters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Filters in all databases.
    pub filters: u64,
    /// Their layers.
    pub layers: u64,
    /// Inserted items.
    pub items: u64,
    /// Items for which they are sized.
    pub capacity: u64,
    /// Bytes of all their parts.
    pub bytes: u64,
}

/// The totals in INFO.
pub fn totals(client: &mut Client) -> Totals {
    let names = ["filters", "layers", "items", "capacity", "bytes"];
    let [filters, layers, items, capacity, bytes] = numbers(client, names);
    Totals { filters, layers, items, capacity, bytes }
}

/// The number in one field of BF.INFO.
pub fn info_field(client: &mut Client, key: &str, field: &str) -> u64 {
    only_number(client, &format!("BF.INFO {key} {field}"))
}

/// The value of one field of BF.STATS, in RESP2.
pub fn stat(client: &mut Client, key: &str, name: &str) -> String {
    let reply = client.ask(&format!("BF.STATS {key} {name}"));
    let value = reply.strip_prefix(&format!("*[${} {name} ", name.len()));
    let value = value.and_then(|value| value.strip_suffix(']'));
    value.unwrap_or_else(|| panic!("BF.STATS {key} {name} returned {reply}")).to_owned()
}

/// The number in the reply to BF.INFO or CF.INFO of one field.
pub fn only_number(client: &mut Client, command: &str) -> u64 {
    let reply = client.ask(command);
    let digits = reply.trim_start_matches("*[:").trim_end_matches(']');
    digits.parse().unwrap_or_else(|why| panic!("{command} returned {reply}: {why}"))
}

/// A reply to BF.DEBUG without the ages of generations, and without the lengths of its lines, which
/// depend on them.
pub fn without_ages(debug: &str) -> String {
    let is_constant = |word: &&str| !word.starts_with("age:") && !word.starts_with('$');
    debug.split([' ', ']']).filter(is_constant).collect::<Vec<_>>().join(" ")
}

/// Bytes of each layer, oldest first, by BF.DEBUG.
pub fn layer_bytes(client: &mut Client, key: &str) -> Vec<u64> {
    let debug = client.ask(&format!("BF.DEBUG {key}"));
    let sizes = debug.split("bytes:").skip(1).filter_map(|rest| rest.split(' ').next());
    sizes.map(|size| size.parse().expect("bytes")).collect()
}

/// The sum of BF.INFO over these keys.
pub fn sum_of_infos(client: &mut Client, keys: &[&str]) -> Totals {
    let mut sum = |field| keys.iter().map(|key| info_field(client, key, field)).sum();
    Totals {
        filters: keys.len() as u64,
        layers: sum("FILTERS"),
        items: sum("ITEMS"),
        capacity: sum("CAPACITY"),
        bytes: sum("SIZE"),
    }
}

/// The argument at this index of a command line.
pub fn word(line: &str, at: usize) -> &str {
    line.split(' ').nth(at).unwrap_or_else(|| panic!("no argument {at} in {line}"))
}
