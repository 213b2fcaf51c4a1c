//! One sample: reset the statistics, send the commands, read the time, check the answers.

use crate::bit_string::HASHES;
use crate::column::Column;
use crate::dialect::Dialect;
use crate::payload::{Payload, send, send_ahead};
use crate::result::Result;
use crate::server::Server;
use crate::workloads::{Case, Op, Traffic};

/// The result of one round of a row on one column.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Time in the command as the server counts it, in nanoseconds per item.
    pub nanoseconds: f64,
    /// Share of the items that were answered with 1. For `Op::Miss` this is the measured
    /// false-positive rate.
    pub ones: f64,
    /// Page faults of the server per item: first writes to pages of memory.
    pub faults: f64,
}

/// Runs a payload once and times it.
///
/// A part of the payload runs before, if it changes nothing, because other servers have used the
/// processor and its caches since the last turn.
pub fn sample(column: &mut Column, case: &Case, payload: &Payload) -> Result<Sample> {
    if case.op.is_lookup() || case.op == Op::Duplicate {
        let part = payload.chunks.len().div_ceil(8);
        send_ahead(&mut column.server.connection, payload, payload.chunks.iter().take(part))?;
    }
    let sample = timed(&mut column.server, case.traffic, payload)?;
    let bounds = match (column.dialect, case.op) {
        (Dialect::Baseline { .. }, _) => (1.0, 1.0),
        (Dialect::Bits, Op::Hit) => (HASHES as f64, HASHES as f64),
        // SETBIT returns the old bit. GETBIT of an absent item returns any mix.
        (Dialect::Bits, _) => (0.0, HASHES as f64),
        // A cuckoo filter in RedisBloom's layout has no target rate.
        (Dialect::Bloom { forgets: false, .. }, Op::Miss) if case.is_cuckoo() => (0.0, 0.25),
        // A filter that has grown in valkey-bloom's layout reports 2.3 times its target rate.
        (Dialect::Bloom { cuckoo: false, .. }, Op::Miss) => (0.0, 0.04),
        (Dialect::Bloom { cuckoo: false, .. }, Op::Fresh) => (0.96, 1.0),
        (_, op) => bounds(op),
    };
    check(sample.ones, bounds)?;
    Ok(sample)
}

/// Sends a payload and reads the server's statistics of its command.
fn timed(server: &mut Server, traffic: Traffic, payload: &Payload) -> Result<Sample> {
    server.run("CONFIG RESETSTAT")?;
    let faults_before = server.harness.process().page_faults()?;
    let sum = send(server, traffic, payload)?;
    let faults = server.harness.process().page_faults()? - faults_before;
    let (calls, microseconds) = server.command_statistics(payload.command)?;
    if calls != payload.calls {
        return Err(format!("{calls} calls counted of {}", payload.calls).into());
    }
    let items = payload.items as f64;
    Ok(Sample {
        nanoseconds: microseconds as f64 * 1000.0 / items,
        ones: sum as f64 / items,
        faults: faults as f64 / items,
    })
}

/// The least and the largest share of the items that a filter or a set answers with 1.
fn bounds(op: Op) -> (f64, f64) {
    match op {
        Op::Hit => (1.0, 1.0),
        // Other items may have the same fingerprint, a few percent in RedisBloom's layout.
        Op::Count => (1.0, 1.1),
        Op::Duplicate | Op::Refresh => (0.0, 0.0),
        // The target rate is 1 %. Twice that is allowed, so that a random deviation does not stop a
        // run.
        Op::Miss => (0.0, 0.02),
        Op::Fresh | Op::More | Op::Create | Op::NewestFills | Op::Delete => (0.98, 1.0),
    }
}

/// Rejects a time whose answers are wrong, by the share of the items that got 1.
fn check(share: f64, (least, most): (f64, f64)) -> Result<()> {
    if (least..=most).contains(&share) {
        return Ok(());
    }
    Err(format!("wrong answers: {share:.4} of the items got 1, not {least} to {most}").into())
}
