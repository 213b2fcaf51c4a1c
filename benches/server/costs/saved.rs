//! A large filter in an RDB file and in an append-only file: time, and memory in addition to its
//! own.

use std::time::Instant;

use redis::cmd;

use super::Plan;
use crate::bits::{Bits, reserve_filled};
use crate::column::Planned;
use crate::result::Result;
use crate::row::{Figures, Group, Row};
use crate::server::Server;
use crate::workloads::thousands;

const MEGABYTE: f64 = 1e6;

/// How often a file is loaded. The first time, other memory of the machine may have to be freed.
const STARTS: usize = 5;

pub fn group(plan: Plan) -> Group {
    // 11.2 bits per item: a gigabyte, 64 MB, and enough to have several chunks.
    let sizes: &[u64] = plan.size(&[46_000_000, 715_000_000], &[46_000_000], &[1_000_000]);
    let row = |&capacity| {
        Row::of(format!("{} items", thousands(capacity)), move |server, _| {
            figures(server, capacity)
        })
    };
    Group {
        heads: &[
            ("MB", 0),
            ("SAVE s", 2),
            ("in addition, MB", 1),
            ("load s", 2),
            ("load peak / MB", 3),
            ("AOF rewrite s", 2),
            ("child, MB", 1),
            ("AOF load s", 2),
            ("AOF peak / MB", 3),
        ],
        ..Group::new(
            "Saving and loading one filter",
            Planned::is_module,
            sizes.iter().map(row).collect(),
        )
    }
}

fn figures(server: &mut Server, capacity: u64) -> Result<Figures> {
    server.renew()?;
    let bytes = reserve_filled(server, capacity, Bits::HALF)? as f64;

    let before = server.harness.process().resident()?;
    server.harness.process().reset_peak()?;
    let started = Instant::now();
    server.run("SAVE")?;
    let save = started.elapsed().as_secs_f64();
    let beyond = server.harness.process().peak()?.saturating_sub(before);

    let (load, load_peak) = restarted(server)?;

    let started = Instant::now();
    server.run("CONFIG SET aof-use-rdb-preamble no")?;
    server.run("CONFIG SET appendonly yes")?;
    let fields = ["aof_rewrite_in_progress", "aof_rewrite_scheduled"];
    server.wait_for_zero("persistence", &fields)?;
    let rewrite = started.elapsed().as_secs_f64();
    let status: String = server.info("persistence", "aof_last_bgrewrite_status")?;
    if status != "ok" {
        return Err(format!("the rewrite ended with {status}").into());
    }
    let child: u64 = server.info("persistence", "aof_last_cow_size")?;

    server.harness.edit_config("save \"\"", "save \"\"\nappendonly yes");
    let (aof_load, aof_peak) = restarted(server)?;
    let usage: u64 = cmd("MEMORY").arg("USAGE").arg("filter").query(&mut server.connection)?;
    if (usage as f64) < bytes {
        return Err("the append-only file did not restore the filter".into());
    }
    Ok(vec![
        bytes / MEGABYTE,
        save,
        beyond as f64 / MEGABYTE,
        load,
        load_peak as f64 / bytes,
        rewrite,
        child as f64 / MEGABYTE,
        aof_load,
        aof_peak as f64 / bytes,
    ])
}

/// [`loaded`] of the start of median time.
pub(super) fn restarted(server: &mut Server) -> Result<(f64, u64)> {
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        server.restart()?;
        starts.push(loaded(server)?);
    }
    starts.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(starts.swap_remove(STARTS / 2))
}

/// The seconds that the server took to load its file, and the most memory it held.
fn loaded(server: &Server) -> Result<(f64, u64)> {
    let peak = server.harness.process().peak()?;
    let log = server.harness.log();
    let text = log.lines().rev().find_map(|line| {
        line.split_once("DB loaded from ")?.1.split_once(": ")?.1.split(' ').next()
    });
    let seconds = text.ok_or("the log mentions no loaded file")?.parse()?;
    Ok((seconds, peak))
}
