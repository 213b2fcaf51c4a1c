//! The runs of one row on one filter: the time of each, and the refusal that ends them.

use redis::{Cmd, FromRedisValue, RedisError, Value, cmd};

use super::clock::{self, Repeats};
use super::filters::Layout;
use super::rows::{Cell, Cells, Row, add_run};
use crate::result::Result;
use crate::server::Server;
use crate::wait::until;

/// The largest filter of which the server makes a payload with as many bytes. With the reply and
/// the client's copy of it, DUMP takes five times the filter. In RedisBloom's layout the
/// compression takes as much again.
pub const LARGEST_PAYLOAD: u64 = 1_000_000_000;

/// A second key, for the filters that commands make.
pub const OTHER: &str = "other";

/// What is measured, and the destination of the figures.
pub struct Bench<'a> {
    pub server: &'a mut Server,
    pub cells: &'a mut Cells,
    pub layout: Layout,
    /// The most runs per row.
    pub runs: u32,
}

impl Bench<'_> {
    pub fn add(&mut self, row: Row, milliseconds: f64) {
        add_run(self.cells, row, self.layout, milliseconds);
    }

    pub fn refuse(&mut self, row: Row, why: String) {
        self.cells.insert((row, self.layout), Cell::Refused(why));
    }

    pub fn execute(&mut self, command: &Cmd) -> Result<()> {
        Ok(command.exec(&mut self.server.connection)?)
    }

    /// Runs a command once; returns its reply, or `None` if the server returns an error.
    pub fn timed<T: FromRedisValue>(&mut self, row: Row, command: &Cmd) -> Result<Option<T>> {
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

    /// Empties the server, and waits until background threads have freed everything.
    pub fn flush(&mut self) -> Result<()> {
        self.execute(&cmd("FLUSHALL"))?;
        self.all_freed()
    }

    pub fn all_freed(&mut self) -> Result<()> {
        let server = &mut *self.server;
        until("memory to be freed", || {
            Ok((server.info::<u64>("memory", "lazyfree_pending_objects")? == 0).then_some(()))
        })
    }

    /// Times a command repeatedly, with untimed commands before and after each run.
    pub fn timed_after(
        &mut self,
        row: Row,
        before: &[Cmd],
        command: &Cmd,
        after: &[Cmd],
    ) -> Result<()> {
        let mut repeats = Repeats::of(self.runs);
        while repeats.next() {
            before.iter().try_for_each(|command| self.execute(command))?;
            if self.timed::<Value>(row, command)?.is_none() {
                break;
            }
            after.iter().try_for_each(|command| self.execute(command))?;
            self.all_freed()?;
        }
        Ok(())
    }
}
