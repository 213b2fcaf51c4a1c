//! BF.MERGE and BF.COMPACT, each beside a plain pass over as much memory.

use std::hint::black_box;
use std::time::Instant;

use redis::{Value, cmd};

use super::bench::{Bench, OTHER};
use super::clock::{Repeats, milliseconds};
use super::filters::{self, Bits, FILTER};
use super::rows::Row;
use crate::result::Result;

/// Measures both on filters of about this many bytes, all pages of which were written.
pub fn measure(bench: &mut Bench, bytes: u64, capacity: u64) -> Result<()> {
    let (half, sparse) = (Bits::new(), Bits::sparse());
    let mut reserve = filters::reserve(FILTER, capacity, bench.layout);
    bench.execute(reserve.arg("NONSCALING"))?;
    filters::fill(bench.server, FILTER, &half)?;
    bench.execute(cmd("BF.ADD").arg(FILTER).arg("item"))?;
    let words = usize::try_from(bytes / 8)?;
    let (mut to, from) = (vec![0x5a_u64; words], vec![0xa5_u64; words]);
    let mut repeats = Repeats::between(bench.runs, bench.runs);
    while repeats.next() {
        // COPY keeps the seed, without which filters cannot be merged.
        bench.execute(cmd("COPY").arg(FILTER).arg(OTHER))?;
        filters::fill(bench.server, OTHER, &sparse)?;
        let started = Instant::now();
        unite(&mut to, &from);
        bench.add(Row::PlainOr, milliseconds(started.elapsed()));
        bench.timed::<Value>(Row::Merge, cmd("BF.MERGE").arg(OTHER).arg(FILTER))?;
        bench.execute(cmd("DEL").arg(OTHER))?;
        bench.all_freed()?;
    }
    drop(from);
    filters::fill(bench.server, FILTER, &sparse)?;
    let mut repeats = Repeats::between(bench.runs, bench.runs);
    while repeats.next() {
        bench.execute(cmd("COPY").arg(FILTER).arg(OTHER))?;
        let (first, second) = to.split_at_mut(words / 2);
        let started = Instant::now();
        unite(first, second);
        bench.add(Row::PlainFold, milliseconds(started.elapsed()));
        bench.timed::<Value>(Row::Compact, cmd("BF.COMPACT").arg(OTHER))?;
        bench.execute(cmd("DEL").arg(OTHER))?;
        bench.all_freed()?;
    }
    bench.flush()
}

/// ORs words into as many others, the plainest loop there is.
#[inline(never)]
fn unite(to: &mut [u64], from: &[u64]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
    black_box(to);
}
