//! DUMP and RESTORE, SAVE and BGSAVE of one filter.

use std::collections::HashMap;
use std::time::Instant;

use redis::{Cmd, cmd};

use super::bench::Bench;
use super::clock::milliseconds;
use super::filters::{FILTER, Layout, OTHER};
use crate::result::Result;
use crate::workloads::thousands;

/// DUMP, and RESTORE of its payload.
pub fn payload(bench: &mut Bench) -> Result<()> {
    let mut payload: Vec<u8> = Vec::new();
    for _ in bench.runs() {
        // Frees the previous payload before the next one arrives.
        drop(std::mem::take(&mut payload));
        match bench.timed("DUMP", cmd("DUMP").arg(FILTER))? {
            Some(reply) => payload = reply,
            None => return Ok(()),
        }
    }
    let mut restore = cmd("RESTORE");
    restore.arg(OTHER).arg(0).arg(&payload);
    let limit = longest_argument(bench)?;
    if payload.len() as u64 > limit {
        // Report the actual behaviour of the server: it closes the connection.
        let answer = restore.exec(&mut bench.server.connect()?);
        bench.server.run("PING")?;
        let Err(error) = answer else { return bench.server.run("DEL other") };
        let closed = if error.is_io_error() { "the server closes the connection: " } else { "" };
        let (bytes, limit) = (thousands(payload.len() as u64), thousands(limit));
        let why = format!("{bytes} bytes exceed proto-max-bulk-len, {limit}; {closed}{error}");
        bench.refuse("RESTORE", why);
        return Ok(());
    }
    drop(payload);
    bench.repeat("RESTORE", &Cmd::new(), &restore, "DEL other")?;
    Ok(())
}

/// Bytes of the longest argument that the server accepts.
fn longest_argument(bench: &mut Bench) -> Result<u64> {
    const NAME: &str = "proto-max-bulk-len";
    let setting: HashMap<String, u64> =
        cmd("CONFIG").arg("GET").arg(NAME).query(&mut bench.server.connection)?;
    Ok(*setting.get(NAME).ok_or("the server has no proto-max-bulk-len")?)
}

/// SAVE, which blocks the server; and BGSAVE, whose fork blocks it and whose child does not.
pub fn save(bench: &mut Bench) -> Result<()> {
    bench.rows(&[("SAVE", "", "SAVE", "")])?;
    for _ in bench.runs() {
        if let Err(error) = cmd("BGSAVE").exec(&mut bench.server.connection) {
            bench.refuse("BGSAVE, fork", error.to_string());
            return Ok(());
        }
        let started = Instant::now();
        bench.server.wait_for_save()?;
        let time = milliseconds(started.elapsed());
        // A fork does not depend on the layout.
        if bench.layout == Layout::Bloomline {
            let fork: f64 = bench.server.info("stats", "latest_fork_usec")?;
            bench.add("BGSAVE, fork", fork / 1000.0);
        }
        bench.add("BGSAVE, child", time);
    }
    Ok(())
}
