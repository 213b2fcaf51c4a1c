//! Filters as keys: copies, time to live, events, WATCH, client-side caching, transactions.

pub mod changes;
mod expiry;
mod key_life;
mod transactions;
