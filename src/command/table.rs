//! The table of commands.

use redis_module::raw::{
    REDISMODULE_CMD_KEY_ACCESS, REDISMODULE_CMD_KEY_INSERT, REDISMODULE_CMD_KEY_RO,
    REDISMODULE_CMD_KEY_RW,
};

use super::handler::{Handler, shim};
use super::{dump, help, info, read, takes, write};
use crate::server::register::{Access, Command};

/// What a key is opened for by commands that only look.
const LOOKS: Access =
    Access { flags: "readonly fast", categories: "bloom read fast", key: Some(LOOKS_AT_KEY) };
const LOOKS_AT_KEY: u32 = REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS;

/// The same for those that may take milliseconds: they copy up to 16 MiB, or count bits.
const READS: Access =
    Access { flags: "readonly", categories: "bloom read", key: Some(LOOKS_AT_KEY) };

/// What it is opened for by commands that add.
const ADDS: Access =
    Access { flags: "write deny-oom", categories: "bloom write", key: Some(ADDS_TO_KEY) };
const ADDS_TO_KEY: u32 = REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_INSERT;

/// The same for those whose answer depends on what was there.
const ADDS_AND_TELLS: Access = Access {
    key: Some(ADDS_TO_KEY | REDISMODULE_CMD_KEY_ACCESS),
    flags: "write deny-oom fast",
    categories: "bloom write fast",
};
const ADDS_MANY_AND_TELLS: Access = Access { key: ADDS_AND_TELLS.key, ..ADDS };

/// A command that needs no data; so it answers as the HELP of the server's own commands does,
/// whatever state the server is in.
const ANSWERS: Access =
    Access { flags: "allow-loading allow-stale", categories: "bloom", key: None };

/// All commands, named as the server's own are. Their `since` is RedisBloom's, which clients'
/// documentation goes by.
pub static COMMANDS: [Command; 12] = [
    Command {
        name: c"bf.reserve",
        summary: c"Creates an empty Bloom filter",
        hint: c"An error rate of 0.01 is 1 %; when capacity items are in it, the filter grows, or is full if NONSCALING.",
        complexity: c"O(1)",
        takes: takes::RESERVE,
        ..of::<write::Reserve>(&ADDS)
    },
    Command {
        name: c"bf.add",
        summary: c"Adds an item to a Bloom filter, which is created if it does not exist",
        hint: c"Replies 1 if the item was new, 0 if it had probably been added.",
        complexity: c"O(N) where N is the number of layers",
        takes: takes::ADD,
        ..of::<write::Add>(&ADDS_AND_TELLS)
    },
    Command {
        name: c"bf.madd",
        summary: c"Adds one or more items to a Bloom filter, which is created if it does not exist",
        hint: c"Replies for each as BF.ADD does; ends with an error at the item for which a NONSCALING filter is full.",
        complexity: c"O(M * N) where M is the number of items and N the number of layers",
        takes: takes::MADD,
        ..of::<write::Madd>(&ADDS_MANY_AND_TELLS)
    },
    Command {
        name: c"bf.insert",
        summary: c"Adds one or more items to a Bloom filter, which is created as asked if it does not exist",
        hint: c"Replies as BF.MADD does. Options count only when the filter is created.",
        complexity: c"O(M * N) where M is the number of items and N the number of layers",
        takes: takes::INSERT,
        ..of::<write::Insert>(&ADDS_MANY_AND_TELLS)
    },
    Command {
        name: c"bf.exists",
        summary: c"Determines whether an item may have been added to a Bloom filter",
        hint: c"Replies 0 (certainly not) or 1 (probably); 0 if there is no such key.",
        complexity: c"O(N) where N is the number of layers",
        takes: takes::ADD,
        ..of::<read::Exists>(&LOOKS)
    },
    Command {
        name: c"bf.mexists",
        summary: c"Determines whether one or more items may have been added to a Bloom filter",
        hint: c"Replies for each as BF.EXISTS does.",
        complexity: c"O(M * N) where M is the number of items and N the number of layers",
        takes: takes::MADD,
        ..of::<read::Mexists>(&LOOKS)
    },
    Command {
        name: c"bf.info",
        summary: c"Returns what is known of a Bloom filter",
        hint: c"ERROR, LAYOUT, FILL and FPRATE are returned only by name.",
        complexity: c"O(N) where N is the number of layers; FILL and FPRATE count bits in up to 8192 pages",
        tips: c"dont_cache",
        takes: takes::INFO,
        ..of::<info::Info>(&READS)
    },
    Command {
        name: c"bf.card",
        summary: c"Returns the number of items that were added to a Bloom filter",
        hint: c"Items that looked new when they were added; 0 if there is no such key.",
        complexity: c"O(N) where N is the number of layers",
        since: c"2.4.4",
        takes: takes::KEY_ONLY,
        ..of::<read::Card>(&LOOKS)
    },
    Command {
        name: c"bf.debug",
        summary: c"Returns what is known of each layer of a Bloom filter",
        hint: c"A line for each layer, oldest first.",
        complexity: c"O(N) where N is the number of layers",
        tips: c"dont_cache",
        takes: takes::KEY_ONLY,
        ..of::<info::Debug>(&READS)
    },
    Command {
        name: c"bf.scandump",
        summary: c"Begins or continues to save a Bloom filter piece by piece",
        hint: c"Begin with iterator 0, go on with the one replied, end when it is 0 again.",
        complexity: c"O(N) where N is the number of bytes returned, at most 16 MiB",
        tips: c"dont_cache",
        takes: takes::SCANDUMP,
        ..of::<dump::Scandump>(&READS)
    },
    Command {
        name: c"bf.loadchunk",
        summary: c"Restores a Bloom filter saved by BF.SCANDUMP, piece by piece",
        hint: c"Takes iterator and data of each reply of BF.SCANDUMP, the one with iterator 1 first.",
        complexity: c"O(N) where N is the number of bytes given",
        takes: takes::LOADCHUNK,
        ..of::<dump::Loadchunk>(&ADDS)
    },
    Command {
        name: c"bf.help",
        summary: c"Returns what the commands of Bloom filters take and do",
        hint: c"This text.",
        complexity: c"O(1)",
        since: c"0.1.0",
        ..of::<help::Help>(&ANSWERS)
    },
];

/// What is the same in most commands.
const fn of<H: Handler>(access: &'static Access) -> Command {
    Command {
        name: c"",
        arity: if H::LEAST == H::MOST { H::LEAST as i32 } else { -(H::LEAST as i32) },
        summary: c"",
        hint: c"",
        complexity: c"",
        since: c"1.0.0",
        tips: c"",
        access,
        takes: &[],
        run: shim::<H>,
    }
}
