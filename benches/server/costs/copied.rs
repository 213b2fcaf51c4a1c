//! Pages that are copied because items are added while a child process saves.

use std::ops::Range;

use super::Plan;
use crate::bits::{layer_bytes, reserve_filled};
use crate::column::Planned;
use crate::items::{Item, Kind};
use crate::payload::{Payload, send};
use crate::result::Result;
use crate::row::{Group, Row};
use crate::server::Server;
use crate::workloads::{Traffic, thousands};

const PAGE: u64 = 4096;

pub fn group(plan: Plan) -> Group {
    // 276 MB in RedisBloom's layout at full scale. The smaller scales have similar ratios.
    let capacity = plan.size(200_000_000, 20_000_000, 2_000_000);
    let additions: [u64; 3] = plan.size([1_000, 5_000, 20_000], [100, 500, 2_000], [10, 50, 200]);
    // The child must still run when the items arrive. It waits for this time after each key, and
    // does not compress, because that would allocate memory.
    let delay = plan.size(2_000_000, 300_000, 200_000);
    let row = |count| {
        Row::of(format!("{} items", thousands(count)), move |server, _| {
            let bytes: u64 = layer_bytes(server, "filter")?.iter().sum();
            let baseline = copied(server, plan.kind, 0..0)?;
            // Other items than in the other rows.
            let copied = copied(server, plan.kind, 10 * count..11 * count)?;
            let pages = copied.saturating_sub(baseline) / PAGE;
            let per_item = pages as f64 / count as f64;
            Ok(vec![bytes as f64 / 1e6, (bytes / PAGE) as f64, pages as f64, per_item])
        })
    };
    let rows = additions.into_iter().map(row).collect();
    let group = Group {
        heads: &[("MB", 0), ("pages of the filter", 0), ("pages copied", 0), ("per item", 2)],
        ..Group::new("Pages copied while a child saves", Planned::is_module, rows)
    };
    group.with(move |server| {
        server.run(&format!("CONFIG SET rdb-key-save-delay {delay}"))?;
        server.run("CONFIG SET rdbcompression no")?;
        // Few bits are set, so that nearly every bit of an item is new, but all pages are backed by
        // memory.
        reserve_filled(server, capacity, 2).map(|_| ())
    })
}

/// Bytes that the child of a BGSAVE copies if these items are added meanwhile.
fn copied(server: &mut Server, kind: Kind, items: Range<u64>) -> Result<u64> {
    let payload = Payload::of_items("BF.ADD", "filter", 1, kind, items.map(Item::Stored));
    server.run("BGSAVE")?;
    send(server, Traffic::Pipelined, &payload)?;
    if server.info::<u64>("persistence", "rdb_bgsave_in_progress")? == 0 {
        return Err("the save ended before the items were added".into());
    }
    server.wait_for_save()?;
    server.info("persistence", "rdb_last_cow_size")
}
