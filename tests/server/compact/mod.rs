//! BF.COMPACT: what it frees, replicates and refuses. Compacted filters through every entry point.

mod at_limits;
mod calls;
mod changes;
mod defrag;
mod dumps;
mod entry_points;
mod filters;
mod golden;
mod redisbloom;
mod replicated;
mod replies;
