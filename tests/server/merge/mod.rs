//! BF.MERGE and the estimates of BF.INFO: unions, refusals, replication, limits, clusters.

mod changes;
mod estimates;
mod fixture;
mod nodes;
mod rates;
mod refusals;
mod replicated;
mod unions;
mod windows;
