//! DUMP and RESTORE, SAVE and BGSAVE of one filter.

use std::collections::HashMap;
use std::time::Instant;

use redis::{Value, cmd};

use super::bench::{Bench, OTHER};
use super::clock::{Repeats, milliseconds};
use super::filters::FILTER;
use super::rows::Row;
use crate::result::Result;
use crate::server::Server;
use crate::wait::until;
use crate::workloads::thousands;

/// DUMP, and RESTORE of its payload.
pub fn payload(bench: &mut Bench) -> Result<()> {
    let mut repeats = Repeats::of(bench.runs);
    let mut payload: Vec<u8> = Vec::new();
    while repeats.next() {
        // Frees the previous payload before the next one arrives.
        drop(std::mem::take(&mut payload));
        match bench.timed(Row::Dump, cmd("DUMP").arg(FILTER))? {
            Some(reply) => payload = reply,
            None => return Ok(()),
        }
    }
    let limit = longest_argument(bench.server)?;
    if payload.len() as u64 > limit {
        // Report the actual behaviour of the server: it closes the connection.
        let mut connection = bench.server.connect()?;
        let answer = cmd("RESTORE").arg(OTHER).arg(0).arg(&payload).exec(&mut connection);
        cmd("PING").exec(&mut bench.server.connection)?;
        match answer {
            Err(error) => {
                let (bytes, limit) = (thousands(payload.len() as u64), thousands(limit));
                let closed =
                    if error.is_io_error() { "the server closes the connection: " } else { "" };
                let why =
                    format!("{bytes} bytes exceed proto-max-bulk-len, {limit}; {closed}{error}");
                bench.refuse(Row::Restore, why);
                return Ok(());
            }
            Ok(()) => bench.execute(cmd("DEL").arg(OTHER))?,
        }
    }
    let mut restore = cmd("RESTORE");
    restore.arg(OTHER).arg(0).arg(&payload);
    drop(payload);
    let mut repeats = Repeats::of(bench.runs);
    while repeats.next() {
        if bench.timed::<Value>(Row::Restore, &restore)?.is_none() {
            break;
        }
        bench.execute(cmd("DEL").arg(OTHER))?;
    }
    Ok(())
}

/// Bytes of the longest argument that the server accepts.
fn longest_argument(server: &mut Server) -> Result<u64> {
    const NAME: &str = "proto-max-bulk-len";
    let setting: HashMap<String, u64> =
        cmd("CONFIG").arg("GET").arg(NAME).query(&mut server.connection)?;
    Ok(*setting.get(NAME).ok_or("the server has no proto-max-bulk-len")?)
}

/// SAVE, which blocks the server; and BGSAVE, whose fork blocks it and whose child does not.
pub fn files(bench: &mut Bench) -> Result<()> {
    let mut repeats = Repeats::of(bench.runs);
    while repeats.next() {
        if bench.timed::<Value>(Row::Save, &cmd("SAVE"))?.is_none() {
            break;
        }
    }
    let mut repeats = Repeats::of(bench.runs);
    while repeats.next() {
        if let Err(error) = cmd("BGSAVE").exec(&mut bench.server.connection) {
            bench.refuse(Row::BgSaveFork, error.to_string());
            return Ok(());
        }
        let started = Instant::now();
        let server = &mut *bench.server;
        until("the child to end", || {
            Ok((server.info::<u64>("persistence", "rdb_bgsave_in_progress")? == 0).then_some(()))
        })?;
        let time = milliseconds(started.elapsed());
        let status: String = bench.server.info("persistence", "rdb_last_bgsave_status")?;
        if status != "ok" {
            return Err(format!("the save ended with {status}").into());
        }
        let fork: f64 = bench.server.info("stats", "latest_fork_usec")?;
        bench.add(Row::BgSaveFork, fork / 1000.0);
        bench.add(Row::BgSaveChild, time);
    }
    Ok(())
}
