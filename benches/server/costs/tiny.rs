//! The cost of a small filter: one per user, made by its first item.

use redis::cmd;

use super::{Cases, Experiment, Plan, Subject};
use crate::payload::{CHUNK_BYTES, Payload, send};
use crate::result::Result;
use crate::workloads::Traffic;

pub const EXPERIMENT: Experiment = Experiment {
    title: "A tiny filter, made by its first item",
    heads: &[("MEMORY USAGE", 0), ("used_memory per key", 0)],
    run,
};

/// With a window that the users of a feed need.
const WINDOW: [&str; 4] = ["WINDOW", "604800", "CAPACITY", "100"];

fn run(subject: &Subject, plan: Plan) -> Result<Cases> {
    let plain = (String::new(), figures(subject, plan, &[])?);
    if !subject.forgets {
        return Ok(vec![plain]);
    }
    Ok(vec![plain, (WINDOW.join(" "), figures(subject, plan, &WINDOW)?)])
}

fn figures(subject: &Subject, plan: Plan, options: &[&str]) -> Result<Vec<f64>> {
    // A power of two, at which the table of keys is as full as possible.
    let keys: u64 = plan.size(1 << 17, 1 << 17, 1 << 10);
    let mut server = subject.server(&[])?;
    let create = |key: &str| match options {
        [] => cmd("BF.ADD").arg(key).arg("a").clone(),
        options => cmd("BF.INSERT").arg(key).arg(options).arg("ITEMS").arg("a").clone(),
    };
    create("k").exec(&mut server.connection)?;
    let usage: u64 = cmd("MEMORY").arg("USAGE").arg("k").query(&mut server.connection)?;
    let before: u64 = server.info("memory", "used_memory")?;
    let mut payload = Payload::new("BF.ADD", CHUNK_BYTES);
    for user in 1..keys {
        payload.push(&create(&format!("user:{user:08}")), 1);
    }
    send(&mut server, Traffic::Pipelined, &payload)?;
    let after: u64 = server.info("memory", "used_memory")?;
    Ok(vec![usage as f64, (after - before) as f64 / (keys - 1) as f64])
}
