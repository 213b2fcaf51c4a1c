//! The order of execution: group by group, round by round, row by row, column by column.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::column::{Column, Planned};
use crate::cores::Cores;
use crate::options::Options;
use crate::outcome::{Outcome, median};
use crate::result::Result;
use crate::row::{Figures, Group, Repeat, Row};

/// The time after which a row of [`Repeat::Runs`] has no further run. Long calls have one run.
const BUDGET: Duration = Duration::from_millis(1500);

/// The result of a row on a column.
#[derive(Default)]
struct Cell {
    samples: Vec<Figures>,
    /// Why there are no more samples, if the column failed in this row.
    failure: Option<String>,
}

/// The results of a row, in the order of the columns; `None` if a column has no such row.
type Cells = Vec<Option<Cell>>;

impl Cell {
    fn figure(&self, index: usize) -> impl Iterator<Item = f64> {
        self.samples.iter().filter_map(move |figures| figures.get(index).copied())
    }

    /// The median over the samples, relative to those of the baseline if the column has any.
    ///
    /// A multiple is the median of the rounds, each relative to the baseline of the same round, so
    /// a machine that is slow for some rounds changes it less than it changes the times.
    fn json(&self, baseline: Option<&Cell>) -> Value {
        let times = || self.figure(0);
        let ratios = |baseline: &Cell| median(times().zip(baseline.figure(0)).map(|(a, b)| a / b));
        let mut value = json!({
            "median": median(times()),
            "page_faults_per_item": median(self.figure(1)),
            "min": times().min_by(f64::total_cmp),
            "times_baseline": baseline.and_then(ratios),
            "rounds": times().collect::<Vec<f64>>(),
        });
        if let Some(fields) = value.as_object_mut() {
            if let Some(ones) = self.figure(2).max_by(f64::total_cmp) {
                fields.insert("share_answered_1".to_owned(), json!(ones));
            }
            if let Some(failure) = &self.failure {
                fields.insert("failure".to_owned(), json!(failure));
            }
        }
        value
    }

    /// The median of each figure; `None` if the column failed.
    fn medians(&self, count: usize) -> Option<Vec<Option<f64>>> {
        let medians = || (0..count).map(|index| median(self.figure(index))).collect();
        self.failure.is_none().then(medians)
    }
}

/// Runs all groups that the options select.
pub fn run(
    options: &Options,
    cores: &Cores,
    planned: &[Planned],
    mut groups: Vec<Group>,
    outcome: &mut Outcome,
) -> Result<()> {
    if let Some(text) = &options.only {
        for Group { title, is_whole, rows, .. } in &mut groups {
            rows.retain(|row| title.contains(text) || (!*is_whole && row.name.contains(text)));
        }
        groups.retain(|group| !group.rows.is_empty());
    }
    if groups.is_empty() {
        return Err("--only leaves nothing of this scale; --full has more rows".into());
    }
    groups.into_iter().try_for_each(|group| run_group(options, cores, planned, &group, outcome))
}

/// Starts the servers of the group, fills their filters and runs the rows.
fn run_group(
    options: &Options,
    cores: &Cores,
    planned: &[Planned],
    group: &Group,
    outcome: &mut Outcome,
) -> Result<()> {
    eprintln!("{}", group.title);
    let cores = if group.is_pinned { cores.of_timed() } else { cores.all };
    let start = |planned: &Planned| planned.start(&options.server, cores);
    let chosen = planned.iter().filter(|planned| (group.has)(planned));
    let mut columns = chosen.map(start).collect::<Result<Vec<Column>>>()?;
    let mut unfilled: Vec<Option<String>> = Vec::new();
    for column in &mut columns {
        unfilled.push((group.setup)(column).err().map(|error| format!("filling: {error}")));
    }
    let new_cells = |row: &Row| -> Cells {
        let cell = |(column, failure): (&Column, &Option<String>)| {
            let cell = Cell { failure: failure.clone(), ..Cell::default() };
            (row.has)(column).then_some(cell)
        };
        columns.iter().zip(&unfilled).map(cell).collect()
    };
    let mut rows: Vec<(&Row, Cells)> = group.rows.iter().map(|row| (row, new_cells(row))).collect();
    let (rounds, runs) = match group.repeat {
        Repeat::Rounds(rounds) => (rounds, 1),
        Repeat::Runs(runs) => (1, runs),
    };
    for round in 0..rounds {
        for (row, cells) in &mut rows {
            for (column, cell) in columns.iter_mut().zip(cells) {
                let (Some(cell), started) = (cell, Instant::now()) else { continue };
                for run in 0..runs {
                    if cell.failure.is_some() || run > 0 && started.elapsed() > BUDGET {
                        break;
                    }
                    match (row.measure)(column, round + run) {
                        Ok(figures) => cell.samples.push(figures),
                        Err(error) => cell.failure = Some(error.to_string()),
                    }
                }
            }
        }
    }
    for (row, cells) in &rows {
        for (column, cell) in columns.iter().zip(cells) {
            if let Some(why) = cell.as_ref().and_then(|cell| cell.failure.as_ref()) {
                let line = format!("{}, {}, {}: {why}", column.name, group.title, row.name);
                outcome.failures.push((column.is_ours, line));
            }
        }
    }
    if group.heads.is_empty() {
        outcome.tables.push(table(group, &mut columns, &rows)?);
    } else {
        outcome.costs.push(sheet(group, &columns, &rows));
    }
    Ok(())
}

/// A table of times: a line for each row, with its columns.
fn table(group: &Group, columns: &mut [Column], rows: &[(&Row, Cells)]) -> Result<Value> {
    let line = |(row, cells): &(&Row, Cells)| {
        let baseline = cells.first().and_then(Option::as_ref);
        let of_column = |(column, cell): (&Column, &Option<Cell>)| {
            Some((column.name.clone(), cell.as_ref()?.json(baseline)))
        };
        let columns: Map<_, _> = columns.iter().zip(cells).filter_map(of_column).collect();
        let (batch, items) = row.items.unzip();
        json!({ "name": row.name, "batch": batch, "items": items, "columns": columns })
    };
    let lines: Vec<Value> = rows.iter().map(line).collect();
    let mut bytes = Map::new();
    for column in columns {
        let held = (group.bytes_per_item)(column)
            .map_err(|error| format!("column {} after {}: {error}", column.name, group.title))?;
        bytes.extend(held.map(|held| (column.name.clone(), json!(held))));
    }
    Ok(json!({ "title": group.title, "rows": lines, "bytes_per_item": bytes }))
}

/// A table of other figures: a line for each row of each column.
fn sheet(group: &Group, columns: &[Column], rows: &[(&Row, Cells)]) -> Value {
    let count = group.heads.len();
    let mut lines = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let named = |row: &str| match row {
            "" => column.name.clone(),
            row => format!("{}, {row}", column.name),
        };
        let mut all = Vec::new();
        for (row, cells) in rows {
            let Some(cell) = cells.get(index).and_then(Option::as_ref) else { continue };
            match cell.medians(count) {
                Some(medians) => {
                    lines.push(json!({ "name": named(&row.name), "figures": medians }));
                    all.push(medians);
                }
                None => lines.push(json!({ "name": named(&row.name), "failure": cell.failure })),
            }
        }
        if group.has_average && !all.is_empty() {
            let name = named(&format!("average of {} sizes", all.len()));
            let sum = |head| all.iter().filter_map(|line: &Vec<_>| *line.get(head)?).sum::<f64>();
            let averages = (0..count).map(|head| sum(head) / all.len() as f64).collect::<Vec<_>>();
            lines.push(json!({ "name": name, "figures": averages }));
        }
    }
    let head = |(name, digits): &(_, _)| json!({ "name": name, "digits": digits });
    let heads: Vec<Value> = group.heads.iter().map(head).collect();
    json!({ "title": group.title, "heads": heads, "lines": lines })
}
