//! The cost of a small filter: one per user, made by its first items.

use std::fs;
use std::path::Path;

use redis::cmd;

use super::saved::restarted;
use super::{Cases, Experiment, Plan, Subject};
use crate::payload::{CHUNK_BYTES, Payload, send};
use crate::result::Result;
use crate::workloads::Traffic;

pub const EXPERIMENT: Experiment = Experiment {
    title: "A tiny filter, made by its first item",
    heads: &[
        ("MEMORY USAGE", 0),
        ("used_memory per key", 0),
        ("RDB bytes per key", 0),
        ("load us per key", 2),
    ],
    run,
};

/// With a window that the users of a feed need.
const WINDOW: [&str; 4] = ["WINDOW", "604800", "CAPACITY", "100"];

/// Items of the filters besides those of one item.
const ITEMS: [usize; 3] = [8, 30, 100];

fn run(subject: &Subject, plan: Plan) -> Result<Cases> {
    let mut cases = vec![(String::new(), figures(subject, plan, &[], 1)?)];
    for items in ITEMS {
        cases.push((format!("{items} items"), figures(subject, plan, &[], items)?));
    }
    if subject.forgets {
        cases.push((WINDOW.join(" "), figures(subject, plan, &WINDOW, 1)?));
    }
    Ok(cases)
}

fn figures(subject: &Subject, plan: Plan, options: &[&str], items: usize) -> Result<Vec<f64>> {
    // A power of two, at which the table of keys is as full as possible.
    let keys: u64 = match items {
        1 => plan.size(1 << 17, 1 << 17, 1 << 10),
        _ => plan.size(1 << 14, 1 << 14, 1 << 10),
    };
    let mut server = subject.server(&[])?;
    let texts: Vec<_> = (0..items).map(|item| format!("item:{item:08}")).collect();
    let create = |key: &str| match options {
        [] if items == 1 => cmd("BF.ADD").arg(key).arg("a").clone(),
        [] => cmd("BF.MADD").arg(key).arg(&texts).clone(),
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
    let used = (after - before) as f64 / (keys - 1) as f64;

    server.run("SAVE")?;
    let (_, folder): (String, String) =
        cmd("CONFIG").arg("GET").arg("dir").query(&mut server.connection)?;
    let file = fs::metadata(Path::new(&folder).join("dump.rdb"))?.len() as f64;
    let (load, _) = restarted(&mut server)?;
    let loaded: u64 = cmd("DBSIZE").query(&mut server.connection)?;
    if loaded != keys {
        return Err(format!("{loaded} of {keys} keys were loaded").into());
    }
    let keys = keys as f64;
    Ok(vec![usage as f64, used, file / keys, load * 1e6 / keys])
}
