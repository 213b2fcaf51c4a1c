//! The results of a run as JSON, from which `benches/published` writes documents and charts.

use std::fs;

use serde_json::{Value, json};

use crate::machine::Machine;
use crate::options::{Mode, Options};
use crate::result::Result;
use crate::scale::Scale;

/// All results, as JSON.
#[derive(Default)]
pub struct Outcome {
    pub tables: Vec<Value>,
    pub costs: Vec<Value>,
    /// What could not be measured and why, a line each. True with those that the baseline or this
    /// module must complete.
    pub failures: Vec<(bool, String)>,
}

/// The median of some values; `None` without values.
pub fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get(values.len().saturating_sub(1) / 2)?;
    Some((lower + upper) / 2.0)
}

/// Writes every sample, with the conditions of the run.
pub fn write(
    options: &Options,
    machine: &Machine,
    modules: &[Value],
    outcome: &Outcome,
) -> Result<()> {
    let whole = json!({
        "command": options.command_line(),
        "warning": warning(options, machine),
        "machine": machine.fields,
        "modules": modules,
        "unit": if options.mode == Mode::Latency { "ms per call" } else { "ns per item" },
        "tables": outcome.tables,
        "costs": outcome.costs,
    });
    if let Some(folder) = options.json.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&options.json, serde_json::to_string_pretty(&whole)? + "\n")?;
    eprintln!("wrote {}", options.json.display());
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
