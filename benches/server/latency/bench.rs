//! The runs of rows on one filter: the time of each.

use redis::{Cmd, Value};
use serde_json::json;

use super::clock;
use super::filters::{Layout, State};
use crate::result::Result;
use crate::server::{Server, command};

/// A row: its name in the table, and lines of commands. Those before and after each run of `call`
/// are not timed, and may be empty.
pub type Row<'a> = (&'a str, &'a str, &'a str, &'a str);

/// One run of a row on one filter.
pub struct Run {
    /// One of the tables of the page.
    table: &'static str,
    column: String,
    row: String,
    state: State,
    layout: Layout,
    milliseconds: f64,
}

impl Run {
    /// The run as `benches/published/latency.py` reads it.
    pub fn json(&self) -> serde_json::Value {
        json!({
            "table": self.table,
            "column": self.column,
            "row": self.row,
            "is_filled": self.state == State::Filled,
            "is_redisbloom": self.layout == Layout::RedisBloom,
            "milliseconds": self.milliseconds,
        })
    }
}

/// What is measured, and the destination of the figures.
pub struct Bench<'a> {
    pub server: &'a mut Server,
    pub done: Vec<Run>,
    table: &'static str,
    column: String,
    pub state: State,
    pub layout: Layout,
    /// The most runs per row.
    pub most_runs: u32,
}

impl Bench<'_> {
    pub fn new(server: &mut Server, most_runs: u32) -> Bench<'_> {
        let (table, column) = ("", String::new());
        let (state, layout) = (State::Untouched, Layout::Bloomline);
        Bench { server, done: Vec::new(), table, column, state, layout, most_runs }
    }

    /// Begins a column of a table, with filters of this state and layout.
    pub fn begin(&mut self, table: &'static str, column: String, layout: Layout, state: State) {
        eprintln!("{table} {column}, {layout:?}, {state:?}");
        (self.table, self.column, self.layout, self.state) = (table, column, layout, state);
    }

    pub fn add(&mut self, row: &str, milliseconds: f64) {
        let Bench { table, ref column, state, layout, .. } = *self;
        let (column, row) = (column.clone(), row.to_owned());
        self.done.push(Run { table, column, row, state, layout, milliseconds });
    }

    /// Runs a command once.
    pub fn timed(&mut self, row: &str, command: &Cmd) -> Result<Value> {
        let (reply, time) = clock::timed(self.server, command)?;
        self.add(row, time);
        Ok(reply)
    }

    /// The numbers of the runs of a row while there is time.
    pub fn runs(&self) -> impl Iterator<Item = u32> + use<> {
        clock::runs(self.most_runs)
    }

    /// Runs rows, each repeatedly.
    pub fn rows(&mut self, rows: &[Row]) -> Result<()> {
        rows.iter().try_for_each(|&(name, before, call, after)| {
            self.repeat(name, before, &command(call), after)
        })
    }

    /// Runs a row repeatedly, the call of which may have arguments that are no words.
    pub fn repeat(&mut self, row: &str, before: &str, call: &Cmd, after: &str) -> Result<()> {
        for _ in self.runs() {
            self.server.run(before)?;
            self.timed(row, call).map_err(|error| format!("{row}: {error}"))?;
            self.server.run(after)?;
            self.all_freed()?;
        }
        Ok(())
    }

    /// Empties the server, and waits until background threads have freed everything.
    pub fn flush(&mut self) -> Result<()> {
        self.server.run("FLUSHALL")?;
        self.all_freed()
    }

    fn all_freed(&mut self) -> Result<()> {
        self.server.wait_for_zero("memory", &["lazyfree_pending_objects"])
    }
}
