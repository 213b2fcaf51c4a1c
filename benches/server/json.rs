//! Every sample as JSON, from which `benches/published` writes documents and charts.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::costs::{Line, Sheet};
use crate::machine::Machine;
use crate::options::Options;
use crate::result::Result;
use crate::run::{Cell, Outcome, Row, Table};
use crate::scale::Scale;
use crate::workloads::Op;

/// Writes every sample, with the conditions of the run.
pub fn write(
    options: &Options,
    machine: &Machine,
    modules: &[Value],
    outcome: &Outcome,
) -> Result<()> {
    let table = |table: &Table| {
        let rows: Vec<Value> = table.rows.iter().map(|row| row_json(outcome, row)).collect();
        let bytes = outcome.columns.iter().zip(&table.bytes);
        let bytes: Map<String, Value> = bytes
            .filter_map(|(name, bytes)| Some((name.clone(), json!(bytes.as_ref()?))))
            .collect();
        json!({ "title": table.title, "rows": rows, "bytes_per_item": bytes })
    };
    let whole = json!({
        "command": options.command_line(),
        "warning": warning(options, machine),
        "machine": machine.fields,
        "modules": modules,
        "unit": "ns per item",
        "tables": outcome.tables.iter().map(table).collect::<Vec<Value>>(),
        "costs": outcome.sheets.iter().map(sheet_json).collect::<Vec<Value>>(),
    });
    write_file(&options.json, &whole)
}

/// Writes a file, and its folder if that is missing.
pub fn write_file(path: &Path, whole: &Value) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, serde_json::to_string_pretty(whole)? + "\n")?;
    eprintln!("wrote {}", path.display());
    Ok(())
}

/// Why the times are not reliable, if they are not.
fn warning(options: &Options, machine: &Machine) -> Option<&'static str> {
    match options.scale {
        Scale::Smoke => Some("A smoke run shows that the rows work; its times mean nothing."),
        _ if machine.is_busy => Some(
            "Other work ran on the machine, or client and servers shared a core. Sizes and rates \
             are reliable; times and their ratios are rough.",
        ),
        Scale::Quick | Scale::Full => None,
    }
}

fn row_json(outcome: &Outcome, row: &Row) -> Value {
    let columns = outcome.columns.iter().zip(&row.cells).enumerate();
    let cells: Map<String, Value> = columns
        .filter_map(|(column, (name, cell))| {
            Some((name.clone(), cell_json(cell.as_ref()?, row, row.multiple(column))))
        })
        .collect();
    json!({
        "name": row.case.name(),
        "batch": row.case.batch,
        "items": row.case.items,
        "columns": cells,
    })
}

fn sheet_json(sheet: &Sheet) -> Value {
    let line = |line: &Line| match &line.figures {
        Ok(figures) => json!({ "name": line.name, "figures": figures }),
        Err(failure) => json!({ "name": line.name, "failure": failure.to_string() }),
    };
    let head = |&(name, digits): &(&str, usize)| json!({ "name": name, "digits": digits });
    let heads: Vec<Value> = sheet.heads.iter().map(head).collect();
    let lines: Vec<Value> = sheet.lines.iter().map(line).collect();
    json!({ "title": sheet.title, "heads": heads, "lines": lines })
}

fn cell_json(cell: &Cell, row: &Row, multiple: Option<f64>) -> Value {
    let times: Vec<f64> = cell.samples.iter().map(|sample| sample.nanoseconds).collect();
    let ones = cell.samples.iter().map(|sample| sample.ones).fold(0.0, f64::max);
    let mut value = json!({
        "median": cell.median(),
        "page_faults_per_item": cell.median_faults(),
        "min": times.iter().copied().min_by(f64::total_cmp),
        "times_baseline": multiple,
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
