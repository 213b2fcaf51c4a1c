//! Every sample as JSON, for further computations.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::Result;
use crate::costs::Sheet;
use crate::report::Report;
use crate::run::{Cell, Row, Table};
use crate::workloads::Op;

/// Writes every sample, with the conditions of the run.
pub fn write(report: &Report, path: &Path) -> Result<()> {
    let fields = report.machine.fields().into_iter();
    let machine: Map<String, Value> =
        fields.map(|(name, value)| (name.to_owned(), json!(value))).collect();
    let tables: Vec<Value> = report
        .outcome
        .tables
        .iter()
        .map(|table| {
            let rows: Vec<Value> = table.rows.iter().map(|row| row_json(report, row)).collect();
            json!({ "title": table.title, "rows": rows, "bytes_per_item": bytes_json(report, table) })
        })
        .collect();
    let whole = json!({
        "command": report.options.command_line(),
        "machine": machine,
        "unit": "ns per item",
        "tables": tables,
        "costs": report.outcome.sheets.iter().map(sheet_json).collect::<Vec<Value>>(),
    });
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, serde_json::to_string_pretty(&whole)? + "\n")?;
    Ok(())
}

fn row_json(report: &Report, row: &Row) -> Value {
    let columns = report.outcome.columns.iter().zip(&row.cells).enumerate();
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

fn bytes_json(report: &Report, table: &Table) -> Map<String, Value> {
    let columns = report.outcome.columns.iter().zip(&table.bytes);
    columns.filter_map(|(name, bytes)| Some((name.clone(), json!(bytes.as_ref()?)))).collect()
}

fn sheet_json(sheet: &Sheet) -> Value {
    let line = |line: &crate::costs::Line| match &line.figures {
        Ok(figures) => json!({ "name": line.name, "figures": figures }),
        Err(failure) => json!({ "name": line.name, "failure": failure.to_string() }),
    };
    let heads: Vec<&str> = sheet.heads.iter().map(|&(head, _)| head).collect();
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
