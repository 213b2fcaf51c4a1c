//! The server's C interface as safe Rust: nothing here knows a filter or a setting.
//!
//! | file | wraps |
//! |---|---|
//! | [`api`] | the table of the server's functions |
//! | [`alloc`] | the server's allocator, as the global allocator |
//! | [`args`] | the arguments of a call |
//! | [`audit`] | what a call changed, replicated and signalled, in builds with a debug allocator |
//! | [`background`] | freeing large values on another thread |
//! | [`clock`] | the time |
//! | [`command`], [`command_docs`] | registering commands and describing them |
//! | [`config`] | module settings in the server's configuration |
//! | [`context`] | a call: its reply, its replication, its origin flags |
//! | [`info`], [`server_info`] | the module's section of INFO; sections of the server |
//! | [`key`] | an open key |
//! | [`loading`] | the loading of the module |
//! | [`log`] | the server's log |
//! | [`number`] | numbers in arguments |
//! | [`rdb`] | the stream of a value in an RDB file |
//! | [`system`] | the operating system: memory, random bytes |
//! | [`version`] | the server's version |
//!
//! Only this folder and the callbacks of `data_type` call the server. The server calls them, the
//! entry point of `command`, and `module`.

pub mod alloc;
pub mod api;
pub mod args;
pub mod audit;
pub mod background;
pub mod clock;
pub mod command;
pub mod command_docs;
pub mod config;
pub mod context;
pub mod info;
pub mod key;
pub mod loading;
pub mod log;
pub mod number;
pub mod rdb;
pub mod server_info;
pub mod system;
pub mod version;
