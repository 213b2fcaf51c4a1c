//! What these tests share: headers whose fields are changed, filters of every kind, models.

use bloomline_harness::Client;
use redis::Value;

/// An error rate so small that no reply of these tests is a false positive.
pub const RATE: &str = "0.000000001";

/// Where fields stand in a header of version 2; see `core/src/bloom/window/header.rs`.
pub const REFRESHES: usize = 14;
pub const DROPPED_BYTES: usize = 64;
pub const GENERATIONS: usize = 80;
pub const GENERATION_BYTES: usize = 32;

/// A number of 64 bits in a header.
pub fn number_at(header: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(header[at..at + 8].try_into().expect("eight bytes"))
}

/// Replaces a number of 64 bits in a header.
pub fn set_number(header: &mut [u8], at: usize, number: u64) {
    header[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// The number of generations in a header.
pub fn present(header: &[u8]) -> usize {
    u32::from_le_bytes(header[20..24].try_into().expect("four bytes")) as usize
}

/// The header of a filter.
pub fn header(client: &mut Client, key: &str) -> Vec<u8> {
    client.scandump(key, 0).1
}

/// Makes a filter older: replaces it by one whose generations were opened `millis` earlier.
pub fn age(client: &mut Client, key: &str, millis: u64) {
    let mut parts = client.chunks(key);
    let header = &mut parts[0].1;
    for generation in 0..present(header) {
        let at = GENERATIONS + GENERATION_BYTES * generation;
        let opened = number_at(header, at);
        set_number(header, at, opened - millis);
    }
    assert_eq!(client.ask(&format!("DEL {key}")), ":1");
    for (iterator, data) in &parts {
        assert_eq!(client.loadchunk(key, *iterator, data), "+OK", "{key} at {iterator}");
    }
}

/// The answers of BF.MADD, BF.INSERT or BF.MEXISTS in RESP2.
pub fn answers(reply: &Value) -> Vec<bool> {
    let Value::Array(items) = reply else { panic!("an array, not {reply:?}") };
    let answer = |item: &Value| match item {
        Value::Int(0) => false,
        Value::Int(1) => true,
        other => panic!("an answer, not {other:?}"),
    };
    items.iter().map(answer).collect()
}
