//! Pages that are copied because items are added while a child process saves.

use super::{Cases, Experiment, Plan, Subject};
use crate::bits::reserve_filled;
use crate::items::Item;
use crate::payload::{Payload, send};
use crate::result::Result;
use crate::server::Server;
use crate::workloads::{Traffic, thousands};

pub const EXPERIMENT: Experiment = Experiment {
    title: "Pages copied while a child saves",
    heads: &[("MB", 0), ("pages of the filter", 0), ("pages copied", 0), ("per item", 2)],
    run,
};

const PAGE: u64 = 4096;

fn run(subject: &Subject, plan: Plan) -> Result<Cases> {
    // 276 MB in RedisBloom's layout at full scale. The smaller scales have similar ratios.
    let capacity = plan.size(200_000_000, 20_000_000, 2_000_000);
    let additions: [u64; 3] = plan.size([1_000, 5_000, 20_000], [100, 500, 2_000], [10, 50, 200]);
    // The child must still run when the items arrive. It waits for this time after each key, and
    // does not compress, so that it needs no memory of its own.
    let delay = plan.size("2000000", "300000", "200000");
    let delay = format!("rdb-key-save-delay {delay}");
    let mut server = subject.server(&[&delay, "rdbcompression no"])?;
    // Few bits are set, so that nearly every bit of an item is new, but all pages are backed by
    // memory.
    let bytes = reserve_filled(&mut server, capacity, 4)?;

    let mut next = 0;
    let baseline = copied(&mut server, plan, 0..0)?;
    let mut lines = Vec::new();
    for count in additions {
        let pages = copied(&mut server, plan, next..next + count)?.saturating_sub(baseline) / PAGE;
        next += count;
        let figures =
            [bytes as f64 / 1e6, (bytes / PAGE) as f64, pages as f64, pages as f64 / count as f64];
        lines.push((format!("{} items", thousands(count)), figures.to_vec()));
    }
    Ok(lines)
}

/// Bytes that the child of a BGSAVE copies if these items are added meanwhile.
fn copied(server: &mut Server, plan: Plan, items: std::ops::Range<u64>) -> Result<u64> {
    let payload = Payload::of_items("BF.ADD", "filter", 1, plan.kind, items.map(Item::Stored));
    server.run("BGSAVE")?;
    send(server, Traffic::Pipelined, &payload)?;
    if server.info::<u64>("persistence", "rdb_bgsave_in_progress")? == 0 {
        return Err("the save ended before the items were added".into());
    }
    server.wait_for_save()?;
    server.info("persistence", "rdb_last_cow_size")
}
