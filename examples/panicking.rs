//! A module that panics when asked to, with the hook of ours: shows on real servers what a bug
//! would leave in the log.
//!
//! No command of ours can be made to panic, and none should be for a test's sake. So this is a
//! module of its own, named `panicking`, that shares one source file with ours and links nothing of
//! it. `PANICKING.NOW` ends the server.

// `redis_module!` writes `RedisModule_OnLoad` without a doc comment.

use std::alloc::System;

use redis_module::{Context, RedisResult, RedisString, Status, redis_module};

#[allow(dead_code, reason = "ours logs more than panics")]
#[path = "../src/server/log.rs"]
mod log;

fn init(_context: &Context, _args: &[RedisString]) -> Status {
    log::panics();
    Status::Ok
}

#[expect(clippy::panic, reason = "what it is for")]
fn now(_context: &Context, _args: Vec<RedisString>) -> RedisResult {
    panic!("asked to\nby {} words", 2)
}

redis_module! {
    name: "panicking",
    version: 1,
    allocator: (System, System),
    data_types: [],
    init: init,
    commands: [["panicking.now", now, "readonly", 0, 0, 0, ""]],
}
