//! The table for a terminal, and the texts that the document shares with it.

use crate::costs::Sheet;
use crate::machine::Machine;
use crate::options::{Options, Scale};
use crate::run::{Cell, Outcome, Row, Table};
use crate::workloads::{Shape, thousands};

/// A run with its options and its machine.
pub struct Report<'a> {
    pub options: &'a Options,
    pub machine: &'a Machine,
    pub outcome: &'a Outcome,
}

/// What the times and the columns are.
pub const LEGEND: &str = "\
Nanoseconds per item by the server's own account (INFO commandstats), median of the rounds. In
brackets: the multiple of the baseline, median of the rounds, each against the baseline of its own
round. The columns:

* baseline: a module that reads the same arguments, opens the key where single commands do, and
  gives the same replies.
* baseline, hash: also reads the items and computes their XXH3, one by one.
* bloomline: with the vector instructions of this processor.
* scalar: without vector instructions.
* redisbloom layout: with `bf-layout redisbloom`.
* set: SADD, SISMEMBER and SMISMEMBER, exact and keeping every item.
* bit string: SETBIT and GETBIT, 7 commands per item, as client libraries do it, sized for all items
  at once.
* `-`: the column has no such call.";

/// The capacity up to which the goals of windowed filters apply, because they fit the caches.
const LARGEST_IN_CACHE: u64 = 1_000_000;

impl Report<'_> {
    /// The table for a terminal.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.machine.fields() {
            text += &format!("{name:8} {value}\n");
        }
        text +=
            &format!("command  {}\n\n{}{LEGEND}\n", self.options.command_line(), self.warning());
        for table in &self.outcome.tables {
            text += &format!("\n{}\n", table.title);
            let heads: String =
                self.outcome.columns.iter().map(|name| format!("{name:>20}")).collect();
            text += &format!("{:42}{heads}\n", "");
            for row in &table.rows {
                let cells: String =
                    texts(row).into_iter().map(|cell| format!("{cell:>20}")).collect();
                text += &format!("{:42}{cells}\n", row.case.name());
            }
            text += &self.below(table);
        }
        for sheet in &self.outcome.sheets {
            text += &format!("\n{}\n{:48}", sheet.title, "");
            text += &sheet.heads.iter().map(|(head, _)| format!("{head:>21}")).collect::<String>();
            for (name, figures) in sheet_lines(sheet) {
                let figures: String =
                    figures.iter().map(|figure| format!("{figure:>21}")).collect();
                text += &format!("\n{name:48}{figures}");
            }
            text += "\n";
        }
        text + &self.failures()
    }

    /// A table's last lines: bytes per item, and page faults where it is about them.
    pub fn below(&self, table: &Table) -> String {
        let columns = self.outcome.columns.iter().zip(&table.bytes);
        let bytes: Vec<String> = columns
            .filter_map(|(name, bytes)| Some(format!("{name} {:.2}", bytes.as_ref()?)))
            .collect();
        let mut text = String::new();
        let forgets = matches!(table.shape, Shape::Forgets { .. });
        if !bytes.is_empty() {
            let of = if forgets { "item of the capacity" } else { "item" };
            text += &format!("\nBytes per {of} by MEMORY USAGE:\n{}.\n", bytes.join(", "));
        }
        if matches!(table.shape, Shape::Forgets { capacity } if capacity <= LARGEST_IN_CACHE) {
            text += &self.goals(table);
        }
        if !matches!(table.shape, Shape::Untouched { .. }) {
            return text;
        }
        for row in &table.rows {
            let columns = self.outcome.columns.iter().zip(&row.cells);
            let faults: Vec<String> = columns
                .filter_map(|(name, cell)| Some((name, cell.as_ref()?.median_faults()?)))
                .map(|(name, faults)| format!("{name} {faults:.2}"))
                .collect();
            text += &format!("\nPage faults per item:\n{}.\n", faults.join(", "));
        }
        text
    }

    /// The goals of windowed filters, and the multiples of this run.
    fn goals(&self, table: &Table) -> String {
        let Some(column) = self.outcome.columns.iter().position(|name| name == "bloomline") else {
            return String::new();
        };
        let lines: Vec<String> = table
            .rows
            .iter()
            .filter_map(|row| {
                let (most, multiple) = (row.case.goal_if_it_forgets()?, row.multiple(column)?);
                Some(format!("{} at most {most}: {multiple:.2}", row.case.name()))
            })
            .collect();
        if lines.is_empty() {
            return String::new();
        }
        format!(
            "\nGoals in multiples of the baseline, and what bloomline took in this run:\n{}.\n",
            lines.join(";\n")
        )
    }

    /// Warns where the times are not reliable.
    pub fn warning(&self) -> &'static str {
        match self.options.scale {
            Scale::Smoke => "SMOKE RUN: it shows that the rows work; the times mean nothing.\n\n",
            _ if self.machine.is_busy() => {
                "BUSY MACHINE: other work ran, or client and servers shared a core.\nSizes and rates are reliable; times and their ratios are rough.\n\n"
            }
            Scale::Quick | Scale::Full => "",
        }
    }

    /// What could not be measured, and why.
    pub fn failures(&self) -> String {
        let mut text = String::new();
        for table in &self.outcome.tables {
            for row in &table.rows {
                for (name, cell) in self.outcome.columns.iter().zip(&row.cells) {
                    if let Some(failure) = cell.as_ref().and_then(|cell| cell.failure.as_ref()) {
                        text +=
                            &format!("* {name}, {}, {}: {failure}\n", table.title, row.case.name());
                    }
                }
            }
        }
        for sheet in &self.outcome.sheets {
            for line in &sheet.lines {
                if let Err(failure) = &line.figures {
                    text += &format!("* {}, {}: {failure}\n", line.name, sheet.title);
                }
            }
        }
        if text.is_empty() { text } else { format!("\nFailed:\n\n{text}") }
    }
}

/// A row's cells as they are read: `16.4 (1.37)`, the baseline without its 1.
pub fn texts(row: &Row) -> Vec<String> {
    let text = |(column, cell): (usize, &Option<Cell>)| match cell {
        None => "-".to_owned(),
        Some(cell) if cell.failure.is_some() => "failed".to_owned(),
        Some(cell) => match (cell.median(), row.multiple(column)) {
            (Some(median), Some(multiple)) if column > 0 => format!("{median:.1} ({multiple:.2})"),
            (Some(median), _) => format!("{median:.1}"),
            (None, _) => "-".to_owned(),
        },
    };
    row.cells.iter().enumerate().map(text).collect()
}

/// Name and figures of each line of a sheet.
pub fn sheet_lines(sheet: &Sheet) -> impl Iterator<Item = (&str, Vec<String>)> {
    sheet.lines.iter().map(|line| {
        let figures = match &line.figures {
            Ok(figures) => {
                let heads = sheet.heads.iter().map(|&(_, digits)| digits);
                figures.iter().zip(heads).map(|(&figure, digits)| number(figure, digits)).collect()
            }
            Err(_) => vec!["failed".to_owned()],
        };
        (line.name.as_str(), figures)
    })
}

/// A number with this many digits after the point.
fn number(value: f64, digits: usize) -> String {
    match digits {
        _ if value.is_nan() => "-".to_owned(),
        0 => thousands(value.round() as u64),
        _ => format!("{value:.digits$}"),
    }
}
