//! Commands encoded ahead of time, cut where the client stops to read replies.

use std::ops::Range;

use redis::Cmd;

/// Bytes after which the client reads what is due before it sends more.
///
/// Two chunks are in flight, so replies never pile up in the server's memory, where allocating for them would
/// count as time of the command.
const CHUNK_BYTES: usize = 64 * 1024;

/// A run of commands of one name, ready to be sent.
#[derive(Default)]
pub struct Payload {
    pub bytes: Vec<u8>,
    /// Ranges of `bytes` with the number of replies each brings.
    pub chunks: Vec<(Range<usize>, u64)>,
    pub command: &'static str,
    pub calls: u64,
    /// Items in all commands together; what times are divided by.
    pub items: u64,
}

impl Payload {
    pub fn new(command: &'static str) -> Payload {
        Payload { command, ..Payload::default() }
    }

    /// Adds one command that stands for `items` items (several commands may share one item: give 0 for the rest).
    pub fn push(&mut self, command: &Cmd, items: u64) {
        let start = self.bytes.len();
        command.write_packed_command(&mut self.bytes);
        let end = self.bytes.len();
        match self.chunks.last_mut() {
            Some((range, replies)) if range.len() < CHUNK_BYTES => {
                range.end = end;
                *replies += 1;
            }
            _ => self.chunks.push((start..end, 1)),
        }
        self.calls += 1;
        self.items += items;
    }
}
