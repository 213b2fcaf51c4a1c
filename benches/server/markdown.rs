//! The document of a run, `dist/benchmarks.md`. `docs/benchmarks.md` is that of a published run.

use crate::report::{LEGEND, Report, sheet_lines, texts};

const HOW_TO_READ: &str = "\
Every number here was made by one run of the command above: one machine, one server, one day.
`docs/benchmarks.md` says how to read the tables.
";

/// The whole document. `chart` is the file name of the chart next to it.
pub fn document(report: &Report, chart: &str) -> String {
    let mut text = "# Benchmarks\n\n".to_owned();
    text += &format!("Made by `{}`.\n\n", report.options.command_line());
    for (name, value) in report.machine.fields() {
        text += &format!("* {name}: {value}\n");
    }
    text += &format!(
        "\n{}![Multiples of the baseline, by workload]({chart})\n\n{HOW_TO_READ}",
        report.warning()
    );
    text += &format!("\n## Time\n\n{LEGEND}\n");
    for table in &report.outcome.tables {
        text += &format!("\n### {}\n\n", table.title);
        text += &format!("| | {} |\n", report.outcome.columns.join(" | "));
        text += &format!("|---|{}\n", "---:|".repeat(report.outcome.columns.len()));
        for row in &table.rows {
            text += &format!("| {} | {} |\n", row.case.name(), texts(row).join(" | "));
        }
        text += &report.below(table);
    }
    if !report.outcome.sheets.is_empty() {
        text += "\n## Memory, disk and wire\n";
    }
    for sheet in &report.outcome.sheets {
        let heads: Vec<&str> = sheet.heads.iter().map(|&(head, _)| head).collect();
        text +=
            &format!("\n### {}\n\n{}\n\n| | {} |\n", sheet.title, sheet.note, heads.join(" | "));
        text += &format!("|---|{}\n", "---:|".repeat(heads.len()));
        for (name, figures) in sheet_lines(sheet) {
            text += &format!("| {name} | {} |\n", figures.join(" | "));
        }
    }
    text + &report.failures()
}
