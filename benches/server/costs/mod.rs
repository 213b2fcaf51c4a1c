//! The costs of filters other than time: memory, disk, copied pages, replicated bytes.
//! `docs/benchmarks.md` explains the figures of each group.
//!
//! They are measured for this module in each layout and for each peer. Filters that are saved,
//! freed or copied are filled with random bits instead of items. A full filter has such bits.

mod compacted;
mod copied;
mod freed;
mod rates;
mod replicated;
mod saved;
mod tiny;

use redis::cmd;

use crate::items::{Item, Kind};
use crate::options::Options;
use crate::payload::{Payload, send};
use crate::result::Result;
use crate::row::Group;
use crate::scale::Scale;
use crate::server::Server;
use crate::workloads::Traffic;

/// The sizes of a run.
#[derive(Clone, Copy)]
struct Plan {
    scale: Scale,
    kind: Kind,
}

impl Plan {
    fn size<T>(self, full: T, quick: T, smoke: T) -> T {
        match self.scale {
            Scale::Full => full,
            Scale::Quick => quick,
            Scale::Smoke => smoke,
        }
    }
}

/// A group for each table of costs.
pub fn groups(options: &Options) -> Vec<Group> {
    let plan = Plan { scale: options.scale, kind: options.items };
    vec![
        rates::group(plan),
        compacted::group(plan),
        tiny::group(plan),
        saved::group(plan),
        freed::group(plan),
        copied::group(plan),
        replicated::group(plan),
    ]
}

/// The bytes of a filter by BF.INFO.
fn size_of(server: &mut Server, key: &str) -> Result<u64> {
    let (size,) = cmd("BF.INFO").arg(key).arg("SIZE").query(&mut server.connection)?;
    Ok(size)
}

/// Sends the items in calls of 1,000; returns the sum of the answers.
fn send_items(
    server: &mut Server,
    command: &str,
    kind: Kind,
    mut items: impl Iterator<Item = Item>,
) -> Result<u64> {
    /// Items encoded at once, so that ten million items are never in memory together.
    const SLICE: usize = 100_000;
    let mut ones = 0;
    loop {
        let slice = items.by_ref().take(SLICE);
        let payload = Payload::of_items(command, "filter", 1000, kind, slice);
        if payload.items == 0 {
            return Ok(ones);
        }
        ones += send(server, Traffic::Pipelined, &payload)?.ones;
    }
}
