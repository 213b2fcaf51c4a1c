//! One sample: reset the statistics, send the commands, read the time, check the answers.

use redis::{Connection, Value, cmd};

use crate::bit_string::HASHES;
use crate::column::Column;
use crate::dialect::Dialect;
use crate::payload::{Chunk, Payload};
use crate::result::Result;
use crate::server::Server;
use crate::workloads::{Case, Family, Op, Traffic};

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

/// Sends a payload and returns the sum of all integer and boolean answers.
///
/// # Errors
///
/// The first error among the replies, including those inside arrays; or the connection broke or
/// timed out.
pub fn send(server: &mut Server, traffic: Traffic, payload: &Payload) -> Result<u64> {
    let all = payload.chunks.iter();
    match traffic {
        Traffic::Pipelined => send_ahead(&mut server.connection, payload, all),
        Traffic::OneByOne => {
            let mut sum = 0;
            for chunk in all {
                server.connection.send_packed_command(payload.bytes_of(chunk))?;
                sum += receive(&mut server.connection, chunk.replies)?;
            }
            Ok(sum)
        }
        Traffic::TwoClients => std::thread::scope(|scope| {
            let (first, second) = (&mut server.connection, &mut server.second);
            let odd = payload.chunks.iter().skip(1).step_by(2);
            // The errors of the bench cannot be sent to another thread, but their text can.
            let other =
                scope.spawn(|| send_ahead(second, payload, odd).map_err(|error| error.to_string()));
            let sum = send_ahead(first, payload, all.step_by(2));
            let other = other.join().map_err(|_| "the second client panicked")?;
            Ok(sum? + other?)
        }),
    }
}

/// Sends each chunk before it reads the replies to the previous one.
fn send_ahead<'a>(
    connection: &mut Connection,
    payload: &Payload,
    chunks: impl Iterator<Item = &'a Chunk>,
) -> Result<u64> {
    let mut sum = 0;
    let mut due = 0;
    for chunk in chunks {
        connection.send_packed_command(payload.bytes_of(chunk))?;
        sum += receive(connection, due)?;
        due = chunk.replies;
    }
    Ok(sum + receive(connection, due)?)
}

fn receive(connection: &mut Connection, replies: u64) -> Result<u64> {
    let mut sum = 0;
    for _ in 0..replies {
        sum += sum_of(&connection.recv_response()?)?;
    }
    Ok(sum)
}

fn sum_of(value: &Value) -> Result<u64> {
    Ok(match value {
        Value::Int(number) => u64::try_from(*number)?,
        Value::Boolean(is_true) => u64::from(*is_true),
        // Packed items: their number, and a bit per item.
        Value::BulkString(bitmap) => bitmap.iter().map(|byte| u64::from(byte.count_ones())).sum(),
        Value::Array(values) => {
            // The reply for packed items begins with their number.
            let values = match values.as_slice() {
                [Value::Int(_), bitmap @ Value::BulkString(_), rest @ ..] => {
                    return Ok(sum_of(bitmap)? + sum_of(&Value::Array(rest.to_vec()))?);
                }
                values => values,
            };
            let mut sum = 0;
            for value in values {
                sum += sum_of(value)?;
            }
            sum
        }
        Value::ServerError(error) => return Err(error.to_string().into()),
        _ => 0,
    })
}

/// Runs a payload once and times it.
///
/// A part of the payload runs before, if it changes nothing, because other servers have used the
/// processor and its caches since the last turn.
pub fn sample(column: &mut Column, case: &Case, payload: &Payload) -> Result<Sample> {
    if matches!(case.op, Op::Hit | Op::Miss | Op::Count | Op::Duplicate) {
        let part = payload.chunks.len().div_ceil(8);
        send_ahead(&mut column.server.connection, payload, payload.chunks.iter().take(part))?;
    }
    cmd("CONFIG").arg("RESETSTAT").exec(&mut column.server.connection)?;
    let faults_before = column.server.harness.process().page_faults()?;
    let sum = send(&mut column.server, case.traffic, payload)?;
    let faults = column.server.harness.process().page_faults()? - faults_before;
    let (calls, microseconds) = column.server.command_statistics(payload.command)?;
    if calls != payload.calls {
        return Err(format!("{calls} calls counted of {}", payload.calls).into());
    }
    let items = payload.items as f64;
    let ones = sum as f64 / items;
    check(column.dialect, case, ones)?;
    Ok(Sample {
        nanoseconds: microseconds as f64 * 1000.0 / items,
        ones,
        faults: faults as f64 / items,
    })
}

/// Rejects a time whose answers are wrong.
fn check(dialect: Dialect, case: &Case, ones: f64) -> Result<()> {
    let (least, most) = match (dialect, case.op) {
        (Dialect::Baseline { .. }, _) => (1.0, 1.0),
        (Dialect::Bits, Op::Hit) => (HASHES as f64, HASHES as f64),
        // SETBIT returns the old bit. GETBIT of an absent item returns any mix.
        (Dialect::Bits, _) => (0.0, HASHES as f64),
        (_, Op::Hit) => (1.0, 1.0),
        // Other items may have the same fingerprint, a few percent in RedisBloom's layout.
        (_, Op::Count) => (1.0, 1.1),
        (_, Op::Duplicate | Op::Refresh) => (0.0, 0.0),
        // A cuckoo filter in RedisBloom's layout has no target rate.
        (Dialect::Bloom { forgets: false, .. }, Op::Miss) if case.family == Family::Cuckoo => {
            (0.0, 0.25)
        }
        // The target rate is 1 %. Twice that is allowed, so that a random deviation does not stop a
        // run.
        (_, Op::Miss) => (0.0, 0.02),
        (_, Op::Fresh | Op::FreshIfAbsent | Op::More | Op::Create) => (0.98, 1.0),
        (_, Op::NewestFills | Op::Delete) => (0.98, 1.0),
    };
    if (least..=most).contains(&ones) {
        return Ok(());
    }
    Err(format!("wrong answers: {ones:.4} of the items got 1, not {least} to {most}").into())
}
