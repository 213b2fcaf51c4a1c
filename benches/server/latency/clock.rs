//! The time of one call as the server measures it, and how often a row is run.

use std::time::{Duration, Instant};

use redis::{Cmd, Value, cmd, from_redis_value};

use crate::result::Result;
use crate::server::Server;

/// Runs a command once; returns its reply and its milliseconds on the event loop.
pub fn timed(server: &mut Server, command: &Cmd) -> Result<(Value, f64)> {
    let started = Instant::now();
    let reply = command.query(&mut server.connection)?;
    let waited = milliseconds(started.elapsed());
    // The newest entry is that of the call.
    let entries: Vec<Vec<Value>> =
        cmd("SLOWLOG").arg("GET").arg(1).query(&mut server.connection)?;
    // Id, time of day, microseconds, and fields that are not needed.
    let time = entries.into_iter().next().and_then(|entry| entry.into_iter().nth(2));
    let time = from_redis_value(time.ok_or("SLOWLOG has no entry of the call")?)?;
    let time = milliseconds(Duration::from_micros(time));
    if time > waited + 1.0 {
        return Err(format!("SLOWLOG has {time} ms for a call of {waited} ms").into());
    }
    Ok((reply, time))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The time after which a row has no further run. Long calls have one run.
const BUDGET: Duration = Duration::from_millis(1500);

/// The numbers of the runs of a row: one, and more up to `most` while there is time.
pub fn runs(most: u32) -> impl Iterator<Item = u32> {
    let started = Instant::now();
    (0..most).take_while(move |&done| done == 0 || started.elapsed() < BUDGET)
}
