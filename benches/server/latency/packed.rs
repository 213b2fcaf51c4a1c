//! Calls of packed items, by the number of their items, in a second table.

use redis::Value;

use super::bench::Bench;
use super::filters::{FILTER, State};
use crate::bits::Bits;
use crate::items::{Item, Kind};
use crate::packed::Form;
use crate::result::Result;
use crate::scale::Scale;

const KIND: Kind = Kind::Bytes20;

/// Name, command, state of the filter, and items of each row.
type Row = (&'static str, &'static str, State, fn(u64) -> Item);

const ROWS: [Row; 3] = [
    ("BF.BULKADD, new items, untouched", "BF.BULKADD", State::Untouched, Item::Stored),
    ("BF.BULKADD, new items, filled", "BF.BULKADD", State::Filled, Item::Stored),
    ("BF.BULKEXISTS, absent items, filled", "BF.BULKEXISTS", State::Filled, Item::Absent),
];

/// The numbers of items of a call, and the items for which the filter is reserved: it does not grow
/// in any run.
pub fn sizes(scale: Scale) -> (&'static [u64], u64) {
    match scale {
        Scale::Smoke => (&[100, 1_000], 10_000),
        _ => (&[1_000, 10_000, 100_000, 1_000_000, 10_000_000], 100_000_000),
    }
}

/// Measures the rows in calls of this many items. Every run has other items.
pub fn measure(bench: &mut Bench, items: u64, capacity: u64) -> Result<()> {
    let bits = Bits::new(1);
    // Small calls vary more.
    let runs = u64::from(bench.most_runs) * if items <= 100_000 { 5 } else { 1 };
    for (row, command, state, item) in ROWS {
        bench.server.run("DEL filter")?;
        bench.server.run(&format!("BF.RESERVE filter 0.01 {capacity}"))?;
        if state == State::Filled {
            bits.fill(bench.server, FILTER)?;
        }
        for run in 0..runs {
            let data = Form::Fixed.pack(KIND, (run * items..(run + 1) * items).map(item));
            let call = Form::Fixed.call(command, FILTER, KIND, &data);
            match bench.timed(row, &call)? {
                Value::Array(parts) if parts.first() == Some(&Value::Int(items as i64)) => {}
                other => return Err(format!("{command} of {items} items: {other:?}").into()),
            }
        }
    }
    Ok(())
}
