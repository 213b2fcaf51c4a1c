//! Calls of packed items, by the number of their items.

use super::State;
use super::calls::FILTER;
use crate::bits::Bits;
use crate::column::Planned;
use crate::items::{Item, Kind};
use crate::packed::Form;
use crate::row::{Group, Repeat, Row};
use crate::scale::Scale;
use crate::server::Server;
use crate::workloads::thousands;

const KIND: Kind = Kind::Bytes20;

/// Name, command, state of the filter, and items of each row.
type Line = (&'static str, &'static str, State, fn(u64) -> Item);

const ROWS: [Line; 3] = [
    ("BF.BULKADD, new items, untouched", "BF.BULKADD", State::Untouched, Item::Stored),
    ("BF.BULKADD, new items, filled", "BF.BULKADD", State::Filled, Item::Stored),
    ("BF.BULKEXISTS, absent items, filled", "BF.BULKEXISTS", State::Filled, Item::Absent),
];

/// A group for each number of items in a call, and row. Every run has other items.
pub fn groups(scale: Scale, most_runs: u32) -> Vec<Group> {
    // The filter has capacity for the items of all runs: it never grows.
    let (counts, capacity): (&[u64], u64) = match scale {
        Scale::Smoke => (&[100, 1_000], 10_000),
        _ => (&[1_000, 10_000, 100_000, 1_000_000, 10_000_000], 100_000_000),
    };
    let mut groups = Vec::new();
    for &items in counts {
        for (name, command, state, item) in ROWS {
            let call = move |_: &mut Server, run| {
                let first = u64::from(run) * items;
                let data = Form::Fixed.pack(KIND, (first..first + items).map(item));
                Ok(Form::Fixed.call(command, FILTER, KIND, &data))
            };
            let title = format!("items in the call: {}", thousands(items));
            let rows = vec![Row::blocking(name, call, "")];
            // Small calls vary more.
            let rounds = most_runs * if items <= 100_000 { 5 } else { 1 };
            let group = Group {
                repeat: Repeat::Rounds(rounds),
                ..Group::new(title, Planned::is_own_layout, rows)
            };
            groups.push(group.with(move |server| {
                server.run(&format!("BF.RESERVE filter 0.01 {capacity}"))?;
                if state.is_filled() {
                    Bits::new(Bits::HALF).fill(server, FILTER)?;
                }
                Ok(())
            }));
        }
    }
    groups
}
