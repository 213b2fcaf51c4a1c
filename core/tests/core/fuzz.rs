//! The bodies of the fuzz targets, run on the recorded inputs and on random bytes with fixed seeds.

use std::fs;
use std::path::Path;

use bloomline_reference::checks::{decode, model};
use bloomline_reference::random::Random;

/// Runs a body on the recorded inputs of its fuzz target.
fn run_on_seeds(target: &str, body: fn(&[u8]) -> bool) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let seeds: Vec<_> = fs::read_dir(&folder).expect("the seeds").flatten().collect();
    assert!(seeds.len() > 10, "only {} seeds of {target}", seeds.len());
    for seed in seeds {
        body(&fs::read(seed.path()).expect("a seed"));
    }
}

/// Runs a body on `count` random inputs of 16 to `most - 1` bytes; more than one in 1,000 must be
/// accepted.
fn run_on_random_bytes(count: u64, most: u64, body: fn(&[u8]) -> bool) {
    let mut accepted = 0;
    for seed in 0..count {
        let mut random = Random::new(seed);
        let length = 16 + random.below(most - 16);
        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        accepted += u64::from(body(&bytes));
    }
    assert!(accepted > count / 1000, "{accepted} of {count} inputs were accepted");
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn recorded_fuzz_inputs_pass() {
    run_on_seeds("decode", decode::run);
    run_on_seeds("model", model::run);
}

#[test]
fn random_headers_are_refused_or_give_working_filters() {
    if cfg!(miri) {
        run_on_random_bytes(60, 216, decode::run);
    } else {
        run_on_random_bytes(20_000, 2048, decode::run);
    }
}

#[test]
fn random_operations_agree_with_the_reference_models() {
    if cfg!(miri) {
        run_on_random_bytes(3, 40, model::run);
    } else {
        run_on_random_bytes(4_000, 2048, model::run);
    }
}
