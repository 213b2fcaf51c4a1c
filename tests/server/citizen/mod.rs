//! What an operator expects of a native type: that the whole server works with it, and shows what
//! it does.

mod acl;
mod clash;
mod command_docs;
mod command_table;
mod config;
mod deleting;
mod digest;
mod digest_large;
mod events;
mod fill_cost;
mod freeing;
mod help;
mod info_fields;
mod info_section;
mod key_life;
mod limits;
mod limits_copies;
mod limits_obeyed;
mod memory_usage;
mod module_calls;
pub mod questions;
mod refused_items;
mod scripting;
mod tracking;
mod watching;
