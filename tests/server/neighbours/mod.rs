//! What lies in memory beside a filter: nothing of it changes when the filter is freed.

mod defrag;
mod freed;
mod strings;
