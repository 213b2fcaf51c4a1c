//! The time in which no other client is served while a large filter is made or freed.

use super::Plan;
use crate::bits::{Bits, reserve_filled};
use crate::column::Planned;
use crate::result::Result;
use crate::row::{Figures, Group, Repeat, Row};
use crate::server::Server;

pub fn group(plan: Plan) -> Group {
    let capacity = plan.size(357_000_000, 71_000_000, 1_000_000);
    let row = Row::of("", move |server, _| figures(server, capacity));
    Group {
        heads: &[("MB", 0), ("BF.RESERVE us", 0), ("UNLINK us", 0), ("DEL us", 0)],
        repeat: Repeat::Rounds(3),
        ..Group::new("Making and freeing one large filter", Planned::is_module, vec![row])
    }
}

fn figures(server: &mut Server, capacity: u64) -> Result<Figures> {
    // Only the first allocation of a server is certainly fresh memory.
    server.renew()?;
    let bytes = reserve_filled(server, capacity, Bits::HALF)?;
    let (_, reserve) = server.command_statistics("BF.RESERVE")?;
    server.run("UNLINK filter")?;
    let (_, unlink) = server.command_statistics("UNLINK")?;
    reserve_filled(server, capacity, Bits::HALF)?;
    server.run("DEL filter")?;
    let (_, delete) = server.command_statistics("DEL")?;
    Ok(vec![bytes as f64 / 1e6, reserve as f64, unlink as f64, delete as f64])
}
