//! Bytes per item, beside what theory requires, and the measured false-positive rate.

use super::{Cases, Experiment, Plan, Subject, size_of};
use crate::items::Item;
use crate::payload::{Payload, send};
use crate::result::Result;
use crate::server::Server;
use crate::workloads::{GENERATIONS, Traffic, thousands};

pub const EXPERIMENT: Experiment = Experiment {
    title: "Bytes per item, and the false-positive rate",
    heads: &[
        ("bytes per item", 3),
        ("bits per item", 2),
        ("log2(1/e)", 2),
        ("1.44 log2(1/e)", 2),
        ("target %", 3),
        ("measured %", 3),
    ],
    run,
};

fn run(subject: &Subject, plan: Plan) -> Result<Cases> {
    let million = plan.size(1_000_000, 200_000, 10_000);
    let absent = plan.size(10_000_000, 1_000_000, 10_000);
    let windowed = format!("GENERATIONS {GENERATIONS}");
    let mut filters = vec![
        (0.01, "NONSCALING", format!("{million} NONSCALING")),
        (0.001, "NONSCALING", format!("{million} NONSCALING")),
        (0.0001, "NONSCALING", format!("{million} NONSCALING")),
        (0.01, "may grow", format!("{million} EXPANSION 2")),
        (0.01, "from 100", "100 EXPANSION 2".to_owned()),
        (0.01, "100 layers", format!("{} EXPANSION 1", million / 100)),
    ];
    if subject.forgets {
        filters.push((0.01, &windowed, format!("{million} {windowed}")));
        filters.push((0.001, &windowed, format!("{million} {windowed}")));
    }
    let mut server = subject.server(&[])?;
    let mut lines = Vec::new();
    for (error, how, arguments) in filters {
        server.run(&format!("BF.RESERVE filter {error} {arguments}"))?;
        // All generations of a windowed filter are filled. It is rotated by hand, because the bench
        // cannot wait for a window to pass.
        let is_windowed = how == windowed;
        let (parts, part) =
            if is_windowed { (GENERATIONS + 1, million / GENERATIONS) } else { (1, million) };
        for number in 0..parts {
            if number > 0 {
                server.run("BF.ROTATE filter")?;
            }
            let items = (number * part..(number + 1) * part).map(Item::Stored);
            send_items(&mut server, "BF.MADD", plan, items)?;
        }
        let seen = send_items(&mut server, "BF.MEXISTS", plan, (0..absent).map(Item::Absent))?;
        let bytes = size_of(&mut server, "filter")? as f64 / million as f64;
        server.run("DEL filter")?;
        let least = (1.0_f64 / error).log2();
        let classic = least / std::f64::consts::LN_2;
        let measured = seen as f64 / absent as f64;
        let figures = vec![bytes, bytes * 8.0, least, classic, error * 100.0, measured * 100.0];
        lines.push((format!("{} at {} %, {how}", thousands(million), error * 100.0), figures));
    }
    Ok(lines)
}

/// Sends the items in calls of 1,000; returns the sum of the answers.
pub fn send_items(
    server: &mut Server,
    command: &'static str,
    plan: Plan,
    mut items: impl Iterator<Item = Item>,
) -> Result<u64> {
    /// Items encoded at once, so that ten million items are never in memory together.
    const SLICE: usize = 100_000;
    let mut ones = 0;
    loop {
        let slice = items.by_ref().take(SLICE);
        let payload = Payload::of_items(command, "filter", 1000, plan.kind, slice);
        if payload.items == 0 {
            return Ok(ones);
        }
        ones += send(server, Traffic::Pipelined, &payload)?;
    }
}
