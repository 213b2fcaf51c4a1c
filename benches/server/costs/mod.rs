//! The costs of filters other than time: memory, disk, copied pages, replicated bytes.
//! `docs/benchmarks.md` explains the figures of each experiment.
//!
//! Each experiment runs on its own server, for this module in each layout and for each peer.
//! Filters that are saved, freed or copied are filled with random bits instead of items. A full
//! filter has such bits.

mod compacted;
mod copied;
mod freed;
mod rates;
mod replicated;
mod saved;
mod tiny;

use bloomline_harness::{Kind as Build, Setup};
use serde_json::{Value, json};

use crate::column::{Column, SCALAR};
use crate::cores::Cores;
use crate::dialect::Dialect;
use crate::items::Kind;
use crate::options::Options;
use crate::outcome::Outcome;
use crate::result::Result;
use crate::scale::Scale;
use crate::server::Server;

/// The subject of an experiment: a module with its arguments.
pub struct Subject {
    name: String,
    is_ours: bool,
    /// True if it has windowed filters, which only the project's own layout has.
    forgets: bool,
    build: Build,
    setup: Setup,
}

impl Subject {
    /// Starts a server with further lines of configuration.
    fn server(&self, lines: &[&str]) -> Result<Server> {
        let setup = self.setup.clone();
        Server::start(&self.build, &lines.iter().fold(setup, |setup, line| setup.line(*line)))
    }
}

/// The sizes of a run.
#[derive(Clone, Copy)]
pub struct Plan {
    scale: Scale,
    kind: Kind,
}

impl Plan {
    fn size<T>(self, full: T, quick: T, smoke: T) -> T {
        match self.scale {
            Scale::Full => full,
            Scale::Quick => quick,
            Scale::Smoke => smoke,
        }
    }
}

/// The bytes of a filter by BF.INFO.
fn size_of(server: &mut Server, key: &str) -> Result<u64> {
    let mut info = redis::cmd("BF.INFO");
    let (size,) = info.arg(key).arg("SIZE").query(&mut server.connection)?;
    Ok(size)
}

/// Names of cases with their figures.
type Cases = Vec<(String, Vec<f64>)>;

/// An experiment that makes one table of costs: a line for each case of each module.
pub struct Experiment {
    title: &'static str,
    /// Name of each figure, and its digits after the point.
    heads: &'static [(&'static str, usize)],
    run: fn(&Subject, Plan) -> Result<Cases>,
}

/// The experiments whose title contains the text of `--only`, or all.
pub fn chosen(options: &Options) -> Vec<Experiment> {
    let all = [
        rates::EXPERIMENT,
        compacted::EXPERIMENT,
        tiny::EXPERIMENT,
        saved::EXPERIMENT,
        freed::EXPERIMENT,
        copied::EXPERIMENT,
        replicated::EXPERIMENT,
    ];
    let is_chosen = |title: &str| options.only.as_ref().is_none_or(|text| title.contains(text));
    all.into_iter().filter(|experiment| is_chosen(experiment.title)).collect()
}

/// The modules among the columns. Vector instructions change none of these figures.
///
/// Their servers may use all cores. Otherwise a server that frees in the background or saves in a
/// child would share one core with it.
pub fn subjects(options: &Options, columns: &[Column], cores: &Cores) -> Vec<Subject> {
    let subject = |column: &Column| {
        let Dialect::Bloom { forgets, .. } = column.dialect else { return None };
        (column.name != SCALAR).then(|| Subject {
            name: column.name.clone(),
            is_ours: column.is_ours,
            forgets,
            build: options.server.clone(),
            setup: column.setup.clone().on_cores(cores.all),
        })
    };
    columns.iter().filter_map(subject).collect()
}

/// Runs the experiments. The error of a subject is written into its line.
pub fn run(
    options: &Options,
    subjects: &[Subject],
    experiments: &[Experiment],
    outcome: &mut Outcome,
) {
    let plan = Plan { scale: options.scale, kind: options.items };
    for Experiment { title, heads, run } in experiments {
        eprintln!("{title}");
        let mut lines = Vec::new();
        for subject in subjects {
            let name = &subject.name;
            match run(subject, plan) {
                Ok(cases) => lines.extend(cases.into_iter().map(|(case, figures)| {
                    let comma = if case.is_empty() { "" } else { ", " };
                    json!({ "name": format!("{name}{comma}{case}"), "figures": figures })
                })),
                Err(error) => {
                    let failure = error.to_string();
                    lines.push(json!({ "name": name, "failure": failure }));
                    outcome.failures.push((subject.is_ours, format!("{name}, {title}: {error}")));
                }
            }
        }
        let head = |(name, digits): &(_, _)| json!({ "name": name, "digits": digits });
        let heads: Vec<Value> = heads.iter().map(head).collect();
        outcome.costs.push(json!({ "title": title, "heads": heads, "lines": lines }));
    }
}
