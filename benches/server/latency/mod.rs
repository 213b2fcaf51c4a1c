//! How long one call of each command blocks the server: the tables of
//! `docs/explanation/performance.md`, which `benches/published/latency.py` writes.
//!
//! ```text
//! make bench-latency
//! make bench-latency SERVER=valkey-9.1 ARGS="--sizes 1g,10g"
//! make bench-latency ARGS="--sizes largest"       # the last of these tables only
//! ```
//!
//! A server executes one command at a time, so every other client waits for the time of one call.
//! The time is that of the command alone: it excludes reading arguments from the socket and sending
//! the reply, which the server does in small portions between other clients' commands.
//!
//! Each figure is the longest of up to five runs. A row ends early when its time is used up, so
//! large filters have one or two runs. Filters have two states. *Untouched*: just reserved, so that
//! no page is backed by memory yet. *Filled*: every page is written by BF.LOADCHUNK with
//! pseudo-random bits, half of which are set, as in a full filter.
//!
//! The title of a group is that of the table, a colon, the column of the page, and the state. In
//! `largest` it is the row of the page, and the rows of the group are its columns.
//!
//! | file | idea |
//! |---|---|
//! | `sizes` | filters of one layer, by their bytes |
//! | `layers` | filters of hundreds and thousands of layers |
//! | `packed` | calls of packed items, by their number |
//! | `largest` | calls whose time grows with two quantities |
//! | `many` | filters of as many layers or tables as there can be |
//! | `calls` | rows that several of them have |

mod calls;
mod largest;
mod layers;
mod many;
mod packed;
mod sizes;

use crate::column::Column;
use crate::options::Options;
use crate::result::Result;
use crate::row::{Group, Repeat};
use crate::scale::Scale;

/// Whether the filter's pages are backed by memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Untouched,
    Filled,
}

impl State {
    const BOTH: [State; 2] = [State::Untouched, State::Filled];

    fn is_filled(self) -> bool {
        self == State::Filled
    }

    /// The title of a group.
    fn title(self, table: &str, column: &str) -> String {
        format!("{table}: {column}, {}", if self.is_filled() { "filled" } else { "untouched" })
    }
}

/// All groups, or those of the last table.
pub fn groups(options: &Options) -> Result<Vec<Group>> {
    let (scale, runs) = (options.scale, options.rounds);
    let mut groups = Vec::new();
    if options.sizes != "largest" {
        let sizes = crate::sizes::parse(match (options.sizes.as_str(), scale) {
            ("", Scale::Smoke) => "64k,1m",
            ("", _) => "1m,100m,1g,4g,10g",
            (sizes, _) => sizes,
        })?;
        groups.extend(sizes.into_iter().flat_map(sizes::groups));
        groups.extend(layers::groups(scale));
    }
    groups.extend(largest::groups(scale));
    for group in &mut groups {
        group.repeat = Repeat::Runs(runs);
    }
    if options.sizes != "largest" {
        groups.extend(packed::groups(scale, runs));
    }
    Ok(groups.into_iter().map(warmed).collect())
}

/// The group on servers that have run commands on items of a large filter before: the first ones
/// load the code.
fn warmed(group: Group) -> Group {
    let Group { setup, .. } = group;
    let setup = Box::new(move |column: &mut Column| {
        let reserve = "BF.RESERVE probe 0.01 1000000";
        let calls = ["BF.MADD probe a b", "BF.EXISTS probe a", "BF.EXISTS probe c", "DEL probe"];
        for line in [reserve].into_iter().chain(calls) {
            column.server.run(line)?;
        }
        setup(column)
    });
    Group { setup, ..group }
}
