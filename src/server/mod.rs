//! The server seen from the module: safe words for its C interface.
//!
//! The only place, beside the callbacks of `data_type` and one shim of `command`, that calls it.

pub mod alloc;
pub mod api;
pub mod args;
pub mod config;
pub mod counters;
pub mod docs;
pub mod key;
pub mod limits;
pub mod loading;
pub mod log;
pub mod machine;
pub mod origin;
pub mod register;
pub mod replicate;
pub mod reply;
pub mod script;
pub mod seed;
pub mod server_info;
pub mod setting;
pub mod version;
