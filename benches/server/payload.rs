//! Commands encoded ahead of time, in chunks after which the client reads replies.

use std::ops::Range;
use std::time::{Duration, Instant};

use redis::{Arg, Cmd, Connection, Value, cmd};

use crate::items::{Item, Kind};
use crate::packed::Form;
use crate::result::Result;
use crate::server::Server;
use crate::workloads::Traffic;

/// Bytes after which the client reads the replies that are due before it sends more.
///
/// Two chunks are in flight, so that few replies wait in the server's memory. Allocations for them
/// would count as time of the command.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// Several items for a cuckoo filter, behind the word ITEMS.
const INSERT: &str = "CF.INSERT";

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
    /// Its first word.
    pub command: String,
    pub calls: u64,
    /// Items of all commands together. Times are divided by this number.
    pub items: u64,
    chunk_bytes: usize,
}

impl Payload {
    /// A chunk takes commands until it has `chunk_bytes` bytes. With 0 every command is a chunk.
    pub fn new(command: &str, chunk_bytes: usize) -> Payload {
        Payload { command: command.to_owned(), chunk_bytes, ..Payload::default() }
    }

    /// One call.
    pub fn of_call(call: &Cmd) -> Payload {
        let name = call.args_iter().find_map(|argument| match argument {
            Arg::Simple(name) => Some(String::from_utf8_lossy(name)),
            _ => None,
        });
        let mut payload = Payload::new(&name.unwrap_or_default(), CHUNK_BYTES);
        payload.push(call, 1);
        payload
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
        command: &str,
        key: &str,
        batch: usize,
        kind: Kind,
        items: impl Iterator<Item = Item>,
    ) -> Payload {
        let mut payload = Payload::new(command, CHUNK_BYTES);
        let mut items = items.peekable();
        while items.peek().is_some() {
            let part: Vec<Item> = items.by_ref().take(batch).collect();
            payload.push_call(key, kind, None, &part);
        }
        payload
    }

    /// Adds a call with these items, packed or as arguments.
    pub fn push_call(&mut self, key: &str, kind: Kind, form: Option<Form>, items: &[Item]) {
        let call = match form {
            Some(form) => {
                form.call(&self.command, key, kind, &form.pack(kind, items.iter().copied()))
            }
            None => {
                let (mut call, mut buffer) = (cmd(&self.command), Vec::new());
                call.arg(key);
                if self.command == INSERT {
                    call.arg("ITEMS");
                }
                for &item in items {
                    kind.write(item, &mut buffer);
                    call.arg(buffer.as_slice());
                }
                call
            }
        };
        self.push(&call, items.len() as u64);
    }

    /// The bytes of a chunk.
    pub fn bytes_of(&self, chunk: &Chunk) -> &[u8] {
        self.bytes.get(chunk.range.clone()).unwrap_or_default()
    }
}

/// The answers to a payload.
#[derive(Clone, Copy, Default)]
pub struct Answers {
    /// The sum of all integer and boolean answers.
    pub ones: u64,
    /// The longest time that a client which sends one by one waited for a reply.
    pub longest: Duration,
}

/// Sends a payload and returns its answers.
///
/// # Errors
///
/// The first error among the replies, including those inside arrays; or the connection broke or
/// timed out.
pub fn send(server: &mut Server, traffic: Traffic, payload: &Payload) -> Result<Answers> {
    let all = payload.chunks.iter();
    let ahead = |ones| Ok(Answers { ones, ..Answers::default() });
    match traffic {
        Traffic::Pipelined => ahead(send_ahead(&mut server.connection, payload, all)?),
        Traffic::OneByOne => {
            let mut answers = Answers::default();
            for chunk in all {
                let sent = Instant::now();
                server.connection.send_packed_command(payload.bytes_of(chunk))?;
                answers.ones += receive(&mut server.connection, chunk.replies)?;
                answers.longest = answers.longest.max(sent.elapsed());
            }
            Ok(answers)
        }
        Traffic::TwoClients => std::thread::scope(|scope| {
            let (first, second) = (&mut server.connection, &mut server.second);
            let odd = payload.chunks.iter().skip(1).step_by(2);
            // The errors of the bench cannot be sent to another thread, but their text can.
            let other =
                scope.spawn(|| send_ahead(second, payload, odd).map_err(|error| error.to_string()));
            let ones = send_ahead(first, payload, all.step_by(2));
            let other = other.join().map_err(|_| "the second client panicked")?;
            ahead(ones? + other?)
        }),
    }
}

/// Sends each chunk before it reads the replies to the previous one.
pub fn send_ahead<'a>(
    connection: &mut Connection,
    payload: &Payload,
    chunks: impl Iterator<Item = &'a Chunk>,
) -> Result<u64> {
    let mut sum = 0;
    let mut due = 0;
    for chunk in chunks {
        connection.send_packed_command(payload.bytes_of(chunk))?;
        sum += receive(connection, due)?;
        due = chunk.replies;
    }
    Ok(sum + receive(connection, due)?)
}

fn receive(connection: &mut Connection, replies: u64) -> Result<u64> {
    let mut sum = 0;
    for _ in 0..replies {
        sum += sum_of(&connection.recv_response()?)?;
    }
    Ok(sum)
}

fn sum_of(value: &Value) -> Result<u64> {
    Ok(match value {
        Value::Int(number) => u64::try_from(*number)?,
        Value::Boolean(is_true) => u64::from(*is_true),
        // Packed items: their number, and a bit per item.
        Value::BulkString(bitmap) => bitmap.iter().map(|byte| u64::from(byte.count_ones())).sum(),
        Value::Array(values) => {
            // The reply for packed items begins with their number.
            let values = match values.as_slice() {
                [Value::Int(_), bitmap @ Value::BulkString(_), rest @ ..] => {
                    return Ok(sum_of(bitmap)? + sum_of(&Value::Array(rest.to_vec()))?);
                }
                values => values,
            };
            let mut sum = 0;
            for value in values {
                sum += sum_of(value)?;
            }
            sum
        }
        Value::ServerError(error) => return Err(error.to_string().into()),
        _ => 0,
    })
}
