//! The document to publish: `docs/benchmarks.md`.

use crate::report::{LEGEND, Report, sheet_lines, texts};

const HOW_TO_READ: &str = "\
## How to read this

Every number here was made by one run of the command above: one machine, one server, one day.
`make bench` makes this file anew.

* **Compare along a row.** A round runs a row on all columns, one after the other, with the same
  items. The number is the median of the rounds; the multiple is the median of the rounds' own
  multiples. Lookups and duplicates run in part before they are timed. Down a column the work
  differs.
* **Trust the ratio, not the nanoseconds.** The number in brackets is the multiple of the baseline,
  the least that any module could take on that server. It carries over to other machines better than
  the time does.
* **The time is the server's**, spent in the command. Sockets, parsing and the client come on top,
  the same for all columns. The round trip of a single command takes far longer than any of these
  times.
* **Noise**: between runs medians move by some 3 %, single commands by 10 %, and more on a busy
  machine: see `load`. Smaller differences mean nothing. No minimum is shown, so nothing here is a
  best case.
* **Answers are checked.** A row with wrong answers fails.
* **set** is exact, so it has no false-positive rate to compare. **bit string** is sized for all its
  items at once and cannot grow; where a filter grows, its column assumes a capacity that a user
  could not have known.
* MB are 10^6 bytes, GiB 2^30.
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
