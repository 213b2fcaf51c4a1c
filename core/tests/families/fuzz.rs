//! The bodies of the fuzz targets, run on the recorded inputs and on random bytes with fixed seeds.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

use bloomline_reference::checks::{decode, valkey, values};
use bloomline_reference::life::run::run_bytes;
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

/// Prints the seed of a case that panics.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input of seed {}", self.0);
        }
    }
}

/// The longest that one case may take. On filters this small a case takes microseconds; one that
/// takes seconds here would take hours on real filters. Miri is a thousand times as slow.
const PATIENCE: Duration = Duration::from_secs(if cfg!(miri) { 600 } else { 120 });

/// Runs a body on `count` random inputs whose length in bytes is in a range.
///
/// Of 100 inputs or more, more than one of 20 must be accepted; of fewer, at least one.
fn run_on_random_bytes(count: u64, lengths: Range<u64>, body: fn(&[u8]) -> bool) {
    let mut accepted = 0;
    for seed in 0..count {
        let seed = Seed(seed);
        let mut random = Random::new(seed.0);
        let length = lengths.start + random.below(lengths.end - lengths.start);
        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        let start = Instant::now();
        accepted += u64::from(body(&bytes));
        assert!(start.elapsed() < PATIENCE, "it took {:?}", start.elapsed());
    }
    let least = if count < 100 { 0 } else { count / 20 };
    assert!(accepted > least, "{accepted} of {count} inputs were accepted");
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn recorded_fuzz_inputs_pass() {
    run_on_seeds("decode", decode::run);
    run_on_seeds("model", run_bytes);
    run_on_seeds("valkey", valkey::run);
    run_on_seeds("values", values::run);
}

#[test]
fn random_headers_are_refused_or_give_working_filters() {
    if cfg!(miri) {
        run_on_random_bytes(60, 16..216, decode::run);
    } else {
        run_on_random_bytes(6_000, 64..2112, decode::run);
    }
}

#[test]
fn random_values_are_refused_or_give_working_filters() {
    run_on_random_bytes(if cfg!(miri) { 30 } else { 3_000 }, 64..600, values::run);
}

#[test]
fn random_filters_of_valkey_are_refused_or_work() {
    if cfg!(miri) {
        run_on_random_bytes(30, 64..400, valkey::run);
    } else {
        run_on_random_bytes(3_000, 64..600, valkey::run);
    }
}

#[test]
fn bytes_are_lives_of_filters() {
    if cfg!(miri) {
        run_on_random_bytes(3, 16..40, run_bytes);
    } else {
        run_on_random_bytes(120, 64..2112, run_bytes);
    }
}
