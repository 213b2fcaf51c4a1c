//! What the bench consists of: groups of rows. A row has a setup, calls, and what is measured of
//! them.

use redis::Cmd;

use crate::column::{Column, Planned};
use crate::result::Result;
use crate::sample::blocked;
use crate::server::Server;

/// The figures of a run of a row. In tables of times: the time, page faults per item, and the share
/// of items answered with 1 if that is a false-positive rate; the last two may be missing. None if
/// the row cannot be measured.
pub type Figures = Vec<f64>;

/// What is done with a server, and may fail.
type Work<T> = Box<dyn Fn(&mut Column) -> Result<T>>;

/// What is measured with a server in the run with this number.
type Measure = Box<dyn Fn(&mut Column, u32) -> Result<Figures>>;

/// How often rows run.
#[derive(Clone, Copy)]
pub enum Repeat {
    /// All rows in turn, and this many times.
    Rounds(u32),
    /// Each row until its time is used up: once, and up to this many times.
    Runs(u32),
}

/// Rows that run on the same servers, which are started for them.
pub struct Group {
    pub title: String,
    /// Names of the figures and their digits after the point; empty in a table of times.
    pub heads: &'static [(&'static str, usize)],
    /// The columns that it has.
    pub has: fn(&Planned) -> bool,
    /// True if the servers have a core for themselves. Others may use all cores, since a server
    /// that frees in the background or saves in a child would share one core with it.
    pub is_pinned: bool,
    pub repeat: Repeat,
    /// True if rows need the rows before them, so that `--only` takes all of them or none.
    pub is_whole: bool,
    /// True for a further line with the averages of all rows.
    pub has_average: bool,
    pub setup: Work<()>,
    pub rows: Vec<Row>,
    /// The bytes per item after the last run; `None` without a filter that the rows share.
    pub bytes_per_item: Work<Option<f64>>,
}

/// A row of a group.
pub struct Row {
    pub name: String,
    /// Items per call and in all, in tables of times per item.
    pub items: Option<(u64, u64)>,
    pub has: Box<dyn Fn(&Column) -> bool>,
    /// Prepares the calls, makes them, and measures them.
    pub measure: Measure,
}

impl Group {
    /// A group of rows without a setup, in rounds on servers that may use all cores.
    pub fn new(title: impl Into<String>, has: fn(&Planned) -> bool, rows: Vec<Row>) -> Group {
        Group {
            title: title.into(),
            heads: &[],
            has,
            is_pinned: false,
            repeat: Repeat::Rounds(1),
            is_whole: false,
            has_average: false,
            setup: Box::new(|_| Ok(())),
            rows,
            bytes_per_item: Box::new(|_| Ok(None)),
        }
    }

    pub fn with(self, setup: impl Fn(&mut Server) -> Result<()> + 'static) -> Group {
        Group { setup: Box::new(move |column| setup(&mut column.server)), ..self }
    }
}

impl Row {
    /// A row that every column has.
    pub fn of(
        name: impl Into<String>,
        measure: impl Fn(&mut Server, u32) -> Result<Figures> + 'static,
    ) -> Row {
        Row {
            name: name.into(),
            items: None,
            has: Box::new(|_| true),
            measure: Box::new(move |column, run| measure(&mut column.server, run)),
        }
    }

    /// A row whose figure is the milliseconds of one call, which blocks the server. `call` prepares
    /// each run, and `after` is a line of a command that ends it.
    pub fn blocking(
        name: impl Into<String>,
        call: impl Fn(&mut Server, u32) -> Result<Cmd> + 'static,
        after: &'static str,
    ) -> Row {
        Row::of(name, move |server, run| {
            let call = call(server, run)?;
            let milliseconds = blocked(server, &call)?;
            server.run(after)?;
            server.wait_for_zero("memory", &["lazyfree_pending_objects"])?;
            Ok(vec![milliseconds])
        })
    }

    /// The row on these columns only.
    pub fn only_on(self, has: impl Fn(&Column) -> bool + 'static) -> Row {
        Row { has: Box::new(has), ..self }
    }
}
