//! The time in which no other client is served while a large filter is made or freed.

use super::{Cases, Experiment, Plan, Subject};
use crate::bits::reserve_filled;
use crate::outcome::median;
use crate::result::Result;

pub const EXPERIMENT: Experiment = Experiment {
    title: "Making and freeing one large filter",
    heads: &[("MB", 0), ("BF.RESERVE us", 0), ("UNLINK us", 0), ("DEL us", 0)],
    run,
};

fn run(subject: &Subject, plan: Plan) -> Result<Cases> {
    let capacity = plan.size(357_000_000, 71_000_000, 1_000_000);
    let mut server = subject.server(&[])?;
    let mut bytes = 0;
    let mut timed = |freeing: &'static str| -> Result<(f64, f64)> {
        server.run("CONFIG RESETSTAT")?;
        bytes = reserve_filled(&mut server, capacity, 1)?;
        server.run(&format!("{freeing} filter"))?;
        let (_, reserve) = server.command_statistics("BF.RESERVE")?;
        let (_, free) = server.command_statistics(freeing)?;
        Ok((reserve as f64, free as f64))
    };
    // Only the first allocation is certainly fresh memory.
    let (reserve, first) = timed("UNLINK")?;
    let unlink = median([first, timed("UNLINK")?.1, timed("UNLINK")?.1].into_iter());
    let (_, delete) = timed("DEL")?;
    Ok(vec![(String::new(), vec![bytes as f64 / 1e6, reserve, unlink.unwrap_or(first), delete])])
}
