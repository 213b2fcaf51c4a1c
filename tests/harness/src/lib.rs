//! Real servers for tests and benches: finds them, starts them with the module, sends commands,
//! reads replies, stops them.
//!
//! | module | what it does |
//! |---|---|
//! | `kinds` | finds the servers in `.servers`, and runs a test on each of them |
//! | `server` | starts and stops one server process in a folder of its own |
//! | `shared` | servers that one test uses after another |
//! | `client` | one connection that keeps replies exactly as the server sent them |
//! | `reply`, `table` | replies as one line of text; tables of commands with expected replies |
//! | `replica` | a replica that records the commands of the replication link |
//! | `payload` | the frame of a DUMP payload: version and checksum |
//! | `limits`, `sandbox` | limits of memory and files; a system without random bytes |
//! | `ports` | free loopback ports that no other program takes meanwhile |
//! | `process` | what the operating system reports of a process |
//! | `random`, `wait` | repeatable items; polling with a deadline |
//! | `c_module` | modules written in C for one test |
//! | `clock` | wall clocks of servers, which a test moves |
//! | `cores` | the cores on which the client and the servers of a bench run |

mod arguments;
// For the hash of the sources.
#[allow(dead_code, reason = "a build script has a main function")]
#[path = "../../../build.rs"]
mod build;
mod c_module;
mod client;
mod clock;
mod cores;
mod kinds;
mod limits;
mod payload;
mod ports;
mod process;
mod random;
mod replica;
mod reply;
mod sandbox;
mod server;
mod shared;
mod table;
mod wait;

use std::path::{Path, PathBuf};

pub use arguments::arguments;
pub use c_module::CModule;
pub use client::{Client, append_only_file};
pub use clock::Clock;
pub use cores::CoreSet;
pub use kinds::{
    Kind, Tier, find_servers, for_each_build, for_each_server, for_each_server_long,
    for_newest_servers, newest, one_per_version, quick, report_missing, servers_folder,
};
pub use limits::Limits;
pub use payload::{DUMP_FOOTER, body_of_dump, seal_dump, truncate_dump};
pub use ports::free_port;
pub use process::Process;
pub use random::{Random, numbered};
pub use replica::Replica;
pub use reply::{bulk, int, show};
pub use server::{NOISE, Refusal, Server, Setup, Stop, module, module_for, redisbloom};
pub use shared::Shared;
pub use table::{Row, check_rows, matches};
pub use wait::{DEADLINE, SetOnDrop, poll, until};

/// The top folder of the repository.
pub fn repository() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    folder.canonicalize().unwrap_or(folder)
}
