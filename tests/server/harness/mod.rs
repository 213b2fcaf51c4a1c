//! Real servers for the tests: found, started, spoken to, and stopped again.

mod c_module;
mod client;
mod kinds;
mod limits;
mod payload;
mod random;
mod replica;
mod reply;
mod sandbox;
mod server;
mod table;
mod wait;

pub use c_module::CModule;
pub use client::Client;
pub use kinds::{Kind, for_each_build, for_each_server, for_newest_servers, say_missing};
#[allow(unused_imports, reason = "for tests that include the harness from elsewhere")]
pub use kinds::{newest, one_per_version};
pub use limits::Limits;
pub use payload::{body_of_dump, seal_dump, truncate_dump};
pub use random::{Random, numbered};
pub use replica::Replica;
pub use reply::{bulk, int, show};
pub use server::{Server, Setup, Stop, module};
pub(crate) use table::rows;
pub use table::{Row, check_rows, matches, words};
pub use wait::{SetOnDrop, until};
