//! One sample: reset the statistics, send calls, read the time that the server counts.

use std::time::Duration;

use redis::Cmd;

use crate::payload::{Payload, send};
use crate::result::Result;
use crate::server::Server;
use crate::workloads::Traffic;

/// What is measured of calls.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Time in the command as the server counts it.
    pub microseconds: f64,
    /// The sum of the answers.
    pub ones: f64,
    /// Page faults of the server: first writes to pages of memory.
    pub faults: f64,
    /// The longest time that a client which sends one by one waited for a reply.
    pub longest: Duration,
}

/// Sends calls, and reads the server's statistics of their command.
pub fn sample(server: &mut Server, traffic: Traffic, payload: &Payload) -> Result<Sample> {
    server.run("CONFIG RESETSTAT")?;
    let faults_before = server.harness.process().page_faults()?;
    let answers = send(server, traffic, payload)?;
    let faults = server.harness.process().page_faults()? - faults_before;
    let (calls, microseconds) = server.command_statistics(&payload.command)?;
    if calls != payload.calls {
        return Err(format!("{calls} calls counted of {}", payload.calls).into());
    }
    Ok(Sample {
        microseconds: microseconds as f64,
        ones: answers.ones as f64,
        faults: faults as f64,
        longest: answers.longest,
    })
}

/// The milliseconds of one call, for which it blocks the server.
pub fn blocked(server: &mut Server, call: &Cmd) -> Result<f64> {
    Ok(sample(server, Traffic::Pipelined, &Payload::of_call(call))?.microseconds / 1000.0)
}
