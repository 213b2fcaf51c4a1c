//! Commands encoded ahead of time, in chunks after which the client reads replies.

use std::ops::Range;

use redis::Cmd;

use crate::items::{Item, Kind};

/// Bytes after which the client reads the replies that are due before it sends more.
///
/// Two chunks are in flight, so that few replies wait in the server's memory. Allocations for them
/// would count as time of the command.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// Commands that are sent at once.
pub struct Chunk {
    /// Their range in the payload.
    pub range: Range<usize>,
    /// The number of their replies.
    pub replies: u64,
}

/// A series of commands of one name, ready to be sent.
#[derive(Default)]
pub struct Payload {
    pub bytes: Vec<u8>,
    pub chunks: Vec<Chunk>,
    pub command: &'static str,
    pub calls: u64,
    /// Items of all commands together. Times are divided by this number.
    pub items: u64,
    chunk_bytes: usize,
}

impl Payload {
    /// A chunk takes commands until it has `chunk_bytes` bytes. With 0 every command is a chunk.
    pub fn new(command: &'static str, chunk_bytes: usize) -> Payload {
        Payload { command, chunk_bytes, ..Payload::default() }
    }

    /// Adds one command that counts as `items` items. Several commands may share one item: pass 0
    /// for the others.
    pub fn push(&mut self, command: &Cmd, items: u64) {
        let start = self.bytes.len();
        command.write_packed_command(&mut self.bytes);
        let end = self.bytes.len();
        match self.chunks.last_mut() {
            Some(chunk) if chunk.range.len() < self.chunk_bytes => {
                chunk.range.end = end;
                chunk.replies += 1;
            }
            _ => self.chunks.push(Chunk { range: start..end, replies: 1 }),
        }
        self.calls += 1;
        self.items += items;
    }

    /// The items in calls of `batch` items on one key.
    pub fn of_items(
        command: &'static str,
        key: &str,
        batch: usize,
        kind: Kind,
        items: impl Iterator<Item = Item>,
    ) -> Payload {
        let mut payload = Payload::new(command, CHUNK_BYTES);
        let mut items = items.peekable();
        let mut buffer = Vec::new();
        while items.peek().is_some() {
            let mut call = redis::cmd(command);
            call.arg(key);
            let mut count = 0;
            for item in items.by_ref().take(batch) {
                kind.write(item, &mut buffer);
                call.arg(buffer.as_slice());
                count += 1;
            }
            payload.push(&call, count);
        }
        payload
    }

    /// The bytes of a chunk.
    pub fn bytes_of(&self, chunk: &Chunk) -> &[u8] {
        self.bytes.get(chunk.range.clone()).unwrap_or_default()
    }
}
