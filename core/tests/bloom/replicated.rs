//! What merges, compactions and estimates compute, bit for bit: both commands are replicated
//! verbatim, so a replica of another release or machine must compute the same.
//!
//! The golden files hold one line per case. If one differs, the arithmetic has changed.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use bloomline_core::bloom::redisbloom::RedisBloomLayer;
use bloomline_core::bloom::redisbloom::geometry::{Options, RedisBloomShape};
use bloomline_core::host::{AnyFilter, Spec};
use bloomline_reference::calls::Calls;
use bloomline_reference::golden::file;
use xxhash_rust::xxh3::xxh3_64;

use crate::filters::{SEED, classic, clone, fixed, new, scaling};

/// Specifications of all sizes and rates.
fn specs() -> Vec<Spec> {
    let mut specs = Vec::new();
    for error_rate in [0.25, 0.01, 1e-3, 1e-6] {
        specs.push(scaling(300, error_rate, 2));
        specs.push(scaling(1_000, error_rate, 1));
        specs.push(fixed(7_000, error_rate));
        specs.push(scaling(20_000, error_rate, 4));
    }
    specs
}

/// A filter of the numbers from `first` to below `end`, as far as it takes them.
fn filled(mut filter: AnyFilter, first: u64, end: u64) -> AnyFilter {
    for item in first..end {
        let _ = filter.insert_item(&item.to_le_bytes(), 0, &mut |_| true);
    }
    filter
}

/// Empty filters of the layouts that can be merged.
fn both(spec: Spec) -> [AnyFilter; 2] {
    [new(spec, SEED).into(), classic(spec).into()]
}

/// A line: the header, the computed rates and the estimate of a filter.
fn line(lines: &mut String, case: &str, result: &str, filter: &AnyFilter) {
    let estimate = filter.estimate_at(0);
    write!(lines, "{case} {result} ").unwrap();
    for byte in filter.encode_header() {
        write!(lines, "{byte:02x}").unwrap();
    }
    let rates: Vec<u8> = filter.fp_rates().iter().flat_map(|it| it.to_le_bytes()).collect();
    let (items, variance) = (estimate.items.to_bits(), estimate.variance.to_bits());
    writeln!(lines, " {items:016x} {variance:016x} {:016x}", xxh3_64(&rates)).unwrap();
}

fn assert_unchanged(name: &str, lines: &str) {
    let golden = file(&format!("merged/{name}.txt"), lines.as_bytes());
    let golden = String::from_utf8(golden).unwrap();
    for (golden, line) in golden.lines().zip(lines.lines()) {
        assert_eq!(golden, line);
    }
    assert_eq!(golden.lines().count(), lines.lines().count());
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn merges_compute_the_same_bytes() {
    let mut lines = String::new();
    for spec in specs() {
        // The capacity per cent of each part, and by how much of it parts overlap.
        for (parts, load, overlap) in
            [(2, 30, 0), (2, 55, 0), (2, 55, 40), (3, 90, 95), (7, 14, 0), (40, 2, 10)]
        {
            let count = spec.capacity * load / 100;
            let step = count * (100 - overlap) / 100;
            for mut filter in both(spec) {
                let all: Vec<AnyFilter> = (1..parts)
                    .map(|part| filled(clone(&filter), part * step, part * step + count))
                    .collect();
                filter = filled(filter, 0, count);
                let others: Vec<&AnyFilter> = all.iter().collect();
                let result = format!("{:?}", filter.union(&others, &mut |_| true));
                let case = format!("{spec:?} {parts} {load} {overlap}");
                line(&mut lines, &case, &result, &filter);
            }
        }
    }
    // Above 16 MiB, where the fill is that of a sample.
    for mut filter in both(fixed(14_000_000, 1e-3)) {
        let other = filled(clone(&filter), 150_000, 450_000);
        filter = filled(filter, 0, 300_000);
        let result = format!("{:?}", filter.union(&[&other], &mut |_| true));
        line(&mut lines, "sampled", &result, &filter);
    }
    assert_unchanged("merges", &lines);
}

#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn compactions_compute_the_same_bytes() {
    let mut lines = String::new();
    for spec in specs() {
        for load in [0, 3, 11, 26, 43, 60, 78, 130, 500] {
            for filter in both(spec) {
                let end = spec.capacity * load / 100;
                let mut filter = filled(filter, 0, end);
                let first = filter.compact().unwrap();
                // What only a further compaction decides.
                filter = filled(filter, end, end + spec.capacity);
                let freed = format!("{first} {}", filter.compact().unwrap());
                line(&mut lines, &format!("{spec:?} {load}"), &freed, &filter);
            }
        }
    }
    assert_unchanged("compactions", &lines);
}

/// The computed rate of links of all sizes with any number of items, and the estimate by any fill.
#[test]
fn rates_and_estimates_of_links_are_unchanged() {
    let (mut rates, mut estimates) = (Vec::new(), Vec::new());
    for options in [5, 4, 0] {
        for exponent in 1..60 {
            let error = 0.9 / 1.8f64.powi(exponent);
            for capacity in [1, 2, 77, 1_000, 123_456] {
                let options = Options::from_bits(options);
                let shape = RedisBloomShape::new(options, capacity, error).unwrap();
                let mut layer = RedisBloomLayer::build(&shape.into()).unwrap();
                for len in 0..120 {
                    let len = shape.capacity * len * len * len / 100_000 + len;
                    rates.extend(layer.fp_rate(len).to_le_bytes());
                }
                let bytes = layer.words().bytes() as usize;
                for share in [1, 9, 50, 97] {
                    let words = layer.words_mut().as_mut_slice();
                    words.iter_mut().take(1 + bytes / 8 * share / 100).for_each(|it| *it |= 0x1571);
                    let by_fill = layer.by_fill(4_096);
                    let of_items = [by_fill.attempted.items, by_fill.attempted.variance];
                    for number in of_items.into_iter().chain([by_fill.rate, by_fill.new_bits]) {
                        estimates.extend(number.to_le_bytes());
                    }
                }
            }
        }
    }
    assert_eq!(xxh3_64(&rates), 0xf3f5_d19a_f607_a31b, "rates");
    assert_eq!(xxh3_64(&estimates), 0xe822_1c07_0d28_7660, "estimates");
}

/// The functions of the standard library that IEEE 754 does not define differ by platform.
#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn core_computes_by_no_mathematics_library() {
    const INEXACT: [&str; 14] = [
        ".powf(",
        ".powi(",
        ".exp(",
        ".exp2(",
        ".exp_m1(",
        ".ln(",
        ".ln_1p(",
        ".log(",
        ".log2(",
        ".log10(",
        ".cbrt(",
        ".mul_add(",
        "libm::",
        ".sin(",
    ];
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            files += 1;
            for name in INEXACT {
                assert!(!code.contains(name), "{name} in {}: use crate::frozen", path.display());
            }
        }
    }
    assert!(files > 60, "{files}");
}
