//! What comes out: a table to read, JSON to compute with, markdown to publish.

use std::fs;

use serde_json::{Value, json};

use crate::Result;
use crate::machine::Machine;
use crate::options::{Options, Scale};
use crate::run::{Cell, Outcome, Row, Table};
use crate::workloads::{Op, Shape};

/// A run and all that belongs beside it.
pub struct Report<'a> {
    pub options: &'a Options,
    pub machine: &'a Machine,
    pub outcome: &'a Outcome,
}

const LEGEND: &str = "\
Nanoseconds an item by the server's own account (INFO commandstats), median of the rounds; in brackets the multiple
of the floor. The floor reads the same arguments, opens the key where single commands do, and gives the same replies.
set: SADD, SISMEMBER and SMISMEMBER, exact and keeping every item. bit string: SETBIT and GETBIT, 7 commands an item,
as client libraries do it, sized for all items at once. -: the column has no such call.";

impl Report<'_> {
    /// The table for a terminal.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.machine.fields() {
            text += &format!("{name:8} {value}\n");
        }
        text += &format!("command  {}\n\n{}{LEGEND}\n", self.options.command_line(), self.warning());
        for table in &self.outcome.tables {
            text += &format!("\n{}\n", table.title);
            let heads: String = self.outcome.columns.iter().map(|name| format!("{name:>20}")).collect();
            text += &format!("{:34}{heads}\n", "");
            for row in &table.rows {
                let cells: String = texts(row).into_iter().map(|cell| format!("{cell:>20}")).collect();
                text += &format!("{:34}{cells}\n", row.case.name());
            }
            text += &self.faults(table);
        }
        text + &self.failures()
    }

    /// A table's last line where page faults are what it is about.
    fn faults(&self, table: &Table) -> String {
        if !matches!(table.shape, Shape::Untouched { .. }) {
            return String::new();
        }
        let mut text = String::new();
        for row in &table.rows {
            let columns = self.outcome.columns.iter().zip(&row.cells);
            let faults: Vec<String> = columns
                .filter_map(|(name, cell)| Some((name, cell.as_ref()?.median_faults()?)))
                .map(|(name, faults)| format!("{name} {faults:.2}"))
                .collect();
            text += &format!("\nPage faults an item: {}.\n", faults.join(", "));
        }
        text
    }

    /// The same as a document of its own.
    pub fn markdown(&self) -> String {
        let mut text = "# Benchmarks\n\n".to_owned();
        text += &format!("Made by `{}`.\n\n", self.options.command_line());
        for (name, value) in self.machine.fields() {
            text += &format!("* {name}: {value}\n");
        }
        text += &format!("\n{}{LEGEND}\n", self.warning());
        for table in &self.outcome.tables {
            text += &format!("\n## {}\n\n", table.title);
            text += &format!("| | {} |\n", self.outcome.columns.join(" | "));
            text += &format!("|---|{}\n", "---:|".repeat(self.outcome.columns.len()));
            for row in &table.rows {
                text += &format!("| {} | {} |\n", row.case.name(), texts(row).join(" | "));
            }
            text += &self.faults(table);
        }
        text + &self.failures()
    }

    /// Every sample, with what it takes to judge it.
    pub fn write_json(&self) -> Result<()> {
        let fields = self.machine.fields().into_iter();
        let machine: serde_json::Map<String, Value> =
            fields.map(|(name, value)| (name.to_owned(), json!(value))).collect();
        let tables: Vec<Value> = self
            .outcome
            .tables
            .iter()
            .map(|table| {
                let rows: Vec<Value> = table.rows.iter().map(|row| self.row_json(row)).collect();
                json!({ "title": table.title, "rows": rows })
            })
            .collect();
        let whole = json!({
            "command": self.options.command_line(),
            "machine": machine,
            "unit": "ns an item",
            "tables": tables,
        });
        if let Some(folder) = self.options.json.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&self.options.json, serde_json::to_string_pretty(&whole)? + "\n")?;
        eprintln!("wrote {}", self.options.json.display());
        Ok(())
    }

    fn row_json(&self, row: &Row) -> Value {
        let floor = floor_of(row);
        let columns = self.outcome.columns.iter().zip(&row.cells);
        let cells: serde_json::Map<String, Value> = columns
            .filter_map(|(name, cell)| Some((name.clone(), cell_json(cell.as_ref()?, row, floor))))
            .collect();
        json!({
            "name": row.case.name(),
            "batch": row.case.batch,
            "items": row.case.items,
            "columns": cells,
        })
    }

    /// Says it where a reader must not take the times for real.
    fn warning(&self) -> &'static str {
        match self.options.scale {
            Scale::Smoke => "SMOKE RUN: the rows work; the times mean nothing.\n\n",
            Scale::Quick | Scale::Full => "",
        }
    }

    /// What could not be measured, and why.
    fn failures(&self) -> String {
        let mut text = String::new();
        for table in &self.outcome.tables {
            for row in &table.rows {
                for (name, cell) in self.outcome.columns.iter().zip(&row.cells) {
                    if let Some(failure) = cell.as_ref().and_then(|cell| cell.failure.as_ref()) {
                        text += &format!("* {name}, {}, {}: {failure}\n", table.title, row.case.name());
                    }
                }
            }
        }
        if text.is_empty() { text } else { format!("\nFailed:\n\n{text}") }
    }
}

/// The median of the row's first column, which is the floor.
fn floor_of(row: &Row) -> Option<f64> {
    row.cells.first()?.as_ref()?.median()
}

/// A row's cells as they are read: `16.4 (1.37)`, the floor without its 1.
fn texts(row: &Row) -> Vec<String> {
    let floor = floor_of(row);
    let text = |(column, cell): (usize, &Option<Cell>)| match cell {
        None => "-".to_owned(),
        Some(cell) if cell.failure.is_some() => "failed".to_owned(),
        Some(cell) => match (cell.median(), floor) {
            (Some(median), Some(floor)) if column > 0 && floor > 0.0 => {
                format!("{median:.1} ({:.2})", median / floor)
            }
            (Some(median), _) => format!("{median:.1}"),
            (None, _) => "-".to_owned(),
        },
    };
    row.cells.iter().enumerate().map(text).collect()
}

fn cell_json(cell: &Cell, row: &Row, floor: Option<f64>) -> Value {
    let times: Vec<f64> = cell.samples.iter().map(|sample| sample.nanoseconds).collect();
    let ones = cell.samples.iter().map(|sample| sample.ones).fold(0.0, f64::max);
    let median = cell.median();
    let mut value = json!({
        "median": median,
        "page_faults_an_item": cell.median_faults(),
        "min": times.iter().copied().min_by(f64::total_cmp),
        "times_floor": median.zip(floor).map(|(median, floor)| median / floor),
        "rounds": times,
    });
    if let Some(fields) = value.as_object_mut() {
        if row.case.op == Op::Miss {
            fields.insert("share_answered_1".to_owned(), json!(ones));
        }
        if let Some(failure) = &cell.failure {
            fields.insert("failure".to_owned(), json!(failure));
        }
    }
    value
}
