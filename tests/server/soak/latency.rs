//! The latency of single commands as a client measures it, beside calls on large filters, and the
//! commands that the server itself logs as slow.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use bloomline_harness::{Client, Kind, bulk, int, show};
use hdrhistogram::Histogram;
use redis::Value;

use super::Load;

/// The items of a key in a range of numbers.
fn items(key: &str, numbers: Range<u64>) -> Vec<Vec<u8>> {
    numbers.map(|number| format!("{key}:{number}").into_bytes()).collect()
}

/// Nanoseconds from a command to its reply, without and with traffic on large filters.
pub struct Latencies([Histogram<u64>; 2]);

impl Latencies {
    pub fn new() -> Self {
        let empty = || Histogram::new(3).expect("three digits");
        Self([empty(), empty()])
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
pub fn probe(socket: &Path, load: &Load, latencies: &mut Latencies) {
    let mut client = Client::connect(socket).expect("a connection");
    let histogram = &mut latencies.0[usize::from(load.is_heavy)];
    client.call("BF.RESERVE probe 0.01 1000000");
    for number in 0_u64.. {
        if !load.continues() {
            break;
        }
        let item = number.to_string();
        for command in ["BF.ADD", "BF.EXISTS"] {
            let start = Instant::now();
            let reply = client.run(&[command, "probe", &item]);
            let took = start.elapsed().as_nanos() as u64;
            histogram.record(took).expect("it grows with its values");
            assert!(matches!(reply, Value::Int(0 | 1)), "{}", show(&reply));
        }
    }
}

/// Adds to large filters and looks items up in them, 1,000 items per call, and makes the filters
/// anew every 500 rounds.
pub fn heavy(socket: &Path, load: &Load) {
    let mut client = Client::connect(socket).expect("a connection");
    let mut rounds = 0_u64;
    while load.continues() {
        if rounds.is_multiple_of(500) {
            client.call("UNLINK heavy heavy:growing");
            // One filter of 180 MB, and one whose layers become as large.
            client.ok("BF.RESERVE heavy 0.001 100000000");
            client.ok("BF.RESERVE heavy:growing 0.01 1000 EXPANSION 8");
        }
        for key in ["heavy", "heavy:growing"] {
            let some = items(key, rounds * 1000..rounds * 1000 + 1000);
            client.items("BF.MADD", key, &some);
            let found = show(&client.items("BF.MEXISTS", key, &some));
            assert_eq!(found.matches(":1").count(), some.len(), "{key} lost items");
        }
        rounds += 1;
    }
    client.call("UNLINK heavy heavy:growing");
}

/// Commands that took the server itself a millisecond or more: the number of each, and the longest
/// in microseconds.
#[derive(Default)]
pub struct Slow(BTreeMap<String, (u64, i64)>);

impl Slow {
    /// Adds the entries of the server's log, and empties that.
    pub fn collect(&mut self, client: &mut Client) {
        let Value::Array(entries) = client.call("SLOWLOG GET 10000") else { panic!("no log") };
        client.ok("SLOWLOG RESET");
        for entry in &entries {
            let Value::Array(fields) = entry else { panic!("{}", show(entry)) };
            let (microseconds, arguments) = (int(&fields[2]), &fields[3]);
            let Value::Array(arguments) = arguments else { panic!("{}", show(arguments)) };
            let name = String::from_utf8_lossy(bulk(&arguments[0])).to_uppercase();
            let length = if arguments.len() > 20 { "many arguments" } else { "few arguments" };
            let (count, longest) = self.0.entry(format!("{name} of {length}")).or_default();
            (*count, *longest) = (*count + 1, (*longest).max(microseconds));
        }
    }

    /// Prints a line for each command.
    pub fn report(&self, kind: &Kind) {
        for (name, (count, longest)) in &self.0 {
            println!("SLOW | {} | {name}: {count} above 1 ms, longest {longest} us", kind.name);
        }
    }
}
