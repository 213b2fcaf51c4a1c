//! Items per second from a client on one connection.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::{Cases, Experiment, Plan, Subject};
use crate::items::{Item, Kind};
use crate::outcome::median;
use crate::packed::Form;
use crate::payload::{Payload, send};
use crate::result::Result;
use crate::server::Server;
use crate::workloads::Traffic;

pub const EXPERIMENT: Experiment = Experiment {
    title: "End to end: packed items from one connection",
    heads: &[
        ("raw, BF.MADD", 2),
        ("raw, packed", 2),
        ("redis-py, BF.MADD", 2),
        ("redis-py, joined", 2),
        ("redis-py, buffer", 2),
    ],
    run,
};

const FILTER: &str = "filter";

fn run(subject: &Subject, plan: Plan) -> Result<Cases> {
    let items = plan.size(1_000_000, 1_000_000, 2_000);
    let rounds = plan.size(9, 5, 1);
    let mut server = subject.timed_server()?;
    let mut figures = raw(&mut server, items, rounds, subject.packs)?;
    figures.extend(redis_py(&server.harness.socket(), items, rounds, subject.packs)?);
    Ok(vec![(String::new(), figures)])
}

/// The rates of this process: BF.MADD, and packed if the module has that.
fn raw(server: &mut Server, items: u64, rounds: u32, packs: bool) -> Result<Vec<f64>> {
    let kind = Kind::Bytes20;
    let all: Vec<Item> = (0..items).map(Item::Stored).collect();
    let plain = Payload::of_items("BF.MADD", FILTER, 1000, kind, all.iter().copied());
    let packed = Payload::packed("BF.BULKADD", FILTER, Form::Fixed, kind, &all);
    let payloads = if packs { vec![plain, packed] } else { vec![plain] };
    let mut rates = vec![Vec::new(); 2];
    for _ in 0..rounds {
        for (payload, rates) in payloads.iter().zip(&mut rates) {
            server.run("DEL filter")?;
            server.run(&format!("BF.RESERVE filter 0.01 {items}"))?;
            let started = Instant::now();
            let new = send(server, Traffic::Pipelined, payload)?;
            rates.push(items as f64 / started.elapsed().as_secs_f64() / 1e6);
            if new < items / 100 * 98 {
                return Err(format!("wrong answers: {new} of {items} items were new").into());
            }
        }
    }
    Ok(rates.into_iter().map(|rates| median(rates.into_iter()).unwrap_or(f64::NAN)).collect())
}

/// The rates of redis-py, in another process on the core of this one. There are none without
/// `.venv`, which `make bench` makes.
fn redis_py(socket: &Path, items: u64, rounds: u32, packs: bool) -> Result<Vec<f64>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let python = root.join(".venv/bin/python");
    if !python.is_file() {
        eprintln!("server bench: NO .venv HERE (make bench makes it): NO FIGURES OF REDIS-PY");
        return Ok(vec![f64::NAN; 3]);
    }
    let mut command = Command::new(python);
    command.arg(root.join("benches/bulk/client.py")).arg(socket);
    command.args([items.to_string(), rounds.to_string()]);
    if packs {
        command.arg("--packed");
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    let rates: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let rate = |way: &str| {
        rates.get(way).and_then(serde_json::Value::as_f64).map_or(f64::NAN, |rate| rate / 1e6)
    };
    Ok(["madd", "joined", "buffer"].map(rate).to_vec())
}
