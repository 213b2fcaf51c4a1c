//! Bytes that are sent to a replica for a stream of additions most of which change nothing.

use bloomline_harness::Replica;

use super::{Plan, send_items};
use crate::column::Planned;
use crate::items::Item;
use crate::payload::{Payload, send};
use crate::row::{Group, Row};
use crate::workloads::Traffic;

pub fn group(plan: Plan) -> Group {
    let items: u64 = plan.size(200_000, 50_000, 2_000);
    let calls = [("BF.MADD", 1000), ("BF.MADD", 100), ("BF.MADD", 10), ("BF.ADD", 1)];
    let row = |(number, (command, batch)): (u64, (&'static str, usize))| {
        let name = if batch == 1 { command.to_owned() } else { format!("{command} ×{batch}") };
        Row::of(name, move |server, _| {
            // It reads nothing: the primary counts what it sends.
            let _replica = Replica::attach(&server.harness);
            let first_new = items + number * (items / 10);
            let mixed =
                (0..items).map(|i| Item::Stored(if i % 10 == 3 { first_new + i / 10 } else { i }));
            let payload = Payload::of_items(command, "filter", batch, plan.kind, mixed);
            let before: u64 = server.info("replication", "master_repl_offset")?;
            send(server, Traffic::Pipelined, &payload)?;
            let after: u64 = server.info("replication", "master_repl_offset")?;
            let (sent, replicated) = (payload.bytes.len() as f64, (after - before) as f64);
            Ok(vec![sent, replicated, 100.0 * replicated / sent])
        })
    };
    let rows = (0..).zip(calls).map(row).collect();
    let title = "Bytes replicated when nine of ten additions are duplicates";
    let group = Group {
        heads: &[("bytes sent", 0), ("replicated", 0), ("%", 1)],
        ..Group::new(title, Planned::is_module, rows)
    };
    group.with(move |server| {
        server.run(&format!("BF.RESERVE filter 0.01 {}", 4 * items))?;
        send_items(server, "BF.MADD", plan.kind, (0..items).map(Item::Stored)).map(|_| ())
    })
}
