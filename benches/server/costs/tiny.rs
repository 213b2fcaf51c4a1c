//! The cost of a small filter: one per user, made by its first items.

use std::fs;
use std::path::Path;

use redis::cmd;

use super::Plan;
use super::saved::restarted;
use crate::column::{Column, Planned};
use crate::payload::{CHUNK_BYTES, Payload, send};
use crate::result::Result;
use crate::row::{Figures, Group, Row};
use crate::server::Server;
use crate::workloads::Traffic;

/// Items of the filters.
const ITEMS: [usize; 4] = [1, 8, 30, 100];

/// Options with a window, of which the second one rotates by hand.
const WINDOWS: [&[&str]; 2] =
    [&["WINDOW", "604800", "CAPACITY", "100"], &["GENERATIONS", ROTATIONS, "CAPACITY", "100"]];

/// The rotations until all generations are open.
const ROTATIONS: &str = "8";

pub fn group(plan: Plan) -> Group {
    let plain = ITEMS.map(|items| {
        let name = if items == 1 { String::new() } else { format!("{items} items") };
        Row::of(name, move |server, _| figures(server, plan, &[], items))
    });
    let windowed = WINDOWS.into_iter().zip([1, 12]).map(|(options, items)| {
        Row::of(options.join(" "), move |server, _| figures(server, plan, options, items))
            .only_on(Column::has_windows)
    });
    Group {
        heads: &[
            ("MEMORY USAGE", 0),
            ("used_memory per key", 0),
            ("RDB bytes per key", 0),
            ("load us per key", 2),
        ],
        ..Group::new(
            "A tiny filter, made by its first item",
            Planned::is_module,
            plain.into_iter().chain(windowed).collect(),
        )
    }
}

/// The figures of filters with these options and `items` items in each generation.
fn figures(server: &mut Server, plan: Plan, options: &[&str], items: usize) -> Result<Figures> {
    server.renew()?;
    // A power of two, at which the table of keys is as full as possible.
    let keys: u64 = match items {
        1 => plan.size(1 << 17, 1 << 17, 1 << 10),
        _ => plan.size(1 << 14, 1 << 14, 1 << 10),
    };
    let texts: Vec<_> = (0..items).map(|item| format!("item:{item:08}")).collect();
    let rotations = if options.contains(&ROTATIONS) { ROTATIONS.parse()? } else { 0 };
    let add = |key: &str| match options {
        [] if items == 1 => cmd("BF.ADD").arg(key).arg("a").clone(),
        [] => cmd("BF.MADD").arg(key).arg(&texts).clone(),
        options => cmd("BF.INSERT").arg(key).arg(options).arg("ITEMS").arg(&texts).clone(),
    };
    let create = |key: &str| {
        let next = |_| [cmd("BF.ROTATE").arg(key).clone(), add(key)];
        let all = (0..rotations).flat_map(next);
        std::iter::once(add(key)).chain(all).collect::<Vec<_>>()
    };
    for command in create("k") {
        command.exec(&mut server.connection)?;
    }
    let usage: u64 = cmd("MEMORY").arg("USAGE").arg("k").query(&mut server.connection)?;
    let before: u64 = server.info("memory", "used_memory")?;
    let mut payload = Payload::new("BF.ADD", CHUNK_BYTES);
    for user in 1..keys {
        for command in create(&format!("user:{user:08}")) {
            payload.push(&command, 1);
        }
    }
    send(server, Traffic::Pipelined, &payload)?;
    let after: u64 = server.info("memory", "used_memory")?;
    let used = (after - before) as f64 / (keys - 1) as f64;

    server.run("SAVE")?;
    let (_, folder): (String, String) =
        cmd("CONFIG").arg("GET").arg("dir").query(&mut server.connection)?;
    let file = fs::metadata(Path::new(&folder).join("dump.rdb"))?.len() as f64;
    let (load, _) = restarted(server)?;
    let loaded: u64 = cmd("DBSIZE").query(&mut server.connection)?;
    if loaded != keys {
        return Err(format!("{loaded} of {keys} keys were loaded").into());
    }
    let keys = keys as f64;
    Ok(vec![usage as f64, used, file / keys, load * 1e6 / keys])
}
