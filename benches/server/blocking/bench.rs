//! The runs of rows on one filter: the time of each, or why the server refused it.

use redis::{Cmd, FromRedisValue, RedisError, Value};
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
    pub row: String,
    state: State,
    layout: Layout,
    /// Milliseconds; or the error of the server, or that it closed the connection.
    pub result: std::result::Result<f64, String>,
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
            "milliseconds": self.result.as_ref().ok(),
            "refused": self.result.as_ref().err(),
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

    fn push(&mut self, row: &str, result: std::result::Result<f64, String>) {
        let Bench { table, ref column, state, layout, .. } = *self;
        let (column, row) = (column.clone(), row.to_owned());
        self.done.push(Run { table, column, row, state, layout, result });
    }

    pub fn add(&mut self, row: &str, milliseconds: f64) {
        self.push(row, Ok(milliseconds));
    }

    pub fn refuse(&mut self, row: &str, why: String) {
        self.push(row, Err(why));
    }

    /// Runs a command once; returns its reply, or `None` if the server returns an error.
    pub fn timed<T: FromRedisValue>(&mut self, row: &str, command: &Cmd) -> Result<Option<T>> {
        match clock::timed(self.server, command) {
            Ok((reply, time)) => {
                self.add(row, time);
                Ok(Some(reply))
            }
            Err(error) => match error.downcast_ref::<RedisError>() {
                // Every error that is not the connection's is a reply of the server.
                Some(reply) if !reply.is_io_error() => {
                    self.refuse(row, reply.to_string());
                    Ok(None)
                }
                _ => Err(error),
            },
        }
    }

    /// The same with a line of a command.
    pub fn line(&mut self, row: &str, line: &str) -> Result<Option<Value>> {
        self.timed(row, &command(line))
    }

    /// The numbers of the runs of a row while there is time.
    pub fn runs(&self) -> impl Iterator<Item = u32> + use<> {
        clock::runs(1, self.most_runs)
    }

    /// Runs rows, each repeatedly; false if the server refused a call.
    pub fn rows(&mut self, rows: &[Row]) -> Result<bool> {
        let mut is_allowed = true;
        for (name, before, call, after) in rows {
            is_allowed &= self.repeat(name, &command(before), &command(call), after)?;
        }
        Ok(is_allowed)
    }

    /// Runs a row of commands repeatedly; false if the server refused a call. Those before and after
    /// may be empty.
    pub fn repeat(&mut self, row: &str, before: &Cmd, call: &Cmd, after: &str) -> Result<bool> {
        for _ in self.runs() {
            if before.args_iter().next().is_some() {
                before.exec(&mut self.server.connection)?;
            }
            if self.timed::<Value>(row, call)?.is_none() {
                return Ok(false);
            }
            self.server.run(after)?;
            self.all_freed()?;
        }
        Ok(true)
    }

    /// Empties the server, and waits until background threads have freed everything.
    pub fn flush(&mut self) -> Result<()> {
        self.server.run("FLUSHALL")?;
        self.all_freed()
    }

    pub fn all_freed(&mut self) -> Result<()> {
        self.server.wait_for_zero("memory", &["lazyfree_pending_objects"])
    }
}
