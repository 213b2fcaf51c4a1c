//! Commands encoded ahead of time, cut where the client stops to read replies.

use std::ops::Range;

use redis::Cmd;

use crate::items::{Item, Kind};

/// Bytes after which the client reads what is due before it sends more.
///
/// Two chunks are in flight, so replies never pile up in the server's memory, where allocating for
/// them would count as time of the command.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// Commands that are sent at once.
pub struct Chunk {
    /// Where they stand in the payload.
    pub range: Range<usize>,
    /// How many replies they bring.
    pub replies: u64,
}

/// A run of commands of one name, ready to be sent.
#[derive(Default)]
pub struct Payload {
    pub bytes: Vec<u8>,
    pub chunks: Vec<Chunk>,
    pub command: &'static str,
    pub calls: u64,
    /// Items in all commands together; what times are divided by.
    pub items: u64,
    chunk_bytes: usize,
}

impl Payload {
    /// A chunk takes commands until it has `chunk_bytes` bytes; with 0 each command is a chunk.
    pub fn new(command: &'static str, chunk_bytes: usize) -> Payload {
        Payload { command, chunk_bytes, ..Payload::default() }
    }

    /// Adds one command that stands for `items` items (several commands may share one item: give 0
    /// for the rest).
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

    /// The items in calls of `batch` on one key.
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
                item.write(kind, &mut buffer);
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
