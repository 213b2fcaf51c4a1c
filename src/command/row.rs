//! What the rows of both tables of commands have in common.

use redis_module::raw::{
    REDISMODULE_CMD_KEY_ACCESS, REDISMODULE_CMD_KEY_INSERT, REDISMODULE_CMD_KEY_RO,
    REDISMODULE_CMD_KEY_RW, REDISMODULE_CMD_KEY_UPDATE,
};

use super::handler::{Handler, Keyless, entry, entry_without_key};
use crate::server::command::{Access, Command, Keys, Run};

/// How commands use a key that they only read.
pub const READ_KEY: u32 = REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS;
/// How commands use a key that they write.
pub const WRITE_KEY: u32 = REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_INSERT;

/// Commands that only read.
pub const READ_FAST: Access = Access { flags: "readonly fast", keys: Keys::First(READ_KEY) };

/// Commands that only read, and may take milliseconds: they copy up to 16 MiB, or count bits.
pub const READ: Access = Access { flags: "readonly", keys: Keys::First(READ_KEY) };

/// Commands that write.
pub const WRITE: Access = Access { flags: "write deny-oom", keys: Keys::First(WRITE_KEY) };

/// Commands that write, and whose reply depends on the old content of the key.
pub const UPDATE: Access =
    Access { keys: Keys::First(WRITE_KEY | REDISMODULE_CMD_KEY_ACCESS), ..WRITE };

/// Commands that make a value smaller, also without free memory. Without UPDATE, servers would
/// require no permission to write the key.
pub const SHRINK: Access = Access {
    flags: "write",
    keys: Keys::First(
        REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_ACCESS | REDISMODULE_CMD_KEY_UPDATE,
    ),
};

/// Commands without a key. As the server's own HELP commands, they are executed in every state of
/// the server.
pub const NO_KEY: Access = Access { flags: "allow-loading allow-stale", keys: Keys::None };

/// A command with the fields that most commands have in common.
pub const fn command<H: Handler>(access: &'static Access) -> Command {
    let (least, most) = (*H::ARGS.start() as i32, *H::ARGS.end());
    let arity = if least as usize == most { least } else { -least };
    let run = if access.is_writing() { entry::<H, true> } else { entry::<H, false> };
    of(access, arity, run)
}

pub const fn command_without_key<H: Keyless>(access: &'static Access) -> Command {
    of(access, 1, entry_without_key::<H>)
}

const fn of(access: &'static Access, arity: i32, run: Run) -> Command {
    Command {
        name: c"",
        arity,
        summary: c"",
        hint: c"",
        complexity: c"",
        since: c"1.0.0",
        tips: c"",
        access,
        args: &[],
        run,
    }
}
