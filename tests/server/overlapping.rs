//! What these tests share: filters with equal parameters that hold overlapping items.

use std::ops::Range;

use bloomline_harness::{Client, numbered, show};

use crate::inspect::digest;

/// Options of BF.RESERVE, one for each kind of filter.
pub const KINDS: [&str; 4] =
    ["SEED 7", "SEED 7 NONSCALING", "LAYOUT REDISBLOOM", "LAYOUT REDISBLOOM NONSCALING"];

/// The items of the filters that [`make`] creates.
pub const PARTS: [(&str, Range<usize>); 3] = [("a", 0..200), ("b", 100..300), ("c", 250..400)];

/// All these items.
pub const ALL: usize = 400;

/// The items with these numbers.
pub fn items(range: Range<usize>) -> Vec<Vec<u8>> {
    numbered("item", range.end).split_off(range.start)
}

/// Adds the items with these numbers, all of which are new or present as their filter says.
pub fn add(client: &mut Client, key: &str, range: Range<usize>) {
    let reply = show(&client.items("BF.MADD", key, &items(range)));
    assert!(!reply.contains('-'), "{key}: {reply}");
}

/// Makes the filters of [`PARTS`], and `whole` with the items of all of them.
pub fn make(client: &mut Client, options: &str) {
    client.ok("FLUSHALL");
    // The totals of the module fall when the filters are freed.
    client.wait_for_frees();
    client.ok(&format!("BF.RESERVE whole 0.000001 1000 {options}"));
    for (key, range) in PARTS {
        assert_eq!(client.ask(&format!("COPY whole {key}")), ":1");
        add(client, key, range);
    }
    add(client, "whole", 0..ALL);
}

/// Asserts that a filter has the bits of another one.
pub fn assert_same_bits(client: &mut Client, one: &str, other: &str) {
    // `assert_eq` would print kilobytes.
    // The first chunk is the header, which holds the numbers of items.
    let [one_bits, other_bits] = [one, other].map(|key| client.chunks(key).split_off(1));
    assert!(one_bits == other_bits, "{one} and {other} have different bits");
}

/// Asserts that a filter contains the items with these numbers.
pub fn assert_contains(client: &mut Client, key: &str, range: Range<usize>) {
    let count = range.len();
    let reply = show(&client.items("BF.MEXISTS", key, &items(range)));
    assert_eq!(reply, format!("*[{}]", vec![":1"; count].join(" ")), "{key}");
}

/// The digests of these filters.
pub fn digests<const N: usize>(client: &mut Client, keys: [&str; N]) -> [String; N] {
    keys.map(|key| digest(client, key))
}
