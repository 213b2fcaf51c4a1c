//! BF.MERGE and BF.COMPACT, each beside a plain pass over as much memory.

use super::bench::Bench;
use super::clock::runs;
use super::filters::{FILTER, OTHER, reserve};
use super::plain::unite;
use crate::bits::Bits;
use crate::result::Result;

/// Measures both on filters of about this many bytes, all pages of which were written.
pub fn measure(bench: &mut Bench, bytes: u64, capacity: u64) -> Result<()> {
    let (half, sparse) = (Bits::new(1), Bits::sparse());
    bench.server.run(&(reserve(FILTER, capacity, bench.layout) + " NONSCALING"))?;
    half.fill(bench.server, FILTER)?;
    bench.server.run("BF.ADD filter item")?;
    let words = usize::try_from(bytes / 8)?;
    let (mut to, from) = (vec![0x5a_u64; words], vec![0xa5_u64; words]);
    for _ in runs(bench.most_runs, bench.most_runs) {
        // COPY keeps the seed, without which filters cannot be merged.
        bench.server.run("COPY filter other")?;
        sparse.fill(bench.server, OTHER)?;
        bench.add("plain OR of as much memory", unite(&mut to, &from));
        bench.line("BF.MERGE into a filled filter", "BF.MERGE other filter")?;
        bench.server.run("DEL other")?;
        bench.all_freed()?;
    }
    drop(from);
    sparse.fill(bench.server, FILTER)?;
    for _ in runs(bench.most_runs, bench.most_runs) {
        bench.server.run("COPY filter other")?;
        let (first, second) = to.split_at_mut(words / 2);
        bench.add("plain OR of one half into the other", unite(first, second));
        bench.line("BF.COMPACT, 60 % full", "BF.COMPACT other")?;
        bench.server.run("DEL other")?;
        bench.all_freed()?;
    }
    bench.flush()
}
