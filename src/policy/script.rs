//! Lua scripts that a server replicates by their text: every replica executes them again.
//!
//! Redis before 7.0 does so with `lua-replicate-commands no`, and writes their text to its
//! append-only file. The server drops what a module replicates in such a script, including the
//! header of a new filter. So the filter must follow from the call alone.

use xxhash_rust::xxh3::xxh3_64;

use crate::server::context::Context;
use crate::server::version;

/// True for a call of a script on a server that may replicate scripts by their text.
pub fn may_be_replicated_by_text(context: Context) -> bool {
    version::is_before_7() && context.flags().is_script()
}

/// True for a call of a script that this server executes for a primary or from a file.
///
/// The server does not mark the calls of a script as replicated. On a writable replica, scripts of
/// its clients count as the primary's.
pub fn is_repeated(context: Context) -> bool {
    let is_repeater = || {
        let flags = context.flags();
        flags.is_replica() || flags.is_loading()
    };
    may_be_replicated_by_text(context) && is_repeater()
}

/// The seed of a filter that a script creates, if replicas or a file execute the script again:
/// XXH3 of the key's name, which anybody can compute. None for all other calls.
pub fn repeatable_seed(context: Context, key: &[u8]) -> Option<u64> {
    is_replicated_by_text(context).then(|| xxh3_64(key))
}

/// True for a call of a script that replicas or a file execute again. What depends on a clock would
/// differ there.
pub fn is_replicated_by_text(context: Context) -> bool {
    may_be_replicated_by_text(context)
        && (is_repeated(context) || context.config_is(c"lua-replicate-commands", b"no"))
}
