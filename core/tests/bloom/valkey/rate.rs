//! The false-positive rate of a grown filter, which docs/how-to/migrating-from-valkey-bloom.md
//! gives.

use bloomline_core::host::valkey::{Seed, ValkeyFilter, ValkeyParams};
use bloomline_reference::calls::Calls;
use bloomline_reference::random::Random;

/// The rate of a filter that has grown from 100 to a million items.
fn grown_rate(seed: Seed) -> f64 {
    const ASKED: u32 = 100_000;
    let params =
        ValkeyParams { expansion: 2, error_rate: 0.01, tightening: 0.5, seed, is_random: true };
    let mut filter = ValkeyFilter::new(100, params, &mut |_| true).expect("a filter");
    let added: Vec<_> = (0..1_000_000u32).map(u32::to_le_bytes).collect();
    filter.insert_each(&mut added.iter().map(AsRef::as_ref), 0, &mut |_| true, &mut |result| {
        _ = result.expect("room")
    });
    let mut found = 0;
    let absent: Vec<_> = (0..ASKED).map(|item| (item + 1_000_000).to_le_bytes()).collect();
    filter.contains_each(&mut absent.iter().map(AsRef::as_ref), 0, &mut |is_in| {
        found += u32::from(is_in)
    });
    f64::from(found) / f64::from(ASKED)
}

#[test]
fn rate_of_a_grown_filter_is_twice_its_target() {
    let mut random = Random::new(7);
    let mut seed = || std::array::from_fn(|_| random.below(256) as u8);
    let rates: Vec<f64> = (0..8).map(|_| grown_rate(seed())).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    assert!((0.0195..0.0225).contains(&mean), "{mean} of {rates:?}");
    assert!(rates.iter().all(|rate| (0.016..0.028).contains(rate)), "{rates:?}");
}
