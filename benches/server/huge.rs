//! Large filters with pages of 4 KiB and of 2 MiB.
//!
//! ```text
//! make bench ARGS="--huge --sizes 1g,4g,10g"
//! ```
//!
//! Two servers, one after the other, hold the same filter at 1 %, NONSCALING, with a 64th of its
//! capacity: so all pages are in use. The first may not have huge pages (`PR_SET_THP_DISABLE`). The
//! calls have a thousand packed items of eight bytes. The time is what the server counts for the
//! command, the longest call what the client has waited.

use std::time::Duration;
use std::{io, thread};

use bloomline_harness::poll;

use crate::bits::layer_bytes;
use crate::column::Planned;
use crate::items::{Item, Kind};
use crate::options::Options;
use crate::outcome::median;
use crate::packed::Form;
use crate::payload::{Payload, send};
use crate::result::Result;
use crate::row::{Figures, Group, Row};
use crate::sample::sample;
use crate::scale::Scale;
use crate::server::Server;
use crate::sizes;
use crate::workloads::{Traffic, scatter, thousands};

/// Items of a call.
const BATCH: u64 = 1000;
/// The last of the figures, of which the table has the maximum and not the median.
const LONGEST: usize = 5;
/// How long to wait for the huge pages of a filter.
const DEADLINE: Duration = Duration::from_secs(300);

/// The table of servers that may have huge pages, or not: a row for each capacity.
pub fn group(options: &Options, is_huge: bool) -> Result<Group> {
    let capacities = sizes::parse(match (options.sizes.as_str(), options.scale) {
        ("", Scale::Smoke) => "80m",
        ("", _) => "1g,4g",
        (sizes, _) => sizes,
    })?;
    let items = if options.scale == Scale::Smoke { 10 * BATCH } else { 2000 * BATCH };
    let rounds = options.rounds;
    let row = |capacity| {
        Row::of(format!("{} items", thousands(capacity)), move |server, _| {
            server.renew()?;
            fill(server, capacity, items, is_huge)?;
            let round = |round| figures(server, capacity / 64, items, round);
            let all = (0..rounds).map(round).collect::<Result<Vec<_>>>()?;
            let figure = |index| all.iter().filter_map(move |figures| figures.get(index).copied());
            let medians = (0..LONGEST).filter_map(|index| median(figure(index)));
            Ok(medians.chain(figure(LONGEST).max_by(f64::total_cmp)).collect())
        })
    };
    let pages = if is_huge { "2 MiB" } else { "4 KiB" };
    let rows = capacities.into_iter().map(row).collect();
    Ok(Group {
        heads: &[
            ("GB", 1),
            ("% in huge pages", 0),
            ("new ns", 1),
            ("hit ns", 1),
            ("absent ns", 1),
            ("longest call ms", 1),
        ],
        ..Group::new(format!("Large filters, pages of {pages}"), Planned::is_own_layout, rows)
    })
}

/// Permits huge pages to servers that this process starts, or forbids them.
pub fn permit_huge_pages(is_permitted: bool) -> Result<()> {
    // SAFETY: changes a setting of this process, which its children inherit.
    match unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, u64::from(!is_permitted), 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().into()),
    }
}

/// Fills the filter, and waits for its huge pages if it may have some.
fn fill(server: &mut Server, capacity: u64, items: u64, is_huge: bool) -> Result<()> {
    server.run(&format!("BF.RESERVE filter 0.01 {capacity} NONSCALING"))?;
    // Never all payloads are in memory.
    for first in (0..capacity / 64).step_by(1_000_000) {
        let items = first..(capacity / 64).min(first + 1_000_000);
        send(server, Traffic::Pipelined, &payload("BF.BULKADD", items.map(Item::Stored)))?;
    }
    if is_huge {
        let process = server.harness.process();
        let bytes: u64 = layer_bytes(server, "filter")?.iter().sum();
        poll(DEADLINE, || -> Result<Option<()>> {
            // The kernel counts page by page, and locks the mappings meanwhile.
            thread::sleep(Duration::from_secs(2));
            Ok((process.huge_pages()? >= bytes / 100 * 98).then_some(()))
        })?;
        if process.huge_pages()? == 0 {
            return Err("no huge pages: see docs/reference/memory.md#huge-pages".into());
        }
    }
    // The host of a virtual machine may have taken back memory that was idle.
    let absent = (0..items).map(Item::Absent);
    send(server, Traffic::Pipelined, &payload("BF.BULKEXISTS", absent)).map(|_| ())
}

/// Calls of packed items.
fn payload(command: &str, items: impl Iterator<Item = Item>) -> Payload {
    let mut payload = Payload::new(command, 0);
    let items: Vec<Item> = items.collect();
    for part in items.chunks(BATCH as usize) {
        payload.push_call("filter", Kind::Bytes8, Some(Form::Fixed), part);
    }
    payload
}

/// One round: new items, some of the first ones, and absent ones. Every round has others.
fn figures(server: &mut Server, filled: u64, items: u64, round: u32) -> Result<Figures> {
    let first = u64::from(round) * items;
    let new = (filled + first..filled + first + items).map(Item::Stored);
    // Any of the items, since those added in a row may be in the cache.
    let hits = (first..first + items).map(|number| Item::Stored(scatter(number, filled)));
    // The first ones were looked up before.
    let absent = (first + items..first + 2 * items).map(Item::Absent);
    let calls = [
        (payload("BF.BULKADD", new), 0.9..=1.0),
        (payload("BF.BULKEXISTS", hits), 1.0..=1.0),
        (payload("BF.BULKEXISTS", absent), 0.0..=0.1),
    ];
    let bytes = layer_bytes(server, "filter")?.iter().sum::<u64>() as f64;
    let huge = server.harness.process().huge_pages()? as f64;
    let (mut figures, mut longest) = (vec![bytes / 1e9, huge / bytes * 100.0], Duration::ZERO);
    for (payload, right) in calls {
        let sample = sample(server, Traffic::OneByOne, &payload)?;
        let share = sample.ones / items as f64;
        if !right.contains(&share) {
            return Err(format!("wrong answers: {share} of {}", payload.command).into());
        }
        figures.push(sample.microseconds * 1000.0 / items as f64);
        longest = longest.max(sample.longest);
    }
    figures.push(longest.as_secs_f64() * 1000.0);
    Ok(figures)
}
