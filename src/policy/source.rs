//! Who sends a call or a value, and who executes a call again.
//!
//! This decides whether limits apply, how arguments are read, and what is replicated. It is
//! determined at most once per call, and only if it matters.
//!
//! # Scripts that are replicated by their text
//!
//! Redis before 7.0 replicates the text of a Lua script with `lua-replicate-commands no`, and writes
//! it to its append-only file: every replica executes the script again. The server drops what a
//! module replicates in such a script, including the header of a new filter. So the filter must
//! follow from the call alone.

use std::cell::OnceCell;

use xxhash_rust::xxh3::xxh3_64;

use super::machine;
use crate::server::context::{Context, Flags};
use crate::server::server_info::ServerInfo;
use crate::server::version;

/// Where a change of the data set comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// A client. Limits apply.
    Client,
    /// The replication stream of a primary.
    Primary,
    /// A file that is being loaded, or the data set of a primary.
    Loading,
}

/// The sender of a call, or of a value that the server passes outside of a call.
pub struct Source {
    /// The call; none outside of calls.
    context: Option<Context>,
    flags: OnceCell<Flags>,
    is_script_by_text: OnceCell<bool>,
}

impl Source {
    /// The sender of a call.
    pub fn of_call(context: Context) -> Self {
        Self::new(Some(context))
    }

    /// The sender of a value that the server passes outside of a call: by COPY or RESTORE, or from a
    /// file.
    pub fn outside_calls() -> Self {
        Self::new(None)
    }

    fn new(context: Option<Context>) -> Self {
        Self { context, flags: OnceCell::new(), is_script_by_text: OnceCell::new() }
    }

    /// Not free the first time: the server computes its memory usage for the answer.
    fn flags(&self) -> Flags {
        let ask = || self.context.map_or_else(Flags::outside_calls, Context::flags);
        *self.flags.get_or_init(ask)
    }

    /// Where the change comes from.
    ///
    /// On a writable replica, values outside of calls and scripts that may be replicated by their
    /// text count as the primary's, although they may be its clients'.
    fn origin(&self) -> Origin {
        let flags = self.flags();
        match self.context {
            Some(_) if flags.is_replicated() => Origin::Primary,
            // While a data set is loaded beside the old one, clients are the only source of calls.
            Some(_) if flags.is_loading() && !flags.is_loading_async() => Origin::Loading,
            Some(_) if self.is_repeated_script() => Origin::Primary,
            None if flags.is_loading() => Origin::Loading,
            None if flags.is_replica() => Origin::Primary,
            _ => Origin::Client,
        }
    }

    /// True if the change was already made elsewhere: it is replicated or loaded from a file.
    /// Limits do not apply then, because a server that left the change out would answer wrongly
    /// from then on.
    pub fn is_replicated_or_loaded(&self) -> bool {
        self.origin() != Origin::Client
    }

    /// True if the process must end when there is no memory for a change of `bytes` bytes.
    ///
    /// A server that continued without the change would give no sign of it, and the next addition
    /// would create another filter under that name. On a writable replica the change may be a
    /// client's. A client must not be able to end the process by requesting more than the machine
    /// has.
    pub fn ends_without_memory(&self, bytes: u64) -> bool {
        let is_writable = || {
            let info = ServerInfo::of(c"replication");
            info.is_some_and(|info| info.number(c"slave_read_only") == Some(0))
        };
        match self.origin() {
            Origin::Client => false,
            Origin::Primary => bytes <= machine::memory() || !is_writable(),
            Origin::Loading => true,
        }
    }

    /// True for a call that RedisBloom wrote: that of a primary or of a file, because Bloomline
    /// replicates no call that creates a filter. The calls of a repeated script were a client's.
    pub fn is_redisbloom(&self) -> bool {
        self.is_replicated_or_loaded() && !self.may_be_script_by_text()
    }

    /// True for a call of a script that replicas or a file execute again. What depends on a clock
    /// would differ there.
    pub fn is_script_by_text(&self) -> bool {
        // A script chooses otherwise by `redis.replicate_commands()`, which a module does not see.
        let has_setting = || {
            self.context.is_some_and(|context| context.config_is(c"lua-replicate-commands", b"no"))
        };
        let ask = || self.may_be_script_by_text() && (self.is_repeated_script() || has_setting());
        *self.is_script_by_text.get_or_init(ask)
    }

    /// The seed of a filter that a script creates, if replicas or a file execute the script again:
    /// XXH3 of the key's name, which anybody can compute. None for all other calls.
    pub fn repeatable_seed(&self, key: &[u8]) -> Option<u64> {
        self.is_script_by_text().then(|| xxh3_64(key))
    }

    /// True for a call of a script on a server that may replicate scripts by their text.
    fn may_be_script_by_text(&self) -> bool {
        self.context.is_some() && version::is_before_7() && self.flags().is_script()
    }

    /// True for a call of a script that this server executes for a primary or from a file. The
    /// server does not mark the calls of a script as replicated.
    fn is_repeated_script(&self) -> bool {
        let flags = self.flags();
        self.may_be_script_by_text() && (flags.is_replica() || flags.is_loading())
    }
}
