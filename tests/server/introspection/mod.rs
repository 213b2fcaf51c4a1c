//! What a server reports: its table of commands, digests of filters, the INFO section of the
//! module, totals.

mod command_docs;
pub mod command_table;
mod cuckoo;
mod digest;
mod digest_large;
mod info_section;
pub mod totals;
mod windowed;
