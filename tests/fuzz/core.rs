//! The bodies of the fuzz targets, run over their seeds and over random bytes.

use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::bodies::{decode, model};
use crate::budget::{Cases, patience};

fn over_the_seeds(target: &str, body: fn(&[u8]) -> bool) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let seeds: Vec<_> = fs::read_dir(&folder).expect("the seeds").flatten().collect();
    assert!(seeds.len() > 10, "only {} seeds of {target}", seeds.len());
    for seed in seeds {
        body(&fs::read(seed.path()).expect("a seed"));
    }
}

fn over_random_bytes(target: &str, count: u64, body: fn(&[u8]) -> bool) {
    let mut cases = Cases::of(target, count);
    while let Some(case) = cases.next() {
        let started = Instant::now();
        cases.accept(body(&case.bytes));
        assert!(started.elapsed() < patience(), "the call took {:?}", started.elapsed());
    }
    cases.assert_not_only_errors();
}

#[test]
fn kept_seeds_find_nothing() {
    over_the_seeds("decode", decode::run);
    over_the_seeds("model", model::run);
}

#[test]
fn random_headers_are_refused_or_become_usable_filters() {
    over_random_bytes("decode", 20_000, decode::run);
}

#[test]
fn random_operations_agree_with_a_set_and_the_models() {
    over_random_bytes("model", 4_000, model::run);
}
