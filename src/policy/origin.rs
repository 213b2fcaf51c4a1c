//! Where a change of the data set comes from: this decides whether limits apply.

use super::{machine, script};
use crate::server::context::{Context, Flags};
use crate::server::server_info::ServerInfo;

/// Where a change comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client. Limits apply.
    Client,
    /// The replication stream of a primary.
    Primary,
    /// A file that is being loaded, or the data set of a primary.
    Loading,
}

impl Origin {
    /// Where a call comes from.
    pub fn of_call(context: Context) -> Self {
        let flags = context.flags();
        // While a data set is loaded beside the old one, clients are the only source of calls.
        let is_loading = flags.is_loading() && !flags.is_loading_async();
        match flags {
            _ if flags.is_replicated() => Self::Primary,
            _ if is_loading => Self::Loading,
            _ if script::is_repeated(context) => Self::Primary,
            _ => Self::Client,
        }
    }

    /// Where a value comes from that the server passes outside of a call: by COPY or RESTORE, or
    /// from a file.
    ///
    /// On a writable replica, commands of its clients count as the primary's.
    pub fn outside_calls() -> Self {
        let flags = Flags::outside_calls();
        match flags {
            _ if flags.is_loading() => Self::Loading,
            _ if flags.is_replica() => Self::Primary,
            _ => Self::Client,
        }
    }

    /// True if the change was already made elsewhere: it is replicated or loaded from a file.
    /// Limits do not apply then, because a server that left the change out would answer wrongly
    /// from then on.
    pub fn is_replicated_or_loaded(self) -> bool {
        self != Self::Client
    }

    /// True if the process must end when there is no memory for a change of so many bytes.
    ///
    /// A server that continued without the change would give no sign of it, and the next addition
    /// would create another filter under that name. On a writable replica the change may be a
    /// client's. A client must not be able to end the process by requesting more than the machine
    /// has.
    pub fn ends_without_memory(self, bytes: u64) -> bool {
        let is_writable = || {
            let info = ServerInfo::of(c"replication");
            info.is_some_and(|info| info.number(c"slave_read_only") == Some(0))
        };
        match self {
            Self::Client => false,
            Self::Primary => bytes <= machine::memory() || !is_writable(),
            Self::Loading => true,
        }
    }
}
