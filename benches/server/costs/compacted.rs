//! Bytes per item of filters that have grown, before and after BF.COMPACT.

use redis::cmd;

use super::{Plan, send_items, size_of};
use crate::column::Planned;
use crate::items::Item;
use crate::result::Result;
use crate::row::{Figures, Group, Row};
use crate::server::Server;
use crate::workloads::thousands;

/// The parameters of a filter that nobody reserved.
const ERROR: f64 = 0.01;
const CAPACITY: u64 = 100;
const EXPANSION: u64 = 2;

/// Sizes per decade.
const STEPS: i32 = 4;

pub fn group(plan: Plan) -> Group {
    let items_of = |step| 10_f64.powf(f64::from(step) / f64::from(STEPS)).round() as u64;
    let first = 4 * STEPS;
    let row = |step| {
        // The filter goes on growing from row to row.
        let added = if step == first { 0 } else { items_of(step - 1) };
        let items = items_of(step);
        Row::of(thousands(items), move |server, _| {
            send_items(server, "BF.MADD", plan.kind, (added..items).map(Item::Stored))?;
            figures(server, items)
        })
    };
    let rows = (first..=plan.size(7, 6, 4) * STEPS).map(row).collect();
    Group {
        heads: &[
            ("bytes per item", 3),
            ("compacted", 3),
            ("RedisBloom", 3),
            ("1.44 log2(1/e)", 3),
            ("compacted / RedisBloom", 3),
        ],
        is_whole: true,
        has_average: true,
        ..Group::new("Bytes per item of a grown filter, compacted", Planned::has_windows, rows)
    }
}

/// The figures of the filter, in the order of the heads. A copy is compacted.
fn figures(server: &mut Server, items: u64) -> Result<Figures> {
    server.run("COPY filter copy REPLACE")?;
    let before = size_of(server, "copy")?;
    let freed: u64 = cmd("BF.COMPACT").arg("copy").query(&mut server.connection)?;
    let after = size_of(server, "copy")?;
    if before - freed != after {
        return Err(format!("BF.COMPACT freed {freed} of {before}, {after} are left").into());
    }
    let bytes = |bytes: u64| bytes as f64 / items as f64;
    let redisbloom = redisbloom_bytes(items);
    let classic = (1.0 / ERROR).log2() / std::f64::consts::LN_2 / 8.0;
    let ratio = after as f64 / redisbloom as f64;
    Ok(vec![bytes(before), bytes(after), bytes(redisbloom), classic, ratio])
}

/// Bytes of the links of RedisBloom's filter with a number of items. Each link has half of the rate
/// of the link before it, and the first one half of the target rate.
fn redisbloom_bytes(items: u64) -> u64 {
    let (mut capacity, mut error, mut room, mut bytes) = (CAPACITY, ERROR / 2.0, 0, 0);
    while room < items {
        let bits = capacity as f64 * -error.ln() / std::f64::consts::LN_2.powi(2);
        bytes += 8 * (bits as u64).div_ceil(64);
        room += capacity;
        capacity *= EXPANSION;
        error /= 2.0;
    }
    bytes
}
