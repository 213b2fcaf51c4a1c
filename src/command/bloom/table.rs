//! The table of the commands of Bloom filters, and BF.HELP, which shows it.

use std::ffi::CStr;

use redis_module::raw::REDISMODULE_CMD_KEY_ACCESS;

use super::bulk::BulkAdd;
use super::read::Card;
use super::{add, compact, create, dump, info, load, merge, rotate, stats, syntax};
use crate::command::bulk::{Bulk, BulkExists};
use crate::command::handler::Keyless;
use crate::command::row::{
    NO_KEY, READ, READ_FAST, READ_KEY, SHRINK, UPDATE, WRITE, WRITE_KEY, command,
    command_without_key,
};
use crate::command::syntax::{ADD, BULK, KEY_ONLY, LOADCHUNK, MADD, SCANDUMP};
use crate::command::{help, read};
use crate::server::command::{Access, Command, Family, Keys};
use crate::server::context::Context;
use bloomline_core::host::AnyFilter;

pub const FAMILY: Family = Family { category: c"bloom", commands: &COMMANDS };

/// Commands that write a single item, and whose reply depends on the old content of the key.
const UPDATE_FAST: Access = Access { flags: "write deny-oom fast", ..UPDATE };

/// Commands that change one key by others.
const MERGE: Access = Access {
    keys: Keys::DestinationAndSources {
        destination: WRITE_KEY | REDISMODULE_CMD_KEY_ACCESS,
        sources: READ_KEY,
    },
    ..WRITE
};

/// Tips of commands whose replies change with time, without a write: those about the items of
/// windowed filters. Caches of clients get no invalidation then.
const TIMED: &CStr = c"dont_cache nondeterministic_output";

/// The commands of Bloom filters. Their `since` is RedisBloom's version, to which the documentation
/// of clients refers.
static COMMANDS: [Command; 19] = [
    Command {
        name: c"bf.reserve",
        summary: c"Creates an empty Bloom filter",
        hint: c"An error rate of 0.01 is 1 %. Beyond its capacity the filter grows, or refuses items \
                (NONSCALING). WINDOW, LAST or GENERATIONS: it forgets old items.",
        complexity: c"O(1)",
        args: &syntax::RESERVE,
        ..command::<create::Reserve>(&WRITE)
    },
    Command {
        name: c"bf.add",
        summary: c"Adds an item to a Bloom filter, which is created if it does not exist",
        hint: c"Replies 1 if the item was new, 0 if it had probably been added before.",
        complexity: c"O(N) where N is the number of layers",
        args: ADD,
        ..command::<add::Add>(&UPDATE_FAST)
    },
    Command {
        name: c"bf.madd",
        summary: c"Adds one or more items to a Bloom filter, which is created if it does not exist",
        hint: c"Replies for each item as BF.ADD does. The reply ends with an error at the first item \
                that a full NONSCALING filter refuses.",
        complexity: c"O(M * N) where M is the number of items and N the number of layers",
        args: MADD,
        ..command::<add::Madd>(&UPDATE)
    },
    Command {
        name: c"bf.insert",
        summary:
            c"Adds one or more items to a Bloom filter, which is created with the options if it \
                   does not exist",
        hint: c"Replies as BF.MADD does. The options apply when the filter is created. Another WINDOW, \
                LAST or GENERATIONS than that of an existing filter is an error.",
        complexity: c"O(M * N) where M is the number of items and N the number of layers",
        args: &syntax::INSERT,
        ..command::<add::Insert>(&UPDATE)
    },
    Command {
        name: c"bf.bulkadd",
        summary:
            c"Adds items that are packed in one string to a Bloom filter, which is created if \
                   it does not exist",
        hint: c"Packed as lines, as items of width bytes, or each after its length. Replies: the number \
                of items and a bitmap, 1 for new; with COUNT, the number of ones.",
        complexity: c"O(M * N) where M is the number of items and N the number of layers",
        since: c"0.1.0",
        args: BULK,
        ..command::<Bulk<BulkAdd>>(&UPDATE)
    },
    Command {
        name: c"bf.rotate",
        summary: c"Opens a new generation of a windowed Bloom filter, and drops the oldest",
        hint:
            c"For filters with GENERATIONS and without WINDOW and LAST. Others rotate by themselves; \
                with AT, what is due at that time is done.",
        complexity: c"O(N) where N is the number of generations",
        since: c"0.1.0",
        args: syntax::ROTATE,
        ..command::<rotate::Rotate>(&WRITE)
    },
    Command {
        name: c"bf.merge",
        summary: c"Merges Bloom filters of equal parameters and seed into the first key, which is \
                   created if it does not exist",
        hint: c"The destination then contains the items of all. An error if its error rate would be \
                too high.",
        complexity: c"O(N) where N is the number of bytes of all filters",
        since: c"0.1.0",
        args: syntax::MERGE,
        ..command::<merge::Merge>(&MERGE)
    },
    Command {
        name: c"bf.compact",
        summary: c"Gives back the memory that the items of a Bloom filter do not need",
        hint: c"Replies with the number of bytes freed. The filter is full or nearly full then: call it \
                when no more items come.",
        complexity: c"O(N) where N is the number of bytes of the layers that become smaller",
        since: c"0.1.0",
        args: KEY_ONLY,
        ..command::<compact::Compact>(&SHRINK)
    },
    Command {
        name: c"bf.exists",
        summary: c"Determines whether an item may have been added to a Bloom filter",
        hint: c"Replies 0 (certainly not) or 1 (probably); 0 if there is no such key.",
        complexity: c"O(N) where N is the number of layers",
        tips: TIMED,
        args: ADD,
        ..command::<read::Exists<AnyFilter>>(&READ_FAST)
    },
    Command {
        name: c"bf.mexists",
        summary: c"Determines whether one or more items may have been added to a Bloom filter",
        hint: c"Replies for each item as BF.EXISTS does.",
        complexity: c"O(M * N) where M is the number of items and N the number of layers",
        tips: TIMED,
        args: MADD,
        ..command::<read::Mexists<AnyFilter>>(&READ_FAST)
    },
    Command {
        name: c"bf.bulkexists",
        summary:
            c"Determines whether items that are packed in one string may have been added to a \
                   Bloom filter",
        hint: c"Replies as BF.BULKADD does, 1 for probably added.",
        complexity: c"O(M * N) where M is the number of items and N the number of layers",
        since: c"0.1.0",
        tips: TIMED,
        args: BULK,
        ..command::<Bulk<BulkExists<AnyFilter>>>(&READ)
    },
    Command {
        name: c"bf.info",
        summary: c"Returns the parameters and the state of a Bloom filter",
        hint: c"RedisBloom's five fields; in valkey-bloom's layout also its three. BF.STATS has all \
                that is known of a filter.",
        complexity: c"O(N) where N is the number of layers",
        tips: c"dont_cache",
        args: info::ARGS,
        ..command::<info::Info>(&READ)
    },
    Command {
        name: c"bf.stats",
        summary: c"Returns all parameters and numbers of a Bloom filter, or those that are named",
        hint: c"Also the seed, the estimated number of items and the present false-positive rate.",
        complexity:
            c"O(N) where N is the number of layers; estimate, estimate_error, fp_rate, layer_fills \
                      and layer_fp_rates count bits in up to 8192 pages",
        since: c"0.1.0",
        tips: c"dont_cache",
        args: syntax::STATS,
        ..command::<stats::Stats>(&READ)
    },
    Command {
        name: c"bf.card",
        summary: c"Returns the number of items that were added to a Bloom filter",
        hint: c"Counts the items that were new when they were added; 0 if there is no such key.",
        complexity: c"O(N) where N is the number of layers",
        since: c"2.4.4",
        tips: TIMED,
        args: KEY_ONLY,
        ..command::<Card>(&READ_FAST)
    },
    Command {
        name: c"bf.debug",
        summary: c"Returns the numbers of each layer of a Bloom filter",
        hint: c"A line with the number of items, then one line per layer, oldest first.",
        complexity: c"O(N) where N is the number of layers",
        tips: c"dont_cache",
        args: KEY_ONLY,
        ..command::<info::Debug>(&READ)
    },
    Command {
        name: c"bf.scandump",
        summary: c"Reads a Bloom filter in chunks",
        hint: c"Begin with iterator 0, continue with the iterator of each reply, end when it is 0.",
        complexity: c"O(N) where N is the number of bytes returned, at most 16 MiB",
        tips: c"dont_cache",
        args: SCANDUMP,
        ..command::<dump::Scandump>(&READ)
    },
    Command {
        name: c"bf.loadchunk",
        summary: c"Loads a chunk that BF.SCANDUMP has returned",
        hint: c"Takes iterator and data of each reply of BF.SCANDUMP, in the same order.",
        complexity: c"O(N) where N is the number of bytes given",
        args: LOADCHUNK,
        ..command::<dump::Loadchunk>(&WRITE)
    },
    Command {
        name: c"bf.load",
        summary: c"Creates a Bloom filter from a payload that valkey-bloom has written to a file",
        hint: c"Append-only files of valkey-bloom contain it. The filter has LAYOUT VALKEY-BLOOM.",
        complexity: c"O(N) where N is the number of bytes given",
        since: c"0.1.0",
        args: syntax::LOAD,
        ..command::<load::Load>(&WRITE)
    },
    Command {
        name: c"bf.help",
        summary: c"Returns the syntax of the commands of Bloom filters",
        hint: c"This text.",
        complexity: c"O(1)",
        since: c"0.1.0",
        ..command_without_key::<Help>(&NO_KEY)
    },
];

struct Help;

impl Keyless for Help {
    fn run(context: Context) {
        help::reply(context, "BF", &COMMANDS);
    }
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, help};

    #[test]
    fn help_explains_every_command_in_lines_of_a_terminal() {
        let lines = help::lines("BF", &COMMANDS);
        for command in &COMMANDS {
            let name = command.name.to_str().unwrap_or_default().to_uppercase();
            let is_its_own = |line: &&String| line.split(' ').next() == Some(&name);
            assert_eq!(lines.iter().filter(is_its_own).count(), 1, "{name}");
            assert!(!command.hint.is_empty() && !command.summary.is_empty(), "{name}");
        }
        assert_eq!(lines.len(), 1 + 3 * COMMANDS.len());
        for line in &lines {
            // A syntax stays in one line, as the server's own HELP commands have it.
            let most = if line.starts_with("BF.") { 330 } else { 160 };
            assert!(line.chars().count() <= most && !line.contains(char::is_control), "{line}");
        }
    }

    #[test]
    fn help_shows_arguments_as_they_are_typed() {
        for line in [
            "BF.RESERVE <key> <error_rate> <capacity> [EXPANSION <expansion>] [NONSCALING] \
             [LAYOUT BLOOMLINE|REDISBLOOM|VALKEY-BLOOM] [WINDOW <seconds>|LAST] \
             [GENERATIONS <generations>] [NOREFRESH] [TTL <ttl>] [SEED <seed>] [TIGHTENING <tightening>] \
             [VALIDATESCALETO <validatescaleto>]",
            "BF.MADD <key> <item> [<item> ...]",
            "BF.CARD <key>",
            "BF.HELP",
        ] {
            assert!(help::lines("BF", &COMMANDS).iter().any(|found| found == line), "{line}");
        }
    }
}
