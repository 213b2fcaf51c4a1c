//! Who sends a call or a value.
//!
//! This decides whether limits apply, how arguments are read, and what is replicated. It is
//! determined at most once per call, and only if it matters.
//!
//! # Scripts that are replicated by their text
//!
//! Redis before 7.0 replicates the text of a Lua script with `lua-replicate-commands no`, and
//! writes it to its append-only file: every replica executes the script again. The server drops
//! what a module replicates in such a script, including the seed of a new filter. And it replicates
//! the text if the script has written anything, also if a call in it was refused: what was refused
//! must be refused again. So no command writes filters in such a script, wherever it is executed.

use std::cell::OnceCell;

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
}

impl Source {
    pub fn of_call(context: Context) -> Self {
        Self::new(Some(context))
    }

    /// The sender of a value that the server passes outside of a call: by COPY or RESTORE, or from
    /// a file.
    pub fn outside_calls() -> Self {
        Self::new(None)
    }

    fn new(context: Option<Context>) -> Self {
        Self { context, flags: OnceCell::new() }
    }

    /// Not free the first time: the server computes its memory usage for the answer.
    fn flags(&self) -> Flags {
        let ask = || self.context.map_or_else(Flags::outside_calls, Context::flags);
        *self.flags.get_or_init(ask)
    }

    /// Where the change comes from.
    ///
    /// On a writable replica, values outside of calls count as the primary's, although they may be
    /// its clients'.
    fn origin(&self) -> Origin {
        let flags = self.flags();
        match self.context {
            Some(_) if flags.is_replicated() => Origin::Primary,
            // While a data set is loaded beside the old one, clients are the only source of calls.
            Some(_) if flags.is_loading() && !flags.is_loading_async() => Origin::Loading,
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

    /// True for a call of a script that is replicated by its text, or may be: a module does not see
    /// `redis.replicate_commands()`.
    pub fn is_script_by_text(&self) -> bool {
        let Some(context) = self.context else { return false };
        version::is_before_7()
            && self.flags().is_script()
            && (self.may_be_repeated() || !context.config_is(c"lua-replicate-commands", b"yes"))
    }

    /// True if a call of a script may be one that a primary or a file repeats: the server does not
    /// mark it as replicated. On a writable replica it may be a client's.
    pub fn may_be_repeated(&self) -> bool {
        self.flags().is_replica() || self.flags().is_loading()
    }
}
