//! Filters, and items of them, as commands for replicas and append-only files.

use std::ffi::CStr;

use super::family::DataType;
use crate::policy::replicate::{ItemCommands, deletion, expiry};
use crate::server::args::Arg;
use crate::server::context::{Context, Operands};
use crate::server::log;
use bloomline_core::Layout;

/// True if only Bloomline has the layout of the filter, so that all its replicas know the commands
/// that only Bloomline has: those of packed items, CF.MDEL.
pub fn is_own<F: DataType>(filter: &F) -> bool {
    filter.layout() == Layout::Bloomline
}

/// Replicates items by which a call has changed a filter in the layout of another module, in
/// commands that servers with that module know. In RedisBloom's layout, items that take too much
/// are replicated as the content of the filter.
///
/// In valkey-bloom's layout they never are: a server with valkey-bloom executes BF.LOAD, but writes
/// it to its append-only file as BF.INSERT that creates an empty filter and adds the payload as one
/// item. After a restart from that file all items would be missing.
pub fn plainly<'a, F: DataType>(
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
fn is_content_shorter<'a, F: DataType>(
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
pub fn chunk<F: DataType>(context: Context, key: Arg, iterator: u64, data: &[u8]) {
    context.replicate(F::NAMES.loadchunk, key, Operands::IntegerAndBytes(iterator as i64, data));
}

/// Contents of this many bytes or more are logged: a quarter of the server's default limit for the
/// output buffer of a replica, beyond which it ends the link.
const LARGE_CONTENT: usize = 64 << 20;

/// Replicates a key as DEL, LOADCHUNK with header and bits, and PEXPIREAT.
fn content<F: DataType>(context: Context, key: Arg, filter: &F, expires_at: Option<i64>) {
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
