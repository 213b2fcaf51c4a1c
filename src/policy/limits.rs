//! How much memory a filter may take.

use std::cell::Cell;
use std::ffi::{CStr, CString};

use super::counters::{
    COMPACTIONS_REFUSED, CREATIONS_REFUSED, Counter, GROWTHS_REFUSED, MERGES_REFUSED,
};
use super::huge;
use super::layout::LayoutRow;
use super::machine;
use super::setting;
use super::source::Source;
use crate::server::args::Arg;
use crate::server::log;
use crate::server::server_info::ServerInfo;
use crate::server::version;
use bloomline_core::Error;
use bloomline_core::host::Demand;

/// Layers of this many bytes or more must fit the free memory. Determining it takes the server as
/// long as writing this many bytes.
const LARGE_LAYERS: u64 = 1 << 20;

/// Tables of a cuckoo filter up to which one call adds further ones, also beyond
/// `cf-max-expansions`.
const TABLES_OF_A_CALL: u64 = 512;

/// Iterations of the searches that failed in a call, up to which it adds tables beyond
/// `cf-max-expansions`: one search takes up to 65,535, and comes before each table.
const ITERATIONS_OF_A_CALL: u64 = 1 << 20;

/// Databases whose keys are counted, from the first on. A server may have more; the fraction that
/// it may evict is estimated from these.
const DATABASES: u32 = 1024;

/// The limits of one change of the data set, and the first one that the change exceeded.
pub struct Limits<'a> {
    /// Who makes the change.
    pub source: &'a Source,
    refusal: Cell<Option<Refusal>>,
}

/// The limit that was exceeded, with its numbers of bytes: a clause about the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("it needs {filter} bytes, {}", allowance(*allowed))]
    FilterBytes { filter: u64, allowed: u64 },
    #[error("its new layers need {new} bytes, maxmemory {max} leaves {left}")]
    Maxmemory { new: u64, left: u64, max: u64 },
    /// There is no `maxmemory`. The machine may be a control group.
    #[error("its new layers need {new} bytes, the machine's {machine} bytes leave {left}")]
    Machine { new: u64, left: u64, machine: u64 },
    #[error(
        "it needs a layer of {layer} bytes in RedisBloom's layout, and Redis before 7.0 writes an \
         unreadable RDB file of a layer of 4 GiB or more"
    )]
    Unsavable { layer: u64 },
    /// Of a cuckoo filter; or the most that one call makes.
    #[error("it has {tables} tables, cf-max-expansions allows {allowed}")]
    Expansions { tables: u32, allowed: u64 },
}

/// What allows one filter these bytes, as text.
fn allowance(bytes: u64) -> String {
    match setting::MAX_FILTER_BYTES.integer() {
        0 => format!("the machine has {bytes}, and bf-max-filter-bytes is not set"),
        _ => format!("bf-max-filter-bytes allows {bytes}"),
    }
}

impl Refusal {
    /// True for a limit of memory, false for a filter that this server must not hold.
    fn is_for_memory(self) -> bool {
        match self {
            Self::FilterBytes { .. } | Self::Maxmemory { .. } | Self::Machine { .. } => true,
            Self::Unsavable { .. } | Self::Expansions { .. } => false,
        }
    }
}

/// An operation on a filter that may be refused.
pub struct Operation {
    /// What is refused, in log lines.
    name: &'static str,
    /// What a primary or a file did to the filter, in log lines.
    done_by_primary: &'static str,
    /// The number of refusals in INFO.
    refused: &'static Counter,
}

/// The filter is created.
pub static CREATION: Operation = Operation {
    name: "creation of",
    done_by_primary: "was created by",
    refused: &CREATIONS_REFUSED,
};
pub static GROWTH: Operation =
    Operation { name: "growth of", done_by_primary: "must grow for", refused: &GROWTHS_REFUSED };
/// The filter opens a generation.
pub static ROTATION: Operation = Operation {
    name: "rotation of",
    done_by_primary: "must rotate for",
    refused: &GROWTHS_REFUSED,
};
/// Other filters are merged into the filter.
pub static MERGE: Operation =
    Operation { name: "merge into", done_by_primary: "was merged by", refused: &MERGES_REFUSED };

/// The filter is compacted.
pub static COMPACTION: Operation = Operation {
    name: "compaction of",
    done_by_primary: "was compacted by",
    refused: &COMPACTIONS_REFUSED,
};

/// True for an error that a limit or lack of memory caused.
pub fn is_for_memory(error: Error) -> bool {
    matches!(error, Error::Refused(_) | Error::OutOfMemory(_))
}

impl<'a> Limits<'a> {
    pub fn of(source: &'a Source) -> Self {
        Self { source, refusal: Cell::new(None) }
    }

    /// The limit that was exceeded; none if all allowed the change so far.
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal.get()
    }

    /// True if an error says that memory is missing: a limit of memory was exceeded, or the
    /// allocator has none.
    pub fn lacks_memory(&self, error: Error) -> bool {
        match error {
            Error::Refused(_) => self.refusal.get().is_some_and(Refusal::is_for_memory),
            error => matches!(error, Error::OutOfMemory(_)),
        }
    }

    /// Why a change failed: the limit that was exceeded, or else the error itself.
    pub fn reason(&self, error: Error) -> Reason {
        self.refusal.get().map_or(Reason::Error(error), Reason::Refusal)
    }

    /// Counts and logs an operation on the filter `key` that failed.
    ///
    /// Ends the process if the change is replicated or loaded from a file, and there is no memory
    /// for it: later calls depend on it, so a server without it would answer wrongly from then on.
    /// The server's own types end the process as well. A change that fails there for another reason
    /// has failed at its origin too, unless that runs another program.
    #[cold]
    pub fn refuse(&self, operation: &Operation, key: Arg, error: Error) {
        let (key, why) = (key.shown(), self.reason(error));
        let done = operation.done_by_primary;
        if !self.source.is_replicated_or_loaded() {
            log::REFUSALS.write(format_args!("{} filter '{key}' refused: {why}", operation.name));
        } else if is_for_memory(error) {
            log::fatal(&format!("filter '{key}' {done} a primary or a file, but {why}"));
        } else {
            log::REFUSALS.write(format_args!(
                "filter '{key}' {done} a primary or a file, but {why}: compare DEBUG DIGEST-VALUE"
            ));
        }
        operation.refused.add(1);
    }

    /// The function that the core calls before it allocates bits.
    pub fn permit(&self) -> impl FnMut(Demand) -> bool + '_ {
        |demand| self.allows(demand)
    }

    /// [`Limits::permit`] for the additions of a call to a cuckoo filter: `cf-max-expansions`
    /// limits its growth.
    ///
    /// In RedisBloom's layout [`Limits::allows_expansion`] is checked before the call, so that one
    /// call can make more tables, as in RedisBloom. There it can make thousands, and each of its
    /// items searches all of them.
    pub fn permit_within_expansions(&self, max_iterations: u16) -> impl FnMut(Demand) -> bool + '_ {
        let allowed = setting::CF_MAX_EXPANSIONS.integer();
        let mut iterations = 0;
        move |demand| {
            iterations += u64::from(max_iterations);
            let is_cheap = iterations <= ITERATIONS_OF_A_CALL;
            let most = if is_cheap && LayoutRow::of(demand.layout).is_redisbloom {
                allowed.max(TABLES_OF_A_CALL)
            } else {
                allowed
            };
            self.allows_tables(demand.tables, most) && self.allows(demand)
        }
    }

    /// True if a cuckoo filter in RedisBloom's layout has fewer tables than `cf-max-expansions`:
    /// otherwise it takes no more items, also where there is room for them.
    pub fn allows_expansion(&self, tables: u32) -> bool {
        let allowed = setting::CF_MAX_EXPANSIONS.integer();
        self.allows_tables(tables.saturating_add(1), allowed)
    }

    /// True if `cf-max-expansions` forbids the growth of a cuckoo filter.
    pub fn forbids_expansion(&self) -> bool {
        matches!(self.refusal.get(), Some(Refusal::Expansions { .. }))
    }

    /// True if a cuckoo filter may become one of this number of tables.
    fn allows_tables(&self, tables: u32, allowed: u64) -> bool {
        let is_allowed = u64::from(tables) <= allowed || self.source.is_replicated_or_loaded();
        if !is_allowed {
            self.refusal.set(Some(Refusal::Expansions { tables: tables - 1, allowed }));
        }
        is_allowed
    }

    /// True if no limit forbids the memory. After a refusal all further demands are refused without
    /// a check: nothing during the call can lift it, and a call may have a million items.
    pub fn allows(&self, demand: Demand) -> bool {
        if self.refusal.get().is_none() {
            self.refusal.set(self.exceeded(demand));
        }
        let is_allowed = self.refusal.get().is_none();
        if is_allowed {
            huge::prepare(demand);
        }
        is_allowed
    }

    fn exceeded(&self, demand: Demand) -> Option<Refusal> {
        let header = LayoutRow::of(demand.layout).string_header;
        let string = header.map(|header| demand.largest_layer.saturating_add(header));
        if string.is_some_and(|bytes| bytes > version::longest_string()) {
            return Some(Refusal::Unsavable { layer: demand.largest_layer });
        }
        if self.source.is_replicated_or_loaded() {
            return None;
        }
        let (filter, allowed) = (demand.filter_bytes, max_filter_bytes());
        if filter > allowed {
            return Some(Refusal::FilterBytes { filter, allowed });
        }
        if demand.new_bytes < LARGE_LAYERS { None } else { Self::beyond_memory(demand.new_bytes) }
    }

    /// New layers must fit the free part of `maxmemory`, or of the machine's memory if there is no
    /// `maxmemory`. Keys that the server may evict make room as well, for new layers of at most
    /// half of `maxmemory`.
    ///
    /// The server checks its memory only before a command, so one BF.RESERVE could take any amount.
    fn beyond_memory(new: u64) -> Option<Refusal> {
        let info = ServerInfo::of(c"memory")?;
        let used = info.number(c"used_memory")?;
        match info.number(c"maxmemory")? {
            0 => {
                let machine = machine::memory();
                let left = machine.saturating_sub(used);
                (new > left).then_some(Refusal::Machine { new, left, machine })
            }
            max => {
                let free = max.saturating_sub(used);
                let evictable = (used as f64 * Self::evictable_fraction(&info)) as u64;
                let left = free.max(free.saturating_add(evictable).min(max / 2));
                (new > left).then_some(Refusal::Maxmemory { new, left, max })
            }
        }
    }

    /// The fraction of keys that the server may evict, 0 to 1 inclusive.
    fn evictable_fraction(memory: &ServerInfo) -> f64 {
        let policy = memory.text(c"maxmemory_policy").map(CStr::to_bytes).unwrap_or_default();
        if policy.starts_with(b"allkeys-") {
            return 1.0;
        }
        let keyspace = ServerInfo::of(c"keyspace");
        let (true, Some(keyspace)) = (policy.starts_with(b"volatile-"), keyspace) else {
            return 0.0;
        };
        let (mut keys, mut volatile) = (0, 0);
        for database in 0..DATABASES {
            let name = CString::new(format!("db{database}")).unwrap_or_default();
            let numbers =
                keyspace.text(&name).and_then(|line| line.to_str().ok()).unwrap_or_default();
            keys += count_of(numbers, "keys=");
            volatile += count_of(numbers, "expires=");
        }
        volatile as f64 / keys.max(1) as f64
    }
}

/// The value of a field in a line such as `keys=4,expires=1,avg_ttl=0`; 0 if it is missing.
fn count_of(numbers: &str, name: &str) -> u64 {
    let value = numbers.split(',').find_map(|part| part.strip_prefix(name));
    value.and_then(|value| value.parse().ok()).unwrap_or_default()
}

/// Why there is no memory for a filter, as text for a reply or a log line.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    #[error(transparent)]
    Refusal(Refusal),
    #[error(transparent)]
    Error(Error),
}

/// The most bytes of one filter: `bf-max-filter-bytes`, or the machine's memory if that is 0.
pub fn max_filter_bytes() -> u64 {
    match setting::MAX_FILTER_BYTES.integer() {
        0 => machine::memory(),
        bytes => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::count_of;

    #[test]
    fn counts_are_read_from_a_line_of_info() {
        let line = "keys=12,expires=3,avg_ttl=0,subexpiry=0";
        assert_eq!((count_of(line, "keys="), count_of(line, "expires=")), (12, 3));
        assert_eq!((count_of("", "keys="), count_of("keys=x", "keys=")), (0, 0));
    }
}
