//! The tables as Markdown, aligned to be readable as plain text, and the check of their shape.

use super::filters::Layout;
use super::rows::{Cell, Cells, Row};
use super::{Column, Outcome};
use crate::machine::Machine;
use crate::options::Options;
use crate::result::Result;
use crate::run::median;
use crate::workloads::thousands;

/// The width of a line of text.
const WIDTH: usize = 100;

/// The columns that a wrapped line leaves for the indent of a list.
const INDENT: usize = 2;

/// The text of a cell that was not run.
const NOT_RUN: &str = "–";

const REFUSED: &str = "refused";

const HOW_TO_READ: &str = "\
Each figure is the time of one call in milliseconds, the longest of up to five runs, by SLOWLOG: while the call runs, \
the server serves no other client. Two numbers in a cell: an untouched filter, just reserved and never written to / a \
filled filter, every page written and half of the bits set. “–”: not run, since it would take too much memory or \
time. Not one call: the sum of all chunks of BF.SCANDUMP; the child of BGSAVE, which runs beside the server and \
blocks it for the fork only (`latest_fork_usec`); the plain copy, which is the time to get as much fresh memory from \
the system and copy into it; the plain OR, a loop over memory that is in use. BF.MERGE and BF.COMPACT are on fixed \
filters. BF.ROTATE and the BF.ADD that rotates open a generation and drop the oldest of a filter \
that forgets; the size is that of its nine generations together. The cuckoo filters are fixed ones \
in Bloomline's layout, full ones of which 95 % of the items were deleted.";

/// All tables and the text above them.
pub fn text(options: &Options, machine: &Machine, outcome: &Outcome) -> String {
    let busy = if machine.is_loaded() {
        " Other work ran on the machine: figures may be too high."
    } else {
        ""
    };
    let mut text =
        wrapped(&format!("Made by `{}`: {}.{busy}", command_line(options), machine.summary()));
    text += "\n";
    text += &wrapped(HOW_TO_READ);
    text += "\n";
    text += &table("one layer of", &outcome.columns);
    text += "\n";
    text += &wrapped(
        "In filters of many layers, BF.INFO, BF.DEBUG and lookups take some time per layer (number of layers × \
         bytes of a layer, on average):",
    );
    text += "\n";
    text += &table("layers", &outcome.layers);
    text += "\nGoals, and what this run measured:\n\n";
    text += &goals(&outcome.columns);
    text + &refusals(&outcome.columns) + &refusals(&outcome.layers)
}

/// The command line that repeats this run, without paths of this machine.
fn command_line(options: &Options) -> String {
    let mut line = "make bench-blocking".to_owned();
    if let Some(server) = &options.server {
        line += &format!(" SERVER={}", server.rsplit('/').next().unwrap_or(server));
    }
    let sizes = options.sizes.argument();
    if !sizes.is_empty() {
        line += &format!(" ARGS=\"--sizes {sizes}\"");
    }
    line
}

/// Rows and columns of one table.
fn table(corner: &str, columns: &[Column]) -> String {
    let mut lines = vec![vec![corner.to_owned()]];
    lines
        .iter_mut()
        .for_each(|heads| heads.extend(columns.iter().map(|column| column.name.clone())));
    let mut body: Vec<(String, bool, Vec<Pair>)> = Vec::new();
    for row in Row::ALL {
        for layout in [Layout::Bloomline, Layout::RedisBloom] {
            if layout == Layout::RedisBloom && !row.differs_by_layout() {
                continue;
            }
            let pairs: Vec<Pair> = columns.iter().map(|column| pair(column, row, layout)).collect();
            if pairs.iter().all(|(untouched, filled)| untouched.is_none() && filled.is_none()) {
                continue;
            }
            let name = match layout {
                Layout::Bloomline => row.name().to_owned(),
                Layout::RedisBloom => "— in RedisBloom's layout".to_owned(),
            };
            body.push((name, row.depends_on_state(), pairs));
        }
    }
    // Aligns the slashes of a column.
    let width = |column: usize, part: fn(&Pair) -> &Option<String>| {
        let texts = body.iter().filter_map(|(_, _, pairs)| pairs.get(column).map(part));
        texts
            .map(|text| text.as_deref().unwrap_or(NOT_RUN).chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<(usize, usize)> = (0..columns.len())
        .map(|column| (width(column, |pair| &pair.0), width(column, |pair| &pair.1)))
        .collect();
    for (name, depends_on_state, pairs) in &body {
        let cells = pairs.iter().zip(&widths).map(|((untouched, filled), &(left, right))| {
            let text = |cell: &Option<String>| cell.clone().unwrap_or_else(|| NOT_RUN.to_owned());
            match (untouched, filled) {
                (None, None) => NOT_RUN.to_owned(),
                (Some(only), None) | (None, Some(only)) if !depends_on_state => only.clone(),
                _ => format!("{:>left$} / {:>right$}", text(untouched), text(filled)),
            }
        });
        lines.push(std::iter::once(name.clone()).chain(cells).collect());
    }
    markdown(&lines)
}

/// The texts of an untouched and a filled filter.
type Pair = (Option<String>, Option<String>);

fn pair(column: &Column, row: Row, layout: Layout) -> Pair {
    let text = |cells: &Cells| cells.get(&(row, layout)).map(cell_text);
    (text(&column.untouched), text(&column.filled))
}

fn cell_text(cell: &Cell) -> String {
    cell.longest().map_or_else(|| REFUSED.to_owned(), number)
}

/// Three digits, or whole milliseconds.
pub fn number(value: f64) -> String {
    match value {
        ..0.9995 => format!("{value:.3}"),
        ..9.995 => format!("{value:.2}"),
        ..99.95 => format!("{value:.1}"),
        _ => thousands(value.round() as u64),
    }
}

/// The goals, and the measured values.
fn goals(columns: &[Column]) -> String {
    let cells =
        |name: &str, of: fn(&Column) -> &Cells| columns.iter().find(|c| c.name == name).map(of);
    let mut lines = vec![["goal", "limit", "measured", "met"].map(str::to_owned).to_vec()];
    let mut line = |goal: &str, limit: String, measured: Option<(f64, String)>, most: f64| {
        let met = match &measured {
            Some((value, _)) if *value <= most => "yes",
            Some(_) => "no",
            None => NOT_RUN,
        };
        let text = measured.map_or_else(|| NOT_RUN.to_owned(), |(_, text)| text);
        lines.push(vec![goal.to_owned(), limit, text, met.to_owned()]);
    };

    const MOST_RATIO: f64 = 1.3;
    for (goal, row, plain) in [
        ("COPY / plain copy", Row::Copy, Row::PlainCopy),
        ("BF.MERGE / plain OR", Row::Merge, Row::PlainOr),
        ("BF.COMPACT / plain OR of halves", Row::Compact, Row::PlainFold),
    ] {
        let filled = cells("1 GB", |column| &column.filled);
        let ratio = filled.and_then(|cells| ratio_of_runs(cells, row, plain));
        let text = ratio.map(|ratio| (ratio, format!("{ratio:.2}")));
        let goal = format!("filled 1 GB: {goal}, median");
        line(&goal, format!("{MOST_RATIO}"), text, MOST_RATIO);
    }

    const MOST_ROTATION: f64 = 1.0;
    let filled = cells("1 GB", |column| &column.filled);
    for row in [Row::Rotate, Row::AddRotates] {
        let longest = filled.and_then(|cells| cells.get(&(row, Layout::Bloomline))?.longest());
        let text = longest.map(|longest| (longest, format!("{} ms", number(longest))));
        let limit = format!("{MOST_ROTATION} ms");
        line(&format!("filled 1 GB: {}", row.name()), limit, text, MOST_ROTATION);
    }

    const MOST: f64 = 500.0;
    let untouched = cells("10 GB", |column| &column.untouched);
    for row in [Row::Copy, Row::DumpAll, Row::Dump, Row::BgSaveChild] {
        let longest = untouched.and_then(|cells| cells.get(&(row, Layout::Bloomline))?.longest());
        let text = longest.map(|longest| (longest, format!("{} ms", number(longest))));
        line(&format!("untouched 10 GB: {}", row.name()), format!("{MOST} ms"), text, MOST);
    }
    markdown(&lines)
}

/// A row relative to a plain pass, each run relative to the plain one just before it.
fn ratio_of_runs(cells: &Cells, row: Row, plain: Row) -> Option<f64> {
    let runs = |row| cells.get(&(row, Layout::Bloomline)).map(Cell::runs);
    let (runs, plain) = (runs(row)?, runs(plain)?);
    median(runs.iter().zip(plain).map(|(run, plain)| run / plain))
}

/// Why the server refused, for the cells that say so.
pub fn refusals(columns: &[Column]) -> String {
    let mut text = String::new();
    for column in columns {
        for (cells, state) in [(&column.untouched, "untouched"), (&column.filled, "filled")] {
            for (&(row, layout), cell) in cells {
                if let Cell::Refused(why) = cell {
                    let layout =
                        if layout == Layout::RedisBloom { ", RedisBloom's layout" } else { "" };
                    let line = format!(
                        "* {} refused, {} {state}{layout}: {why}.",
                        row.name(),
                        column.name
                    );
                    text += &wrapped(&line).trim_end().replace('\n', "\n  ");
                    text += "\n";
                }
            }
        }
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// A table. The first line holds the heads, and the first column is left-aligned.
pub fn markdown(lines: &[Vec<String>]) -> String {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        lines
            .iter()
            .filter_map(|line| line.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        for (column, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            text += &if column == 0 {
                format!("| {cell:<width$} |")
            } else {
                format!(" {cell:>width$} |")
            };
        }
        text += "\n";
        if number == 0 {
            for (column, &width) in widths.iter().enumerate() {
                text += &if column == 0 {
                    format!("|{}|", "-".repeat(width + 2))
                } else {
                    format!("{}:|", "-".repeat(width + 1))
                };
            }
            text += "\n";
        }
    }
    text
}

/// The text, wrapped.
pub fn wrapped(text: &str) -> String {
    let mut lines = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let word_length = word.chars().count();
        if length > 0 && length + 1 + word_length > WIDTH - INDENT {
            lines.push('\n');
            length = 0;
        }
        if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines += word;
        length += word_length;
    }
    lines + "\n"
}

/// Checks that there are three tables, each with lines of equal length, and that every cell is a
/// number or a known word.
///
/// # Errors
///
/// The first line that is not valid.
pub fn check(text: &str) -> Result<()> {
    let mut heads = 0;
    let mut lines = text.lines().peekable();
    while let Some(head) = lines.next() {
        if !head.starts_with('|') {
            if head.chars().count() > WIDTH {
                return Err(format!("a line of more than {WIDTH} columns: {head}").into());
            }
            continue;
        }
        heads += 1;
        let columns = head.split('|').count();
        let ruler = lines.next().unwrap_or_default();
        let is_ruler =
            ruler.chars().all(|c| "|-:".contains(c)) && ruler.split('|').count() == columns;
        let mut rows = 0;
        while let Some(line) = lines.next_if(|line| line.starts_with('|')) {
            rows += 1;
            let is_aligned = line.chars().count() == head.chars().count();
            let mut cells =
                line.trim_matches('|').split('|').skip(1).flat_map(|cell| cell.split(" / "));
            if line.split('|').count() != columns
                || !is_aligned
                || !cells.all(|cell| is_cell(cell.trim()))
            {
                return Err(format!("the table below {head:?} has the line {line:?}").into());
            }
        }
        if !is_ruler || rows == 0 {
            return Err(format!("the table below {head:?} has no ruler or no rows").into());
        }
    }
    if heads == 3 { Ok(()) } else { Err(format!("{heads} tables, not 3").into()) }
}

fn is_cell(text: &str) -> bool {
    let number = text.strip_suffix(" ms").unwrap_or(text);
    let is_number = number.chars().all(|c| c.is_ascii_digit() || ".,".contains(c));
    !text.is_empty() && (is_number || [NOT_RUN, REFUSED, "yes", "no"].contains(&text))
}
