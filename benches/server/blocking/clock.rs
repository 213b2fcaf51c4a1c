//! The time of one call as the server measures it, and how often a row is run.

use std::time::{Duration, Instant};

use redis::{Cmd, FromRedisValue, Value, cmd};

use crate::result::Result;
use crate::server::Server;

/// Entries requested from SLOWLOG: more than any series of calls here has.
const ENTRIES: u64 = 100_000;

/// Runs a command once; returns its reply and its milliseconds on the event loop.
pub fn timed<T: FromRedisValue>(server: &mut Server, command: &Cmd) -> Result<(T, f64)> {
    reset(server)?;
    let started = Instant::now();
    let reply = command.query(&mut server.connection)?;
    let waited = milliseconds(started.elapsed());
    let name = command.args_iter().find_map(|argument| match argument {
        redis::Arg::Simple(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    });
    match times(server, &name.unwrap_or_default())?.as_slice() {
        &[time] if time <= waited + 1.0 => Ok((reply, time)),
        other => Err(format!("SLOWLOG has {other:?} ms for a call of {waited} ms").into()),
    }
}

/// Begins a series of calls.
pub fn reset(server: &mut Server) -> Result<()> {
    server.run("SLOWLOG RESET")
}

/// The milliseconds of all calls of a command since the last reset, newest first.
pub fn times(server: &mut Server, command: &str) -> Result<Vec<f64>> {
    let entries: Vec<Vec<Value>> =
        cmd("SLOWLOG").arg("GET").arg(ENTRIES).query(&mut server.connection)?;
    let mut times = Vec::new();
    for entry in entries {
        // Id, time of day, microseconds, arguments of the call, and fields that are not needed.
        let mut fields = entry.into_iter().skip(2);
        let (Some(time), Some(arguments)) = (fields.next(), fields.next()) else {
            return Err("an entry of SLOWLOG has less than four fields".into());
        };
        let arguments: Vec<Vec<u8>> = redis::from_redis_value(arguments)?;
        if arguments.first().is_some_and(|name| name.eq_ignore_ascii_case(command.as_bytes())) {
            times.push(milliseconds(Duration::from_micros(redis::from_redis_value(time)?)));
        }
    }
    Ok(times)
}

/// The unit of the table.
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The time after which a row has no further run. Long calls have one run.
const BUDGET: Duration = Duration::from_millis(1500);

/// The numbers of the runs of a row: at least `least`, and more up to `most` while there is time.
pub fn runs(least: u32, most: u32) -> impl Iterator<Item = u32> {
    let started = Instant::now();
    (0..most).take_while(move |&done| done < least || started.elapsed() < BUDGET)
}
