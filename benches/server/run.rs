//! The order of execution: group by group, round by round, row by row, column by column.

use std::collections::HashMap;

use redis::cmd;
use serde_json::{Map, Value, json};

use crate::column::Column;
use crate::cores::Cores;
use crate::costs;
use crate::dialect::Dialect;
use crate::groups::groups;
use crate::measure::{self, Sample};
use crate::options::Options;
use crate::outcome::{Outcome, median};
use crate::payload::Payload;
use crate::result::Result;
use crate::scale::Scale;
use crate::server::Server;
use crate::workloads::{Case, Group, Op, STANDING, Shape};

/// The result of a row on a column.
struct Cell {
    samples: Vec<Sample>,
    /// Why there are no more samples, if the column failed in this row.
    failure: Option<String>,
}

impl Cell {
    /// The median over the samples, relative to those of the baseline if the column has any.
    ///
    /// A multiple is the median of the rounds, each relative to the baseline of the same round, so
    /// a machine that is slow for some rounds changes it less than it changes the times.
    fn json(&self, op: Op, baseline: Option<&[Sample]>) -> Value {
        let times = || self.samples.iter().map(|sample| sample.nanoseconds);
        let ratio = |(time, baseline): (f64, &Sample)| time / baseline.nanoseconds;
        let mut value = json!({
            "median": median(times()),
            "page_faults_per_item": median(self.samples.iter().map(|sample| sample.faults)),
            "min": times().min_by(f64::total_cmp),
            "times_baseline": baseline.and_then(|all| median(times().zip(all).map(ratio))),
            "rounds": times().collect::<Vec<f64>>(),
        });
        if let Some(fields) = value.as_object_mut() {
            if op == Op::Miss {
                let ones = self.samples.iter().map(|sample| sample.ones).fold(0.0, f64::max);
                fields.insert("share_answered_1".to_owned(), json!(ones));
            }
            if let Some(failure) = &self.failure {
                fields.insert("failure".to_owned(), json!(failure));
            }
        }
        value
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
    let subjects = costs::subjects(options, columns, cores);
    let experiments = costs::chosen(options);
    if chosen.is_empty() && experiments.is_empty() {
        return Err("--only leaves nothing of this scale; --full has more rows".into());
    }
    let mut outcome = Outcome::default();
    for group in &chosen {
        run_group(options, columns, group, &mut outcome)?;
    }
    costs::run(options, &subjects, &experiments, &mut outcome);
    Ok(outcome)
}

/// Fills the filters of the group, runs its rows in rounds, then empties the servers.
fn run_group(
    options: &Options,
    columns: &mut [Column],
    group: &Group,
    outcome: &mut Outcome,
) -> Result<()> {
    eprintln!("{}", group.title);
    let mut unfilled: Vec<Option<String>> = Vec::new();
    for column in columns.iter_mut() {
        let filled = column.dialect.fill(&mut column.server, group);
        unfilled.push(filled.err().map(|error| format!("filling: {error}")));
    }
    // In the order of the columns; `None` if a column has no such row.
    let new_row = |case: &Case| -> Vec<Option<Cell>> {
        let cell = |(column, failure): (&Column, &Option<String>)| {
            let cell = Cell { samples: Vec::new(), failure: failure.clone() };
            column.dialect.has(group, case).then_some(cell)
        };
        columns.iter().zip(&unfilled).map(cell).collect()
    };
    let mut rows: Vec<_> = group.cases.iter().map(|case| (case, new_row(case))).collect();
    let mut payloads = Payloads { scale: options.scale, kept: HashMap::new() };
    for round in 0..options.rounds {
        for (number, (case, cells)) in rows.iter_mut().enumerate() {
            for (column, cell) in columns.iter_mut().zip(cells) {
                let Some(cell) = cell.as_mut().filter(|cell| cell.failure.is_none()) else {
                    continue;
                };
                let payload = payloads.get(group, (number, case), column.dialect, round);
                let prepared = column.dialect.prepare(&mut column.server, group, case);
                match prepared.and_then(|()| measure::sample(column, case, payload)) {
                    Ok(sample) => cell.samples.push(sample),
                    Err(error) => cell.failure = Some(error.to_string()),
                }
            }
        }
    }
    let mut table = Vec::new();
    for (case, cells) in &rows {
        let baseline = cells.first().and_then(Option::as_ref).map(|cell| cell.samples.as_slice());
        let mut by_column = Map::new();
        for (column, cell) in columns.iter().zip(cells) {
            let Some(cell) = cell else { continue };
            by_column.insert(column.name.clone(), cell.json(case.op, baseline));
            let (name, title) = (&column.name, &group.title);
            outcome.failures.extend(
                cell.failure.as_ref().map(|why| {
                    (column.is_ours, format!("{name}, {title}, {}: {why}", case.name()))
                }),
            );
        }
        let (name, batch, items) = (case.name(), case.batch, case.items);
        table.push(json!({ "name": name, "batch": batch, "items": items, "columns": by_column }));
    }
    let mut bytes = Map::new();
    for (column, failure) in columns.iter_mut().zip(&unfilled) {
        let in_column = |error: Box<dyn std::error::Error>| {
            format!("column {} after {}: {error}", column.name, group.title)
        };
        let stands = group.stands_with(options.rounds).filter(|_| failure.is_none());
        if let Some(items) = stands.filter(|_| column.dialect.keeps_items()) {
            let held = bytes_per_item(&mut column.server, items).map_err(in_column)?;
            bytes.extend(held.map(|bytes| (column.name.clone(), json!(bytes))));
        }
        column.server.run("FLUSHALL").map_err(in_column)?;
    }
    outcome.tables.push(json!({ "title": group.title, "rows": table, "bytes_per_item": bytes }));
    Ok(())
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
