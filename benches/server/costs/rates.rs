//! Bytes per item, beside what theory requires, and the measured false-positive rate.

use redis::cmd;

use super::{Cases, Experiment, Plan, Subject};
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
    let step = million / 100;
    let mut server = subject.server(&[])?;
    let mut lines = Vec::new();
    for (error, how, capacity, growth) in [
        (0.01, "NONSCALING", million, "NONSCALING"),
        (0.001, "NONSCALING", million, "NONSCALING"),
        (0.0001, "NONSCALING", million, "NONSCALING"),
        (0.01, "may grow", million, "EXPANSION 2"),
        (0.01, "from 100", 100, "EXPANSION 2"),
        (0.01, "100 layers", step, "EXPANSION 1"),
    ] {
        let mut reserve = cmd("BF.RESERVE");
        reserve.arg("filter").arg(error).arg(capacity);
        growth.split(' ').for_each(|argument| {
            reserve.arg(argument);
        });
        reserve.exec(&mut server.connection)?;
        send_items(&mut server, "BF.MADD", plan, (0..million).map(Item::Stored))?;
        let name = format!("{} at {} %, {how}", thousands(million), error * 100.0);
        lines.push((name, figures(&mut server, plan, error, million, absent)?));
    }
    let errors: &[f64] = if subject.forgets { &[0.01, 0.001] } else { &[] };
    for &error in errors {
        fill_generations(&mut server, plan, error, million)?;
        let name =
            format!("{} at {} %, GENERATIONS {GENERATIONS}", thousands(million), error * 100.0);
        lines.push((name, figures(&mut server, plan, error, million, absent)?));
    }
    Ok(lines)
}

/// Creates a filter that forgets, and fills all its generations. It is rotated by hand, because the
/// bench cannot wait for a window to pass.
fn fill_generations(server: &mut Server, plan: Plan, error: f64, capacity: u64) -> Result<()> {
    let mut reserve = cmd("BF.RESERVE");
    reserve.arg("filter").arg(error).arg(capacity).arg("GENERATIONS").arg(GENERATIONS);
    reserve.exec(&mut server.connection)?;
    let part = capacity / GENERATIONS;
    for generation in 0..=GENERATIONS {
        if generation > 0 {
            cmd("BF.ROTATE").arg("filter").exec(&mut server.connection)?;
        }
        let first = generation * part;
        send_items(server, "BF.MADD", plan, (first..first + part).map(Item::Stored))?;
    }
    Ok(())
}

/// The figures of the filter, in the order of the heads; deletes it.
fn figures(
    server: &mut Server,
    plan: Plan,
    error: f64,
    items: u64,
    absent: u64,
) -> Result<Vec<f64>> {
    let seen = send_items(server, "BF.MEXISTS", plan, (0..absent).map(Item::Absent))?;
    let (size,): (u64,) = cmd("BF.INFO").arg("filter").arg("SIZE").query(&mut server.connection)?;
    cmd("DEL").arg("filter").exec(&mut server.connection)?;
    let bytes = size as f64 / items as f64;
    let least = (1.0_f64 / error).log2();
    let classic = least / std::f64::consts::LN_2;
    let measured = seen as f64 / absent as f64;
    Ok(vec![bytes, bytes * 8.0, least, classic, error * 100.0, measured * 100.0])
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
