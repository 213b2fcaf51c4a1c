//! What is replicated of a call: its effects, which do not depend on the settings of replicas.

use std::ffi::CStr;

use super::bits::Bits;
use super::family::Family;
use crate::server::args::{Arg, ArgList, Args};
use crate::server::context::{Context, Operands};
use crate::server::log;
use bloomline_core::Layout;

/// Which items of a call were written: one bit per item.
pub struct NewItems {
    recorded: Bits,
    has_refused: bool,
}

impl NewItems {
    /// Room for the items of a call; `None` if there is no memory for it.
    pub fn to(items: usize) -> Option<Self> {
        Some(Self { recorded: Bits::with_room(items)?, has_refused: false })
    }

    /// Records whether the next item was new.
    #[inline(always)]
    pub fn record(&mut self, is_new: bool) {
        self.recorded.push(is_new);
    }

    /// Records that the next item was refused. It is not replicated, because a replica would insert
    /// it.
    #[cold]
    pub fn record_refused(&mut self) {
        self.record(false);
        self.has_refused = true;
    }

    /// The number of items that were recorded.
    pub fn recorded(&self) -> usize {
        self.recorded.count()
    }

    /// True if no item was new.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        !self.recorded.any()
    }

    /// The number of items that were new.
    pub fn len(&self) -> usize {
        self.recorded.ones()
    }

    /// The number of items that were not new.
    pub fn others(&self) -> usize {
        self.recorded() - self.len()
    }

    /// True if at least 15/16 of the items were new and none was refused, so that the call is
    /// replicated verbatim.
    ///
    /// The other items are not new on replicas either, because the filters are equal. A list of
    /// the new items takes time even if there is nothing to replicate to; a verbatim call takes
    /// none then. See docs/explanation/performance.md.
    pub fn are_nearly_all(&self) -> bool {
        !self.has_refused && self.others() * 16 <= self.recorded()
    }

    /// The new items of the call, in order.
    pub fn select<T>(
        &self,
        items: impl Iterator<Item = T> + Clone,
    ) -> impl Iterator<Item = T> + Clone {
        items.zip(self.recorded.iter()).filter(|&(_, is_new)| is_new).map(|(item, _)| item)
    }

    /// Replicates the new items of a call; nothing if no item was new. If some were not new, the
    /// others are collected in `new`, which has room for them.
    pub fn replicate<'a>(
        &self,
        context: Context,
        key: Arg,
        items: Args<'a>,
        new: ArgList<'a>,
        by: &ItemCommands,
    ) {
        if self.len() == items.len() {
            return by.replicate(context, key, items);
        }
        new.pick(self.select(items.iter()), |new| by.replicate(context, key, new));
    }
}

/// The commands that change items, for replication.
pub struct ItemCommands {
    /// The command for one item.
    pub one: &'static CStr,
    /// The command for several items.
    pub several: &'static CStr,
    /// The word before several items.
    pub before: Option<&'static CStr>,
    /// True if RedisBloom knows the command for several items.
    pub is_several_known: bool,
    /// The command for packed items, which only Bloomline knows.
    pub packed: &'static CStr,
}

/// Additions to a Bloom filter.
pub static ADD: ItemCommands = ItemCommands {
    one: c"BF.ADD",
    several: c"BF.MADD",
    before: None,
    is_several_known: true,
    packed: c"BF.BULKADD",
};

impl ItemCommands {
    fn replicate(&self, context: Context, key: Arg, items: Args) {
        match (items.len(), self.before) {
            (0, _) => {}
            (1, _) => context.replicate(self.one, key, Operands::Args(items)),
            (_, None) => context.replicate(self.several, key, Operands::Args(items)),
            (_, Some(word)) => {
                context.replicate(self.several, key, Operands::WordAndArgs(word, items));
            }
        }
    }
}

/// Replicates a command with items that are packed in a form, which has a width or not.
pub fn packed(
    context: Context,
    key: Arg,
    by: &ItemCommands,
    form: &CStr,
    width: Option<usize>,
    data: &[u8],
) {
    let width = width.map(|width| i64::try_from(width).unwrap_or(i64::MAX));
    context.replicate(by.packed, key, Operands::Packed { form, width, data });
}

/// True if only Bloomline has the layout of the filter, so that all its replicas know the commands
/// that only Bloomline has: those of packed items, CF.MDEL.
pub fn is_own<F: Family>(filter: &F) -> bool {
    filter.layout() == Layout::Bloomline
}

/// Replicates items by which a call has changed a filter in the layout of another module, in
/// commands that servers with that module know. In RedisBloom's layout, items that take too much
/// are replicated as the content of the filter.
///
/// In valkey-bloom's layout they never are: a server with valkey-bloom executes BF.LOAD, but writes
/// it to its append-only file as BF.INSERT that creates an empty filter and adds the payload as one
/// item. After a restart from that file all items would be missing.
pub fn plainly<'a, F: Family>(
    context: Context,
    key: Arg,
    (filter, expires_at): (&F, Option<i64>),
    by: &ItemCommands,
    items: impl Iterator<Item = &'a [u8]> + Clone,
) {
    /// Items per call, each of which becomes a string of the server.
    const MOST: usize = 10_000;
    let is_split_and_closed = || filter.is_closed() && items.clone().nth(MOST).is_some();
    let may_be_content = filter.layout() != Layout::ValkeyBloom;
    if may_be_content && (is_content_shorter(filter, items.clone()) || is_split_and_closed()) {
        return content(context, key, filter, expires_at);
    }
    if !by.is_several_known {
        return items.for_each(|item| context.replicate_strings::<1>(by.one, key, [item]));
    }
    let word = by.before.map(CStr::to_bytes);
    let mut items = items.peekable();
    while items.peek().is_some() {
        let part = word.into_iter().chain(items.by_ref().take(MOST));
        context.replicate_strings::<{ MOST + 1 }>(by.several, key, part);
    }
}

/// True if items are many, and take at least as many bytes of the replication stream as the content
/// of their filter.
///
/// Until the call ends, the server keeps each replicated item as a separate argument, which takes
/// 32 bytes or more: 10 million items of 4 bytes took 400 MB beside the 100 MB of the stream.
///
/// Cost: one pass over the items.
fn is_content_shorter<'a, F: Family>(
    filter: &F,
    mut items: impl Iterator<Item = &'a [u8]>,
) -> bool {
    /// From this number of bytes on, items are many.
    const MANY: u64 = 1 << 20;
    /// The fewest bytes around an argument: its length, and two ends of lines.
    const ADDED: u64 = 6;
    let content = filter.size_bytes().max(MANY);
    let mut bytes = 0;
    items.any(|item| {
        bytes += item.len() as u64 + ADDED;
        bytes >= content
    })
}

/// Replicates LOADCHUNK of the family: with iterator 1 the header of a filter, with others its
/// bits.
pub fn chunk<F: Family>(context: Context, key: Arg, iterator: u64, data: &[u8]) {
    context.replicate(F::NAMES.loadchunk, key, Operands::IntegerAndBytes(iterator as i64, data));
}

/// Replicates the rotation of a windowed filter, at a time in milliseconds of Unix time. Filters
/// of replicas and of files rotate by nothing else.
pub fn rotation(context: Context, key: Arg, at: u64) {
    let at = i64::try_from(at).unwrap_or(i64::MAX);
    context.replicate(c"BF.ROTATE", key, Operands::Option(c"AT", at));
}

fn deletion(context: Context, key: Arg) {
    context.replicate(c"DEL", key, Operands::None);
}

/// Replicates when a key expires, in milliseconds of Unix time.
pub fn expiry(context: Context, key: Arg, at: i64) {
    context.replicate(c"PEXPIREAT", key, Operands::Integer(at));
}

/// Contents of this many bytes or more are logged: a quarter of the server's default limit for the
/// output buffer of a replica, beyond which it ends the link.
const LARGE_CONTENT: usize = 64 << 20;

/// Replicates a key as DEL, LOADCHUNK with header and bits, and PEXPIREAT.
fn content<F: Family>(context: Context, key: Arg, filter: &F, expires_at: Option<i64>) {
    deletion(context, key);
    let mut bytes = 0;
    filter.each_loadchunk(|iterator, data| {
        bytes += data.len();
        chunk::<F>(context, key, iterator, data);
    });
    if bytes >= LARGE_CONTENT {
        log::LARGE.write(format_args!(
            "filter '{}' is replicated by content, {bytes} bytes at once: \
             client-output-buffer-limit replica and repl-backlog-size should allow more",
            key.shown()
        ));
    }
    if let Some(at) = expires_at {
        expiry(context, key, at);
    }
}
