//! Bytes per item of filters that have grown, before and after BF.COMPACT.

use redis::cmd;

use super::rates::send_items;
use super::{Cases, Experiment, Plan, Subject, size_of};
use crate::items::Item;
use crate::result::Result;
use crate::server::Server;
use crate::workloads::thousands;

pub const EXPERIMENT: Experiment = Experiment {
    title: "Bytes per item of a grown filter, compacted",
    heads: &[
        ("bytes per item", 3),
        ("compacted", 3),
        ("RedisBloom", 3),
        ("1.44 log2(1/e)", 3),
        ("compacted / RedisBloom", 3),
    ],
    run,
};

/// The parameters of a filter that nobody reserved.
const ERROR: f64 = 0.01;
const CAPACITY: u64 = 100;
const EXPANSION: u64 = 2;

/// Sizes per decade.
const STEPS: i32 = 4;

fn run(subject: &Subject, plan: Plan) -> Result<Cases> {
    if !subject.forgets {
        // A module that has no windowed filters has no BF.COMPACT either.
        return Ok(Cases::new());
    }
    let last = plan.size(7, 6, 4);
    let mut server = subject.server(&[])?;
    let (mut cases, mut added) = (Cases::new(), 0);
    for step in 4 * STEPS..=last * STEPS {
        let items = 10_f64.powf(f64::from(step) / f64::from(STEPS)).round() as u64;
        send_items(&mut server, "BF.MADD", plan, (added..items).map(Item::Stored))?;
        added = items;
        cases.push((thousands(items), figures(&mut server, items)?));
    }
    let count = cases.len() as f64;
    let mean = |figure: usize| {
        cases.iter().filter_map(|(_, figures)| figures.get(figure)).sum::<f64>() / count
    };
    let means = (0..EXPERIMENT.heads.len()).map(mean).collect();
    cases.push((format!("average of {} sizes", thousands(count as u64)), means));
    Ok(cases)
}

/// The figures of the filter, in the order of the heads. A copy is compacted, because the filter
/// goes on growing.
fn figures(server: &mut Server, items: u64) -> Result<Vec<f64>> {
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

/// Bytes of the links of RedisBloom's filter with so many items. Each link has half of the rate of
/// the link before it, and the first one half of the target rate.
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
