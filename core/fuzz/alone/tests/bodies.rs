//! The bodies of the fuzz targets over a few random bytes, for Miri: a thousand times slower, and
//! blind to no access.

#[path = "../../src/lib.rs"]
mod bodies;
#[allow(dead_code)]
#[path = "../../../tests/server/harness/random.rs"]
mod random;

use random::Random;

/// Runs a body over so many inputs of so many bytes at most; some must get inside.
fn run(count: u64, bytes: u64, body: fn(&[u8]) -> bool) {
    let accepted = (0..count)
        .filter(|&seed| {
            let mut random = Random(Random(seed).next());
            let length = 16 + random.next() % bytes;
            body(&random.bytes(length as usize))
        })
        .count();
    assert!(accepted > 0);
}

#[test]
fn headers_from_outside() {
    run(60, 200, bodies::decode::run);
}

#[test]
fn programs_of_operations() {
    run(3, 24, bodies::model::run);
}
