//! Time in which nobody else is served while a large filter is made or freed.

use redis::cmd;

use super::bits::reserve_filled;
use super::{Cases, Experiment, Plan, Subject};
use crate::Result;

pub const EXPERIMENT: Experiment = Experiment {
    title: "Making and freeing one large filter",
    note: "Microseconds of the main thread by INFO commandstats. BF.RESERVE is on fresh memory; the filters that are freed have all pages touched.",
    heads: &[("MB", 0), ("BF.RESERVE us", 0), ("UNLINK us", 0), ("DEL us", 0)],
    run,
};

fn run(subject: &Subject, plan: Plan) -> Result<Cases> {
    let capacity = plan.size(357_000_000, 71_000_000, 1_000_000);
    let mut server = subject.server(&[])?;
    let mut figures = Vec::new();
    for command in ["UNLINK", "DEL"] {
        cmd("CONFIG").arg("RESETSTAT").exec(&mut server.connection)?;
        let bytes = reserve_filled(&mut server, "filter", capacity, 1)?;
        if figures.is_empty() {
            let (_, reserve) = server.command_statistics("BF.RESERVE")?;
            figures.extend([bytes as f64 / 1e6, reserve as f64]);
        }
        cmd(command).arg("filter").exec(&mut server.connection)?;
        let (_, microseconds) = server.command_statistics(command)?;
        figures.push(microseconds as f64);
    }
    Ok(vec![(String::new(), figures)])
}
