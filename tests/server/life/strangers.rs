//! Calls of strangers beside a life, on other keys: random command lines, and damaged bytes of
//! filters. Whatever the server accepts is a filter that serves, loads from its own bytes, and is
//! on the replica as well.

use arbitrary::{Result, Unstructured};
use bloomline_harness::{Client, Random, Server, numbered, seal_dump, show};
use bloomline_reference::checks::header;
use bloomline_reference::checks::number::{double, whole};
use bloomline_reference::payload::{Field, MODULE, Payload};
use redis::Value;

use super::calls::line;
use crate::calls::cuckoo::Numbers;
use crate::calls::own;
use crate::calls::redisbloom::{KEYS, key};
use crate::calls::words::{Words, word};
use crate::inspect::digest;

/// Bytes that decide a call. One that needs more is not sent.
const BYTES: usize = 2_048;

/// How many calls a report shows.
const SHOWN: usize = 60;

/// Clients of other keys of a server.
pub struct Strangers {
    /// Reads what the calls have left.
    client: Client,
    /// Speaks RESP2 or RESP3.
    caller: Client,
    random: Random,
    sent: Vec<Words>,
}

impl Strangers {
    /// Those of a seed, on an empty server.
    pub fn of(server: &Server, seed: u64) -> Self {
        let mut client = server.resp2();
        client.ok("SET text value");
        let caller = if seed.is_multiple_of(2) { server.resp2() } else { server.resp3() };
        Self { client, caller, random: Random(seed), sent: Vec::new() }
    }

    /// Sends a call, or some that belong together. They may get the bytes of the filter under
    /// `known`, which they do not change.
    pub fn call(&mut self, known: &str) {
        let bytes = self.random.bytes(BYTES);
        let _ = self.step(&mut Unstructured::new(&bytes), known);
    }

    fn step(&mut self, u: &mut Unstructured, known: &str) -> Result<()> {
        match u.int_in_range(0..=15u8)? {
            0..=8 => drop(self.run(own::command(u)?)),
            9..=11 => {
                let (family, header) = match u.ratio(1, 3)? {
                    true => ("CF", Numbers::mostly_valid(u)?.header()),
                    false => ("BF", header::any(u)?),
                };
                let name = word(format!("{family}.LOADCHUNK"));
                let mut command = vec![name, key(u)?, word(1), header];
                own::damage(u, &mut command)?;
                self.run(command);
            }
            12 => {
                // Filters that can be merged, unless their headers are damaged.
                let headers = header::family(u)?;
                let mut merge = vec![word("BF.MERGE"), word(KEYS[headers.len() - 1])];
                for (key, header) in KEYS.into_iter().zip(headers) {
                    self.run(line(&format!("DEL {key}")));
                    self.run(vec![word("BF.LOADCHUNK"), word(key), word(1), header]);
                    merge.push(word(key));
                }
                self.run(merge);
            }
            13 => {
                let (to, family) = (key(u)?, self.client.family(known));
                for (iterator, chunk) in self.client.chunks(known) {
                    let piece = own::piece(u, family, to.clone(), (iterator, &chunk))?;
                    self.run(piece);
                }
            }
            _ => {
                let mut payload = Payload::parse(&self.client.dump(known));
                damage(u, &mut payload)?;
                let mut body = payload.body();
                for _ in 0..if u.ratio(1, 4)? { u.int_in_range(1..=4u8)? } else { 0 } {
                    // The first byte selects the server's own types, which are not under test.
                    let at = u.int_in_range(1..=body.len() - 3)?;
                    body[at] = u.arbitrary()?;
                }
                let payload = seal_dump(&body);
                self.run(vec![word("RESTORE"), key(u)?, word(0), payload, word("REPLACE")]);
            }
        }
        Ok(())
    }

    /// Runs a call, to which there is exactly one reply, and loads the filter that it has left from
    /// its own payload.
    fn run(&mut self, command: Words) -> Value {
        self.sent.push(command.clone());
        let token = format!("echo {:016x}", self.random.next());
        let reply = self.caller.run_before_echo(&command, &token);
        if let [name, key, ..] = &command[..]
            && !own::reads(name)
        {
            self.assert_reloads(&String::from_utf8_lossy(key));
        }
        reply
    }

    /// Asserts that a filter is restored from its own payload to an equal one.
    fn assert_reloads(&mut self, key: &str) {
        match self.client.run(&["DUMP", key]) {
            Value::BulkString(dump) if dump.first() == Some(&MODULE) => {
                assert_eq!(self.client.restore("restored", &dump), "+OK", "{key}");
                assert_eq!(digest(&mut self.client, "restored"), digest(&mut self.client, key));
                assert_eq!(self.client.ask("DEL restored"), ":1");
            }
            _ => {}
        }
    }

    /// Asserts that each filter that the calls have left serves, and that the replica has it.
    pub fn end(mut self, replica: &mut Client) {
        for key in KEYS {
            let is_filter = self.client.ask(&format!("TYPE {key}")).contains("bloom");
            if is_filter {
                self.assert_serves(key);
            }
        }
        assert_eq!(self.client.ask("WAIT 1 60000"), ":1");
        assert_eq!(replica.ask("DEBUG DIGEST"), self.client.ask("DEBUG DIGEST"), "the replica");
    }

    /// Runs all commands that read a filter, none of which may be refused; then those that change
    /// one, on a copy. It may be full or unable to grow.
    fn assert_serves(&mut self, key: &str) {
        let family = self.client.family(key);
        let (reads, add, changes): (&[&str], _, &[&str]) = match family {
            "BF" => (
                &["INFO", "STATS", "CARD", "DEBUG"],
                "BF.MADD copied",
                &["ROTATE copied", "ROTATE copied AT 5", "MERGE copied KEY", "COMPACT copied"],
            ),
            _ => (
                &["INFO", "DEBUG"],
                "CF.INSERT copied ITEMS",
                &["DEL copied one", "COMPACT copied"],
            ),
        };
        for name in reads {
            let reply = self.client.ask(&format!("{family}.{name} {key}"));
            assert!(!reply.starts_with('-'), "{family}.{name} {key} returned {reply}");
        }
        let mexists = [line(&format!("{family}.MEXISTS {key}")), numbered("absent", 70)].concat();
        let found = show(&self.run(mexists));
        assert!(found.starts_with("*["), "{found}");
        assert_eq!(self.client.ask(&format!("COPY {key} copied")), ":1");
        assert_eq!(digest(&mut self.client, "copied"), digest(&mut self.client, key));
        for change in changes {
            for count in [1, 70, 300] {
                self.run([line(add), numbered(&format!("{change} {count}"), count)].concat());
            }
            self.run(line(&format!("{family}.{}", change.replace("KEY", key))));
        }
        self.client.copy_by_chunks("copied", "loaded");
        assert_eq!(digest(&mut self.client, "loaded"), digest(&mut self.client, "copied"));
        assert_eq!(self.client.ask("DEL copied loaded"), ":2");
    }
}

/// Changes up to four fields of a payload.
fn damage(u: &mut Unstructured, payload: &mut Payload) -> Result<()> {
    for _ in 0..u.int_in_range(0..=4u8)? {
        let count = payload.fields.len();
        if count == 0 {
            return Ok(());
        }
        let at = u.choose_index(count)?;
        match u.int_in_range(0..=15u8)? {
            0 => drop(payload.fields.remove(at)),
            1 => payload.fields.insert(at, payload.fields[at].clone()),
            2 => payload.fields.swap(at, u.choose_index(count)?),
            3 => payload.id = payload.id & !0x3ff | u64::from(u.int_in_range(0..=6u16)?),
            4 => payload.fields.truncate(at),
            _ => damage_field(u, &mut payload.fields[at])?,
        }
    }
    Ok(())
}

fn damage_field(u: &mut Unstructured, field: &mut Field) -> Result<()> {
    match field {
        Field::Unsigned(number) => *number = whole(u)?,
        Field::Number(number) => *number = double(u)?,
        Field::String(string) => match u.int_in_range(0..=4u8)? {
            0 => string.clear(),
            1 => string.truncate(u.int_in_range(0..=string.len())?),
            2 => string.push(u.arbitrary()?),
            3 => string.fill(0xff),
            _ if string.is_empty() => {}
            _ => {
                let at = u.choose_index(string.len())?;
                string[at] = u.arbitrary()?;
            }
        },
    }
    Ok(())
}

impl Drop for Strangers {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let first = self.sent.len().saturating_sub(SHOWN);
            println!("the last of {} calls of strangers:", self.sent.len());
            for call in &self.sent[first..] {
                let words: Vec<_> = call.iter().map(|it| it.escape_ascii().to_string()).collect();
                println!("{}", words.join(" "));
            }
        }
    }
}
