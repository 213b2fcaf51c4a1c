//! The order of execution: group by group, round by round, row by row, column by column.

use std::collections::HashMap;

use redis::cmd;

use crate::column::Column;
use crate::cores::Cores;
use crate::costs::{self, Sheet};
use crate::dialect::Dialect;
use crate::groups::groups;
use crate::measure::{self, Sample};
use crate::options::Options;
use crate::payload::Payload;
use crate::progress::Progress;
use crate::result::Result;
use crate::scale::Scale;
use crate::server::Server;
use crate::workloads::{Case, Group, Op, STANDING, Shape};

/// The result of a row on a column.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    pub samples: Vec<Sample>,
    /// Why there are no more samples, if the column failed in this row.
    pub failure: Option<String>,
}

impl Cell {
    /// The median of the times in nanoseconds per item; `None` without samples.
    pub fn median(&self) -> Option<f64> {
        median(self.samples.iter().map(|sample| sample.nanoseconds))
    }

    /// The median of the page faults per item; `None` without samples.
    pub fn median_faults(&self) -> Option<f64> {
        median(self.samples.iter().map(|sample| sample.faults))
    }
}

/// The median of some values; `None` without values.
pub fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().saturating_sub(1) / 2)?;
    Some((lower + upper) / 2.0)
}

/// One line of the table.
pub struct Row {
    pub case: Case,
    /// In the order of the columns; `None` if a column has no such row.
    pub cells: Vec<Option<Cell>>,
}

impl Row {
    /// The multiple of the baseline: the median of the rounds, each relative to the baseline of the same
    /// round.
    ///
    /// A machine that is slow for some rounds therefore changes it less than it changes the times.
    pub fn multiple(&self, column: usize) -> Option<f64> {
        let baseline = self.cells.first()?.as_ref()?;
        let cell = self.cells.get(column)?.as_ref()?;
        let rounds = cell.samples.iter().zip(&baseline.samples);
        median(rounds.map(|(sample, baseline)| sample.nanoseconds / baseline.nanoseconds))
    }
}

/// One part of the table.
pub struct Table {
    pub title: String,
    pub rows: Vec<Row>,
    /// Bytes per item of the standing filter (MEMORY USAGE), in the order of the columns.
    pub bytes: Vec<Option<f64>>,
}

/// All results.
pub struct Outcome {
    pub columns: Vec<String>,
    /// True for columns that must complete every row.
    pub ours: Vec<bool>,
    pub tables: Vec<Table>,
    pub sheets: Vec<Sheet>,
}

impl Outcome {
    /// What could not be measured and why, a line each. True with those that the baseline or this
    /// module must complete.
    pub fn failures(&self) -> Vec<(bool, String)> {
        let mut failures = Vec::new();
        for table in &self.tables {
            for row in &table.rows {
                let cells = self.columns.iter().zip(&self.ours).zip(&row.cells);
                for ((name, &is_ours), cell) in cells {
                    if let Some(why) = cell.as_ref().and_then(|cell| cell.failure.as_ref()) {
                        let line = format!("{name}, {}, {}: {why}", table.title, row.case.name());
                        failures.push((is_ours, line));
                    }
                }
            }
        }
        for sheet in &self.sheets {
            for line in &sheet.lines {
                if let Err(why) = &line.figures {
                    failures.push((line.is_ours, format!("{}, {}: {why}", line.name, sheet.title)));
                }
            }
        }
        failures
    }
}

/// Runs all groups that the options select.
pub fn run(options: &Options, columns: &mut [Column], cores: &Cores) -> Result<Outcome> {
    let mut chosen = groups(options.scale, options.items);
    if let Some(text) = &options.only {
        for group in &mut chosen {
            let title = group.title.clone();
            // The first row of the tiny filters creates them, so that group runs completely or not
            // at all.
            let is_whole = title.contains(text) || matches!(group.shape, Shape::Tiny { .. });
            group
                .cases
                .retain(|case| title.contains(text) || (!is_whole && case.name().contains(text)));
        }
        chosen.retain(|group| !group.cases.is_empty());
    }
    let steps: usize = chosen
        .iter()
        .map(|group| columns.len() * (1 + group.cases.len() * options.rounds as usize))
        .sum();
    let subjects = costs::subjects(options, columns, cores);
    let experiments = costs::chosen(options);
    if chosen.is_empty() && experiments.is_empty() {
        return Err("--only leaves nothing of this scale; --full has more rows".into());
    }
    let mut progress = Progress::new(steps + subjects.len() * experiments.len());
    let mut tables = Vec::new();
    for group in &chosen {
        tables.push(run_group(options, columns, group, &mut progress)?);
    }
    let sheets = costs::run(options, &subjects, &experiments, &mut progress);
    Ok(Outcome {
        columns: columns.iter().map(|column| column.name.clone()).collect(),
        ours: columns.iter().map(|column| column.is_ours).collect(),
        tables,
        sheets,
    })
}

/// Fills the filters of the group, runs its rows in rounds, then empties the servers.
fn run_group(
    options: &Options,
    columns: &mut [Column],
    group: &Group,
    progress: &mut Progress,
) -> Result<Table> {
    let mut failures: Vec<Option<String>> = Vec::new();
    for column in columns.iter_mut() {
        progress.show(&group.title, &format!("{} fills", column.name));
        failures.push(
            column
                .dialect
                .fill(&mut column.server, group)
                .err()
                .map(|error| format!("filling: {error}")),
        );
        progress.step();
    }
    let mut rows: Vec<Row> = Vec::new();
    for case in &group.cases {
        let cell = |(column, failure): (&Column, &Option<String>)| {
            let cell = Cell { samples: Vec::new(), failure: failure.clone() };
            column.dialect.has(group, case).then_some(cell)
        };
        rows.push(Row { case: *case, cells: columns.iter().zip(&failures).map(cell).collect() });
    }
    let mut payloads = Payloads { scale: options.scale, kept: HashMap::new() };
    for round in 0..options.rounds {
        for (number, row) in rows.iter_mut().enumerate() {
            for (column, cell) in columns.iter_mut().zip(&mut row.cells) {
                progress.step();
                let Some(cell) = cell.as_mut().filter(|cell| cell.failure.is_none()) else {
                    continue;
                };
                let what = format!("{}, {}, round {}", row.case.name(), column.name, round + 1);
                progress.show(&group.title, &what);
                let payload = payloads.get(group, (number, &row.case), column.dialect, round);
                let prepared = column.dialect.prepare(&mut column.server, group, &row.case);
                match prepared.and_then(|()| measure::sample(column, &row.case, payload)) {
                    Ok(sample) => cell.samples.push(sample),
                    Err(error) => cell.failure = Some(error.to_string()),
                }
            }
        }
    }
    let mut bytes = Vec::new();
    for (column, failure) in columns.iter_mut().zip(&failures) {
        let stands = group.stands_with(options.rounds).filter(|_| failure.is_none());
        let in_column = |error: Box<dyn std::error::Error>| {
            format!("column {} after {}: {error}", column.name, group.title)
        };
        let held = stands.map(|items| bytes_per_item(&mut column.server, items)).transpose();
        bytes.push(held.map_err(in_column)?.flatten().filter(|_| column.dialect.keeps_items()));
        column.server.run("FLUSHALL").map_err(in_column)?;
    }
    Ok(Table { title: group.title.clone(), rows, bytes })
}

/// The bytes per item of the standing filter as the server reports them; `None` if there is no such
/// filter, for example because a set was too large.
fn bytes_per_item(server: &mut Server, items: u64) -> Result<Option<f64>> {
    let bytes: Option<u64> =
        cmd("MEMORY").arg("USAGE").arg(STANDING).query(&mut server.connection)?;
    Ok(bytes.map(|bytes| bytes as f64 / items as f64))
}

/// The encoded commands of a group's rows, made when they are first needed.
struct Payloads {
    scale: Scale,
    /// By row and dialect, with the round for which they were made.
    kept: HashMap<(usize, Dialect), (u32, Payload)>,
}

impl Payloads {
    fn get(
        &mut self,
        group: &Group,
        (row, case): (usize, &Case),
        dialect: Dialect,
        round: u32,
    ) -> &Payload {
        // New items for a standing filter differ from round to round. All other payloads stay the
        // same.
        if case.op == Op::More {
            self.kept.retain(|&(kept, _), (made, _)| kept != row || *made == round);
        }
        let make = || (round, dialect.payload(group, case, round, self.scale));
        &self.kept.entry((row, dialect)).or_insert_with(make).1
    }
}
