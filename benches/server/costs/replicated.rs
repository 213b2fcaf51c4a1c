//! Bytes that are sent to a replica for a stream of additions most of which change nothing.

use bloomline_harness::Replica;

use super::{Cases, Experiment, Plan, Subject};
use crate::items::Item;
use crate::payload::{Payload, send};
use crate::result::Result;
use crate::workloads::Traffic;

pub const EXPERIMENT: Experiment = Experiment {
    title: "Bytes replicated when nine of ten additions are duplicates",
    heads: &[("bytes sent", 0), ("replicated", 0), ("%", 1)],
    run,
};

fn run(subject: &Subject, plan: Plan) -> Result<Cases> {
    let items: u64 = plan.size(200_000, 50_000, 2_000);
    let mut server = subject.server(&[])?;
    server.run(&format!("BF.RESERVE filter 0.01 {}", 4 * items))?;
    let known =
        Payload::of_items("BF.MADD", "filter", 1000, plan.kind, (0..items).map(Item::Stored));
    send(&mut server, Traffic::Pipelined, &known)?;
    // It reads nothing: the primary counts what it sends.
    let _replica = Replica::attach(&server.harness);

    let mut lines = Vec::new();
    let mut next_new = items;
    for (command, batch) in [("BF.MADD", 1000), ("BF.MADD", 100), ("BF.MADD", 10), ("BF.ADD", 1)] {
        let first_new = next_new;
        let mixed =
            (0..items).map(|i| Item::Stored(if i % 10 == 3 { first_new + i / 10 } else { i }));
        let payload = Payload::of_items(command, "filter", batch, plan.kind, mixed);
        next_new += items / 10;
        let before: u64 = server.info("replication", "master_repl_offset")?;
        send(&mut server, Traffic::Pipelined, &payload)?;
        let after: u64 = server.info("replication", "master_repl_offset")?;
        let (sent, replicated) = (payload.bytes.len() as f64, (after - before) as f64);
        let name = if batch == 1 { command.to_owned() } else { format!("{command} ×{batch}") };
        lines.push((name, vec![sent, replicated, 100.0 * replicated / sent]));
    }
    Ok(lines)
}
