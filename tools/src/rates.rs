//! The classic table of rates of false positives, the formula beside a measurement.
//!
//! Items and seeds are fixed, so every run prints the same.

use std::ops::ControlFlow;

use bloomline_core::Error;
use bloomline_core::host::{Filter, Growth, Spec};

/// Seed of every filter.
const SEED: u64 = 42;

/// The formula of 1970: each of `k` bits of an absent item was set by one of `n` items, in `m`
/// bits.
fn formula(m: f64, n: f64, k: f64) -> f64 {
    (1.0 - (-k * n / m).exp()).powf(k)
}

/// An item that is added, and one that never is.
fn stored(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}
fn absent(number: u64) -> [u8; 8] {
    (u64::MAX - number).to_le_bytes()
}

/// A rate to three significant digits.
fn shown(rate: f64) -> String {
    let digits = (2.0 - rate.log10().floor()).clamp(1.0, 6.0) as usize;
    if rate >= 1e-4 { format!("{rate:.digits$}") } else { format!("{rate:.1e}") }
}

/// Offers the items of these numbers to a filter.
fn offer(filter: &mut Filter, numbers: std::ops::Range<u64>) -> Result<(), Error> {
    let items: Vec<[u8; 8]> = numbers.map(stored).collect();
    let mut failed = None;
    let _ = filter.insert_batch(items.iter().map(|item| &item[..]), &mut |_| true, |answer| {
        failed = failed.or(answer.err());
        ControlFlow::Continue(())
    });
    failed.map_or(Ok(()), Err)
}

/// Share of absent items that the filter reports as present.
fn looked_up(filter: &Filter, lookups: u64) -> f64 {
    let mut hits = 0u64;
    for start in (0..lookups).step_by(100_000) {
        let items: Vec<[u8; 8]> = (start..lookups.min(start + 100_000)).map(absent).collect();
        filter.contains_batch(items.iter().map(|item| &item[..]), |present| {
            hits += u64::from(present)
        });
    }
    hits as f64 / lookups as f64
}

/// What full filters that do not grow take and have in our layout, beside the formula for as many
/// bits and the best number of them set.
pub fn layouts() -> Result<String, Error> {
    const CAPACITY: u64 = 100_000;
    let mut text = String::from(
        "| error rate | bits per item | blocks per item | bits set | classic, same bits | computed | measured |\n|---|---|---|---|---|---|---|\n",
    );
    for (error_rate, lookups) in [
        (0.25, 1_000_000),
        (0.1, 1_000_000),
        (0.03, 1_000_000),
        (0.01, 2_000_000),
        (1e-3, 4_000_000),
        (1e-4, 20_000_000),
    ] {
        let spec = Spec { capacity: CAPACITY, error_rate, growth: Growth::Fixed };
        let mut filter = Filter::new(spec, SEED, &mut |_| true)?;
        // What seems present is not counted: more than the capacity are offered until it says that
        // it is full.
        let mut next = 0;
        while filter.room() > 0 {
            let end = next + filter.room();
            offer(&mut filter, next..end)?;
            next = end;
        }
        let Some(layer) = filter.layers().next() else { continue };
        let geometry = layer.geometry();
        let bits = geometry.bits() as f64 / CAPACITY as f64;
        let best = (1..=64).map(|k| formula(bits, 1.0, f64::from(k))).fold(1.0, f64::min);
        text += &format!(
            "| {error_rate} | {bits:.2} | {} | {} | {} | {} | {} |\n",
            geometry.blocks_per_item(),
            geometry.hashes(),
            shown(best),
            shown(filter.fp_rate()),
            shown(looked_up(&filter, lookups)),
        );
    }
    Ok(text)
}
