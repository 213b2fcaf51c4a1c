//! The table of the commands of cuckoo filters, and CF.HELP, which shows it.

use redis_module::raw::{
    REDISMODULE_CMD_KEY_ACCESS, REDISMODULE_CMD_KEY_DELETE, REDISMODULE_CMD_KEY_RW,
};

use super::read::Count;
use super::{add, bulk, compact, create, dump, info, options, remove};
use crate::command::bulk::{Bulk, BulkExists};
use crate::command::handler::Keyless;
use crate::command::help;
use crate::command::row::{
    NO_KEY, READ, READ_FAST, SHRINK, UPDATE, WRITE, command, command_without_key,
};
use crate::command::{read, syntax};
use crate::server::command::{Access, Command, Family, Keys};
use crate::server::context::Context;
use bloomline_core::host::cuckoo::AnyCuckoo;

pub const FAMILY: Family = Family { category: c"cuckoo", commands: &COMMANDS };

/// Commands that delete items, also without free memory.
const DELETE: Access = Access {
    flags: "write fast",
    keys: Keys::First(
        REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_ACCESS | REDISMODULE_CMD_KEY_DELETE,
    ),
};

/// Commands that delete many items in a call.
const BULK_DELETE: Access = Access { flags: "write", ..DELETE };

/// The commands of cuckoo filters. Their `since` is RedisBloom's version.
static COMMANDS: [Command; 19] = [
    Command {
        name: c"cf.reserve",
        summary: c"Creates an empty cuckoo filter",
        hint: c"ERROR is the highest false-positive rate, also after growth; EXPANSION 0: no growth. \
                BUCKETSIZE and MAXITERATIONS are for LAYOUT REDISBLOOM only.",
        complexity: c"O(1)",
        args: &options::RESERVE,
        ..command::<create::Reserve>(&WRITE)
    },
    Command {
        name: c"cf.add",
        summary: c"Adds an item to a cuckoo filter, which is created if it does not exist",
        hint: c"Replies 1. An item that is added twice has two copies: each deletion removes one.",
        complexity: c"O(N + I) where N is the number of tables and I of iterations",
        args: syntax::ADD,
        ..command::<add::Add>(&UPDATE)
    },
    Command {
        name: c"cf.addnx",
        summary: c"Adds an item to a cuckoo filter if it does not seem to be there",
        hint: c"Replies 1 if it was added, 0 if it seemed to be there, which another item can cause: \
                delete it only after a 1.",
        complexity: c"O(N + I) where N is the number of tables and I of iterations",
        args: syntax::ADD,
        ..command::<add::AddNx>(&UPDATE)
    },
    Command {
        name: c"cf.insert",
        summary: c"Adds one or more items to a cuckoo filter, which is created with the options if \
                   it does not exist",
        hint: c"Replies for each item: 1 if it was added, -1 if there is no room.",
        complexity: c"O(M * (N + I)) where M is the number of items, N of tables and I of iterations",
        args: &options::INSERT,
        ..command::<add::Insert>(&UPDATE)
    },
    Command {
        name: c"cf.insertnx",
        summary: c"Adds one or more items to a cuckoo filter, except those that seem to be there",
        hint: c"Replies for each item: 1 if it was added, 0 if it seemed to be there, -1 if there is no \
                room.",
        complexity: c"O(M * (N + I)) where M is the number of items, N of tables and I of iterations",
        args: &options::INSERT,
        ..command::<add::InsertNx>(&UPDATE)
    },
    Command {
        name: c"cf.exists",
        summary: c"Determines whether an item may be in a cuckoo filter",
        hint: c"Replies 0 (certainly not) or 1 (probably); 0 if there is no such key.",
        complexity: c"O(N) where N is the number of tables",
        args: syntax::ADD,
        ..command::<read::Exists<AnyCuckoo>>(&READ_FAST)
    },
    Command {
        name: c"cf.mexists",
        summary: c"Determines whether one or more items may be in a cuckoo filter",
        hint: c"Replies for each item as CF.EXISTS does.",
        complexity: c"O(M * N) where M is the number of items and N of tables",
        args: syntax::MADD,
        ..command::<read::Mexists<AnyCuckoo>>(&READ_FAST)
    },
    Command {
        name: c"cf.count",
        summary: c"Returns how often an item may be in a cuckoo filter",
        hint: c"Never less than its copies in the filter; 0 if there is no such key.",
        complexity: c"O(N) where N is the number of tables",
        args: syntax::ADD,
        ..command::<Count>(&READ_FAST)
    },
    Command {
        name: c"cf.bulkadd",
        summary: c"Adds items that are packed in one string to a cuckoo filter, which is created if \
                   it does not exist",
        hint: c"Packed as lines, as items of width bytes, or each after its length. Replies: the number \
                of items and a bitmap, 1 for added; with COUNT, the number of ones.",
        complexity: c"O(M * (N + I)) where M is the number of items, N of tables and I of iterations",
        since: c"0.1.0",
        args: syntax::BULK,
        ..command::<Bulk<bulk::BulkAdd>>(&UPDATE)
    },
    Command {
        name: c"cf.bulkexists",
        summary: c"Determines whether items that are packed in one string may be in a cuckoo filter",
        hint: c"Replies with the number of items and a bitmap, 1 for probably there; with COUNT, with \
                the number of ones.",
        complexity: c"O(M * N) where M is the number of items and N of tables",
        since: c"0.1.0",
        args: syntax::BULK,
        ..command::<Bulk<BulkExists<AnyCuckoo>>>(&READ)
    },
    Command {
        name: c"cf.bulkdel",
        summary: c"Deletes items that are packed in one string from a cuckoo filter",
        hint: c"Replies with the number of items and a bitmap, 1 for deleted; with COUNT, with the \
                number of ones. Delete only what was added.",
        complexity: c"O(M * N) where M is the number of items and N of tables",
        since: c"0.1.0",
        args: syntax::BULK,
        ..command::<Bulk<remove::BulkDel>>(&BULK_DELETE)
    },
    Command {
        name: c"cf.del",
        summary: c"Deletes an item from a cuckoo filter, one copy of it",
        hint: c"Replies 1 if a copy was deleted, else 0. Delete only what was added: otherwise an item \
                that looks the same may be lost.",
        complexity: c"O(N) where N is the number of tables; tables that may be emptied are moved",
        args: syntax::ADD,
        ..command::<remove::Del>(&DELETE)
    },
    Command {
        name: c"cf.mdel",
        summary: c"Deletes one or more items from a cuckoo filter, one copy of each",
        hint: c"Replies for each item as CF.DEL does.",
        complexity: c"O(M * N) where M is the number of items and N of tables",
        since: c"0.1.0",
        args: syntax::MADD,
        ..command::<remove::Mdel>(&DELETE)
    },
    Command {
        name: c"cf.compact",
        summary: c"Moves the items of newer tables of a cuckoo filter to older ones with room",
        hint: c"Frees tables that are empty then, halves those that are less than half full. Call it \
                after deletions.",
        complexity: c"O(N) where N is the number of bytes of all tables",
        args: syntax::KEY_ONLY,
        ..command::<compact::Compact>(&SHRINK)
    },
    Command {
        name: c"cf.info",
        summary: c"Returns the parameters and the state of a cuckoo filter",
        hint: c"Size is in bytes. CAPACITY, ERROR, FPRATE and LAYOUT are returned only by name.",
        complexity: c"O(N) where N is the number of tables",
        tips: c"dont_cache",
        args: info::ARGS,
        ..command::<info::Info>(&READ_FAST)
    },
    Command {
        name: c"cf.debug",
        summary: c"Returns the parameters and the state of a cuckoo filter in one line",
        hint: c"The numbers of CF.INFO without the size.",
        complexity: c"O(N) where N is the number of tables",
        tips: c"dont_cache",
        args: syntax::KEY_ONLY,
        ..command::<info::Debug>(&READ_FAST)
    },
    Command {
        name: c"cf.scandump",
        summary: c"Reads a cuckoo filter in chunks",
        hint: c"Begin with iterator 0, continue with the iterator of each reply, end when it is 0.",
        complexity: c"O(N) where N is the number of bytes returned, at most 16 MiB",
        tips: c"dont_cache",
        args: syntax::SCANDUMP,
        ..command::<dump::Scandump>(&READ)
    },
    Command {
        name: c"cf.loadchunk",
        summary: c"Loads a chunk that CF.SCANDUMP has returned",
        hint: c"Takes iterator and data of each reply of CF.SCANDUMP, in the same order.",
        complexity: c"O(N) where N is the number of bytes given",
        args: syntax::LOADCHUNK,
        ..command::<dump::Loadchunk>(&WRITE)
    },
    Command {
        name: c"cf.help",
        summary: c"Returns the syntax of the commands of cuckoo filters",
        hint: c"This text.",
        complexity: c"O(1)",
        since: c"0.1.0",
        ..command_without_key::<Help>(&NO_KEY)
    },
];

struct Help;

impl Keyless for Help {
    fn run(context: Context) {
        help::reply(context, "CF", &COMMANDS);
    }
}
