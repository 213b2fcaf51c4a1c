//! The table of commands.

use redis_module::raw::{
    REDISMODULE_CMD_KEY_ACCESS, REDISMODULE_CMD_KEY_INSERT, REDISMODULE_CMD_KEY_RO, REDISMODULE_CMD_KEY_RW,
};

use super::handler::{Handler, shim};
use super::{dump, info, read, write};
use crate::server::register::{Access, Command};

/// What a key is opened for by commands that only look.
const LOOKS: Access = Access { flags: "readonly fast", categories: "bloom read fast", key: LOOKS_AT_KEY };
const LOOKS_AT_KEY: u32 = REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS;

/// The same for those that may take long: they copy up to 16 MiB.
const READS: Access = Access { flags: "readonly", categories: "bloom read", key: LOOKS_AT_KEY };

/// What it is opened for by commands that add.
const ADDS: Access = Access { flags: "write deny-oom", categories: "bloom write", key: ADDS_TO_KEY };
const ADDS_TO_KEY: u32 = REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_INSERT;

/// The same for those whose answer depends on what was there.
const ADDS_AND_TELLS: Access = Access {
    key: ADDS_TO_KEY | REDISMODULE_CMD_KEY_ACCESS,
    flags: "write deny-oom fast",
    categories: "bloom write fast",
};
const ADDS_MANY_AND_TELLS: Access = Access { key: ADDS_AND_TELLS.key, ..ADDS };

/// All commands, named as the server's own are. Their `since` is RedisBloom's, which clients' documentation goes by.
pub static COMMANDS: [Command; 11] = [
    Command {
        name: c"bf.reserve",
        summary: c"Creates an empty Bloom filter",
        complexity: c"O(1)",
        ..of::<write::Reserve>(&ADDS)
    },
    Command {
        name: c"bf.add",
        summary: c"Adds an item to a Bloom filter, which is created if it does not exist",
        complexity: c"O(N) where N is the number of layers",
        ..of::<write::Add>(&ADDS_AND_TELLS)
    },
    Command {
        name: c"bf.madd",
        summary: c"Adds one or more items to a Bloom filter, which is created if it does not exist",
        complexity: c"O(M * N) where M is the number of items and N the number of layers",
        ..of::<write::Madd>(&ADDS_MANY_AND_TELLS)
    },
    Command {
        name: c"bf.insert",
        summary: c"Adds one or more items to a Bloom filter, which is created as asked if it does not exist",
        complexity: c"O(M * N) where M is the number of items and N the number of layers",
        ..of::<write::Insert>(&ADDS_MANY_AND_TELLS)
    },
    Command {
        name: c"bf.exists",
        summary: c"Determines whether an item may have been added to a Bloom filter",
        complexity: c"O(N) where N is the number of layers",
        ..of::<read::Exists>(&LOOKS)
    },
    Command {
        name: c"bf.mexists",
        summary: c"Determines whether one or more items may have been added to a Bloom filter",
        complexity: c"O(M * N) where M is the number of items and N the number of layers",
        ..of::<read::Mexists>(&LOOKS)
    },
    Command {
        name: c"bf.info",
        summary: c"Returns what is known of a Bloom filter",
        complexity: c"O(N) where N is the number of layers",
        tips: c"dont_cache",
        ..of::<info::Info>(&LOOKS)
    },
    Command {
        name: c"bf.card",
        summary: c"Returns the number of items that were added to a Bloom filter",
        complexity: c"O(N) where N is the number of layers",
        since: c"2.4.4",
        ..of::<read::Card>(&LOOKS)
    },
    Command {
        name: c"bf.debug",
        summary: c"Returns what is known of each layer of a Bloom filter",
        complexity: c"O(N) where N is the number of layers",
        tips: c"dont_cache",
        ..of::<info::Debug>(&READS)
    },
    Command {
        name: c"bf.scandump",
        summary: c"Begins or continues to save a Bloom filter piece by piece",
        complexity: c"O(N) where N is the number of bytes returned, at most 16 MiB",
        tips: c"dont_cache",
        ..of::<dump::Scandump>(&READS)
    },
    Command {
        name: c"bf.loadchunk",
        summary: c"Restores a Bloom filter saved by BF.SCANDUMP, piece by piece",
        complexity: c"O(N) where N is the number of bytes given",
        ..of::<dump::Loadchunk>(&ADDS)
    },
];

/// What is the same in most commands.
const fn of<H: Handler>(access: &'static Access) -> Command {
    Command {
        name: c"",
        arity: if H::LEAST == H::MOST { H::LEAST as i32 } else { -(H::LEAST as i32) },
        summary: c"",
        complexity: c"",
        since: c"1.0.0",
        tips: c"",
        access,
        run: shim::<H>,
    }
}
