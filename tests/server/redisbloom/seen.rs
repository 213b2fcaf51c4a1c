//! What a client observes of a filter, compared with the recording.

use bloomline_harness::{Client, body_of_dump, bulk, int, seal_dump, show};
use redis::Value;

use bloomline_reference::fixture::{Fixture, absent_items};

/// The bytes of the value, without version and checksum.
pub fn value_of(dump: &[u8]) -> &[u8] {
    let body = body_of_dump(dump);
    &body[..body.len() - 2]
}

/// The payload with the RDB version of the oldest server, because no server refuses an older
/// version.
pub fn sealed_as_old(dump: &[u8]) -> Vec<u8> {
    seal_dump(&[value_of(dump), &[9, 0]].concat())
}

/// Restores a payload; returns the reply as text.
pub fn restore(client: &mut Client, key: &str, dump: &[u8]) -> String {
    show(&client.run(&[&b"RESTORE"[..], key.as_bytes(), b"0", &sealed_as_old(dump)]))
}

/// The lines of BF.DEBUG.
pub fn debug(client: &mut Client, key: &str) -> Vec<String> {
    match client.call(&format!("BF.DEBUG {key}")) {
        Value::Array(lines) => {
            lines.iter().map(|line| String::from_utf8(bulk(line).to_vec()).unwrap()).collect()
        }
        other => panic!("BF.DEBUG {key}: {}", show(&other)),
    }
}

fn info(client: &mut Client, key: &str) -> [Option<i64>; 5] {
    let Value::Array(fields) = client.call(&format!("BF.INFO {key}")) else { panic!("no array") };
    let value = |at: usize| if fields[at] == Value::Nil { None } else { Some(int(&fields[at])) };
    [1, 3, 5, 7, 9].map(value)
}

/// An array of answers as a string of digits.
pub fn digits(value: &Value) -> String {
    match value {
        Value::Array(items) => items.iter().map(|item| int(item).to_string()).collect(),
        other => panic!("no array: {}", show(other)),
    }
}

/// The bytes of the value as the server now writes them.
pub fn dumped(client: &mut Client, key: &str) -> Vec<u8> {
    value_of(bulk(&client.call(&format!("DUMP {key}")))).to_vec()
}

/// Asserts that the key holds the recorded filter: its numbers, answers and bytes.
pub fn assert_recorded(client: &mut Client, key: &str, fixture: &Fixture) {
    let name = &fixture.name;
    assert_eq!(client.ask(&format!("TYPE {key}")), "+MBbloom--", "{name}");
    assert_eq!(
        client.ask(&format!("BF.STATS {key} layout")),
        "*[$6 layout $10 redisbloom]",
        "{name}"
    );
    assert_eq!(debug(client, key), fixture.debug(), "{name}");
    assert_eq!(info(client, key), fixture.info(), "{name}");
    assert_eq!(
        digits(&client.items("BF.MEXISTS", key, &absent_items())),
        fixture.absent_answers(),
        "{name}"
    );
    let added = fixture.items();
    if !added.is_empty() {
        assert!(
            !digits(&client.items("BF.MEXISTS", key, &added)).contains('0'),
            "{name} lost an item"
        );
    }
    assert_eq!(client.scandump(key, 0).1, fixture.header(), "{name}");
    assert!(dumped(client, key) == value_of(&fixture.dump()), "{name}: DUMP gives other bytes");
}

/// Restores every fixture under its name.
pub fn restore_all(client: &mut Client, fixtures: &[Fixture]) {
    for fixture in fixtures {
        assert_eq!(restore(client, &fixture.name, &fixture.dump()), "+OK", "{}", fixture.name);
    }
}
