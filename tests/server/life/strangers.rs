//! Calls of strangers beside a life, on other keys: random command lines, and damaged bytes of
//! filters. Whatever the server accepts is a filter that serves, loads from its own bytes, and is
//! on the replica as well.

use arbitrary::{Result, Unstructured};
use bloomline_harness::{Client, Random, Server, arguments, numbered, seal_dump, show};
use bloomline_reference::checks::header;
use bloomline_reference::checks::values::damage_field;
use bloomline_reference::payload::{MODULE, Payload};
use redis::Value;

use crate::calls::cuckoo::Numbers;
use crate::calls::own;
use crate::calls::redisbloom::{KEYS, key};
use crate::calls::words::{Words, word};
use crate::filters::Family;
use crate::hostile::{assert_restores, assert_works};
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
                    self.run(arguments(&format!("DEL {key}")));
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
                let bytes = if u.ratio(1, 4)? { u.int_in_range(1..=4u8)? } else { 0 };
                for _ in 0..bytes {
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
            && let Value::BulkString(dump) = self.client.run(&[&b"DUMP"[..], &key[..]])
            && dump.first() == Some(&MODULE)
        {
            let (key, what) = (String::from_utf8_lossy(key), String::from_utf8_lossy(name));
            assert_restores(&mut self.client, &key, &dump, &what);
        }
        reply
    }

    /// Asserts that each filter that the calls have left serves, and that the replica has it.
    /// Returns the types of the filters.
    pub fn end(mut self, replica: &mut Client) -> Vec<String> {
        let keys = KEYS.map(|key| (key, self.client.ask(&format!("TYPE {key}"))));
        let mut types = Vec::new();
        for (key, name) in keys.into_iter().filter(|(_, name)| name.contains("bloom")) {
            self.assert_serves(key);
            types.push(name);
        }
        assert_eq!(self.client.ask("WAIT 1 250000"), ":1");
        assert_eq!(replica.ask("DEBUG DIGEST"), self.client.ask("DEBUG DIGEST"), "the replica");
        types
    }

    /// Runs all commands on copies of a filter. None that reads may be refused, and each change has
    /// exactly one reply. The filter may be full or unable to grow.
    fn assert_serves(&mut self, key: &str) {
        let family = Family::of(&mut self.client, key);
        let mexists = vec![family.command("MEXISTS"), word(key)];
        let found = show(&self.run([mexists, numbered("absent", 70)].concat()));
        assert!(found.starts_with("*["), "{found}");
        let (add, changes): (_, &[&str]) = match family {
            Family::Bloom => (
                "BF.MADD copied",
                &[
                    "BF.ROTATE copied",
                    "BF.ROTATE copied AT 5",
                    "BF.MERGE copied KEY",
                    "BF.COMPACT copied",
                ],
            ),
            Family::Cuckoo => {
                ("CF.INSERT copied ITEMS", &["CF.DEL copied one", "CF.COMPACT copied"])
            }
        };
        self.copy(key);
        assert_works(&mut self.client, "copied", key);
        self.copy(key);
        for change in changes {
            for count in [1, 70, 300] {
                self.run([arguments(add), numbered(&format!("{change} {count}"), count)].concat());
            }
            self.run(arguments(&change.replace("KEY", key)));
        }
        assert_works(&mut self.client, "copied", key);
    }

    fn copy(&mut self, key: &str) {
        assert_eq!(self.client.ask(&format!("COPY {key} copied")), ":1");
        assert_eq!(digest(&mut self.client, "copied"), digest(&mut self.client, key));
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
            _ => damage_field(&mut payload.fields[at], u)?,
        }
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
