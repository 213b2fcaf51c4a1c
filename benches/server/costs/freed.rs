//! The time in which no other client is served while a large filter is made or freed.

use super::{Cases, Experiment, Plan, Subject};
use crate::bits::reserve_filled;
use crate::outcome::median;
use crate::result::Result;
use crate::server::Server;

pub const EXPERIMENT: Experiment = Experiment {
    title: "Making and freeing one large filter",
    heads: &[("MB", 0), ("BF.RESERVE us", 0), ("UNLINK us", 0), ("DEL us", 0)],
    run,
};

/// Each time on another server, since only the first allocation is certainly fresh memory.
const TIMES: usize = 3;

/// The time of the only call of a command.
fn microseconds(server: &mut Server, command: &str) -> Result<f64> {
    Ok(server.command_statistics(command)?.1 as f64)
}

fn run(subject: &Subject, plan: Plan) -> Result<Cases> {
    let capacity = plan.size(357_000_000, 71_000_000, 1_000_000);
    let (mut bytes, mut times) = (0, [const { Vec::new() }; 3]);
    for _ in 0..TIMES {
        let mut server = subject.server(&[])?;
        bytes = reserve_filled(&mut server, capacity, 1)?;
        let reserve = microseconds(&mut server, "BF.RESERVE")?;
        server.run("UNLINK filter")?;
        let unlink = microseconds(&mut server, "UNLINK")?;
        reserve_filled(&mut server, capacity, 1)?;
        server.run("DEL filter")?;
        let delete = microseconds(&mut server, "DEL")?;
        times.iter_mut().zip([reserve, unlink, delete]).for_each(|(all, one)| all.push(one));
    }
    let medians = times.into_iter().filter_map(|times| median(times.into_iter()));
    Ok(vec![(String::new(), [bytes as f64 / 1e6].into_iter().chain(medians).collect())])
}
