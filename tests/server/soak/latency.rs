//! The latency of single commands as a client measures it, and the commands that the server itself
//! logs as slow.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bloomline_harness::{Client, Kind, bulk, int, show};
use hdrhistogram::Histogram;
use redis::Value;

use super::Load;

/// Nanoseconds from a command to its reply, without and with traffic on large filters.
pub struct Pair([Histogram<u64>; 2]);

impl Pair {
    pub fn new() -> Self {
        let empty = || Histogram::new(3).expect("three digits");
        Pair([empty(), empty()])
    }

    /// Prints the percentiles in microseconds.
    pub fn report(&self, kind: &Kind) {
        for (beside, histogram) in
            ["small filters", "small filters and calls of 1000 to large ones"].iter().zip(&self.0)
        {
            let at = |quantile| histogram.value_at_quantile(quantile) as f64 / 1000.0;
            println!(
                "LATENCY | {} | one item, with {beside} | {} commands | p50 {:.0} us, p99 {:.0} us, p99.9 {:.0} us, max {:.0} us",
                kind.name,
                histogram.len(),
                at(0.5),
                at(0.99),
                at(0.999),
                histogram.max() as f64 / 1000.0
            );
        }
    }
}

/// Adds and looks up single items until the load ends.
pub fn probe(socket: &Path, load: &Load, latencies: &Mutex<Pair>) {
    let mut client = Client::connect(socket).expect("a connection");
    let mut histograms = Pair::new();
    client.call("BF.RESERVE probe 0.01 1000000");
    for number in 0_u64.. {
        if !load.continues() {
            break;
        }
        let item = number.to_string();
        for command in ["BF.ADD", "BF.EXISTS"] {
            let is_heavy = load.is_heavy.load(Ordering::Relaxed);
            let start = Instant::now();
            let reply = client.run(&[command, "probe", &item]);
            let took = start.elapsed().as_nanos() as u64;
            histograms.0[usize::from(is_heavy)].record(took).expect("it grows with its values");
            assert!(matches!(reply, Value::Int(0 | 1)), "{}", show(&reply));
        }
    }
    *latencies.lock().expect("no panic") = histograms;
}

/// The commands that took the server itself a millisecond or more: the number of each, and the
/// longest.
pub fn slow_commands(client: &mut Client) -> Vec<String> {
    let mut slow: BTreeMap<String, (u64, i64)> = BTreeMap::new();
    let Value::Array(entries) = client.call("SLOWLOG GET 10000") else { panic!("no log") };
    for entry in &entries {
        let Value::Array(fields) = entry else { panic!("{}", show(entry)) };
        let (microseconds, arguments) = (int(&fields[2]), &fields[3]);
        let Value::Array(arguments) = arguments else { panic!("{}", show(arguments)) };
        let name = String::from_utf8_lossy(bulk(&arguments[0])).to_uppercase();
        let of = slow.entry(format!(
            "{name} of {}",
            if arguments.len() > 20 { "many arguments" } else { "few arguments" }
        ));
        let (count, longest) = of.or_default();
        (*count, *longest) = (*count + 1, (*longest).max(microseconds));
    }
    slow.into_iter()
        .map(|(name, (count, longest))| format!("{name}: {count} above 1 ms, longest {longest} us"))
        .collect()
}
