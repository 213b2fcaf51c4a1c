//! A blocking connection that keeps replies exactly as the server sent them, including errors
//! inside arrays.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use redis::{Cmd, Parser, RedisError, Value};

use super::arguments::arguments;
use super::reply::{bulk, int, show};
use super::wait::{DEADLINE, until};

/// One connection over the server's Unix socket; every read and write has a deadline.
pub struct Client {
    stream: UnixStream,
    parser: Parser,
}

impl Client {
    /// Connects. Every connection speaks RESP2 until it sends HELLO 3.
    ///
    /// # Errors
    /// That of the operating system, for example while the server is still starting.
    pub fn connect(socket: &Path) -> std::io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(DEADLINE))?;
        stream.set_write_timeout(Some(DEADLINE))?;
        Ok(Client { stream, parser: Parser::new() })
    }

    /// True if the server at the socket answers PING with PONG.
    ///
    /// False if nothing listens there, or the server answers with an error, is still loading,
    /// closes the connection, or does not answer within a second. A server listens before it
    /// loads its data.
    pub fn pong_from(socket: &Path) -> bool {
        let Ok(mut client) = Client::connect(socket) else { return false };
        client.stream.set_read_timeout(Some(Duration::from_secs(1))).is_ok()
            && client.stream.write_all(b"PING\r\n").is_ok()
            && client
                .parser
                .parse_value(&mut client.stream)
                .is_ok_and(|reply| show(&reply) == "+PONG")
    }

    /// Runs one command and returns the reply.
    pub fn run<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Value {
        self.send(args);
        self.receive(&args[0])
    }

    /// Runs one command on a connection that may break, for example because the server is killed.
    ///
    /// # Errors
    /// The connection broke and cannot be used again.
    pub fn try_run<A: AsRef<[u8]>>(&mut self, args: &[A]) -> Result<Value, RedisError> {
        self.stream.write_all(&packed(args))?;
        self.parser.parse_value(&mut self.stream)
    }

    /// Runs one command and ECHO behind it, in one write, and returns the reply of the command.
    ///
    /// Panics unless exactly one complete reply stands before that of ECHO. A reply with fewer
    /// elements than its head says would take that of the next command for an element.
    pub fn run_before_echo<A: AsRef<[u8]>>(&mut self, args: &[A], token: &str) -> Value {
        self.send_raw(&[packed(args), packed(&["ECHO", token])].concat());
        let echo = format!("${}\r\n{token}\r\n", token.len());
        let (mut bytes, mut buffer) = (Vec::new(), [0; 16 << 10]);
        while !bytes.ends_with(echo.as_bytes()) {
            match self.stream.read(&mut buffer) {
                Ok(count @ 1..) => bytes.extend(&buffer[..count]),
                end => panic!("the connection broke: {end:?}, after {}", bytes.escape_ascii()),
            }
        }
        let (mut rest, mut parser) = (&bytes[..], Parser::new());
        let mut next = || parser.parse_value(&mut rest).ok();
        let (reply, echoed, end) = (next(), next(), next());
        let is_alone = echoed == Some(Value::BulkString(token.into())) && end.is_none();
        match reply {
            Some(reply) if is_alone => reply,
            _ => panic!("no reply with ECHO behind it: {}", bytes.escape_ascii()),
        }
    }

    /// Writes bytes as they are. They need not be a command.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("an open connection");
    }

    /// Runs a command line, split into arguments as redis-cli does (quotes, `\xHH`).
    pub fn call(&mut self, line: &str) -> Value {
        self.run(&arguments(line))
    }

    /// Runs a command line and renders the reply in the notation of [`show`].
    pub fn ask(&mut self, line: &str) -> String {
        show(&self.call(line))
    }

    /// Runs a command line and asserts that the reply is `+OK`.
    pub fn ok(&mut self, line: &str) {
        assert_eq!(self.ask(line), "+OK", "{line}");
    }

    /// Runs `command key item...`, for example BF.MADD with many items.
    pub fn items<A: AsRef<[u8]>>(&mut self, command: &str, key: &str, items: &[A]) -> Value {
        let mut args = vec![command.as_bytes(), key.as_bytes()];
        args.extend(items.iter().map(AsRef::as_ref));
        self.run(&args)
    }

    /// All keys of the database, in order.
    pub fn keys(&mut self) -> Vec<String> {
        let Value::Array(keys) = self.call("KEYS *") else { panic!("no keys") };
        let mut keys: Vec<String> =
            keys.iter().map(|key| String::from_utf8_lossy(bulk(key)).into()).collect();
        keys.sort();
        keys
    }

    /// The payload of DUMP.
    pub fn dump(&mut self, key: &str) -> Vec<u8> {
        bulk(&self.call(&format!("DUMP {key}"))).to_vec()
    }

    /// Runs RESTORE without a time to live, and renders the reply.
    pub fn restore(&mut self, key: &str, payload: &[u8]) -> String {
        show(&self.run(&[b"RESTORE".as_slice(), key.as_bytes(), b"0", payload]))
    }

    /// What the names of the commands begin with that serve the filter under a key: `BF` or `CF`.
    pub fn family(&mut self, key: &str) -> &'static str {
        match self.ask(&format!("TYPE {key}")).as_str() {
            "+MBbloom--" | "+bloomfltr" => "BF",
            "+MBbloomCF" => "CF",
            other => panic!("{key} is no filter: {other}"),
        }
    }

    /// One step of BF.SCANDUMP: the next iterator, which is 0 at the end, and the data.
    pub fn scandump(&mut self, key: &str, iterator: i64) -> (i64, Vec<u8>) {
        self.scandump_of("BF", key, iterator)
    }

    /// The same for a family of filters.
    pub fn scandump_of(&mut self, family: &str, key: &str, iterator: i64) -> (i64, Vec<u8>) {
        let line = format!("{family}.SCANDUMP {key} {iterator}");
        match self.call(&line) {
            // Cuckoo filters end with a null.
            Value::Array(pair) if pair.len() == 2 && pair[1] == Value::Nil => {
                (int(&pair[0]), Vec::new())
            }
            Value::Array(pair) if pair.len() == 2 => (int(&pair[0]), bulk(&pair[1]).to_vec()),
            other => panic!("{line} returned {}", show(&other)),
        }
    }

    /// Runs BF.LOADCHUNK and renders the reply.
    pub fn loadchunk(&mut self, key: &str, iterator: i64, data: &[u8]) -> String {
        self.loadchunk_of("BF", key, iterator, data)
    }

    /// The same for a family of filters.
    pub fn loadchunk_of(&mut self, family: &str, key: &str, iterator: i64, data: &[u8]) -> String {
        let (name, iterator) = (format!("{family}.LOADCHUNK"), iterator.to_string());
        show(&self.run(&[name.as_bytes(), key.as_bytes(), iterator.as_bytes(), data]))
    }

    /// All chunks of a filter, each with the iterator that loads it.
    pub fn chunks(&mut self, key: &str) -> Vec<(i64, Vec<u8>)> {
        let family = self.family(key);
        let mut chunks = vec![self.scandump_of(family, key, 0)];
        while let Some(&(iterator, _)) = chunks.last()
            && iterator != 0
        {
            chunks.push(self.scandump_of(family, key, iterator));
        }
        chunks.pop();
        chunks
    }

    /// Loads chunks of a filter of a family under a missing key.
    pub fn load_chunks(&mut self, family: &str, key: &str, chunks: &[(i64, Vec<u8>)]) {
        for (iterator, data) in chunks {
            let reply = self.loadchunk_of(family, key, *iterator, data);
            assert_eq!(reply, "+OK", "{key} at {iterator}");
        }
    }

    /// Copies a filter to a missing key of the same server, chunk by chunk.
    pub fn copy_by_chunks(&mut self, from: &str, to: &str) {
        let (family, chunks) = (self.family(from), self.chunks(from));
        self.load_chunks(family, to, &chunks);
    }

    /// Writes a command without waiting for its reply.
    pub fn send<A: AsRef<[u8]>>(&mut self, args: &[A]) {
        if let Err(why) = self.stream.write_all(&packed(args)) {
            panic!("the connection broke at {}: {why}", args[0].as_ref().escape_ascii());
        }
    }

    /// Reads one reply. Panics with `after`, the name of the command, if the connection breaks.
    pub fn receive(&mut self, after: impl AsRef<[u8]>) -> Value {
        match self.parser.parse_value(&mut self.stream) {
            Ok(value) => value,
            Err(why) => panic!("no reply to {}: {why}", after.as_ref().escape_ascii()),
        }
    }

    /// The value of one field of INFO, for example `used_memory`.
    pub fn info(&mut self, field: &str) -> String {
        let text = match self.call("INFO all") {
            Value::BulkString(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Value::VerbatimString { text, .. } => text,
            other => panic!("INFO returned {}", show(&other)),
        };
        let found = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        found.unwrap_or_else(|| panic!("INFO has no {field}")).to_owned()
    }

    /// The value of one field of INFO that is a number.
    pub fn info_number(&mut self, field: &str) -> u64 {
        let text = self.info(field);
        text.trim().parse().unwrap_or_else(|why| panic!("INFO {field}:{text}: {why}"))
    }

    /// Waits until a field of INFO has a value.
    pub fn wait_for(&mut self, field: &str, value: &str) {
        until(&format!("{field} to be {value}"), || (self.info(field) == value).then_some(()));
    }

    /// Waits until no child process of the server writes a file and none is scheduled.
    pub fn wait_for_saves(&mut self) {
        until("the end of all saves", || {
            let fields =
                ["rdb_bgsave_in_progress", "aof_rewrite_in_progress", "aof_rewrite_scheduled"];
            fields.iter().all(|field| self.info(field) == "0").then_some(())
        });
    }

    /// Rewrites the append-only file, and waits until that has succeeded.
    pub fn rewrite_append_only_file(&mut self) {
        self.call("BGREWRITEAOF");
        self.wait_for_saves();
        assert_eq!(self.info("aof_last_bgrewrite_status"), "ok");
    }

    /// Waits until the server's background threads have freed everything.
    pub fn wait_for_frees(&mut self) {
        until("the background threads to free", || {
            (self.info("lazyfree_pending_objects") == "0").then_some(())
        });
    }

    /// Asserts that the server answers, and that replies still match commands one to one.
    pub fn assert_answers_ping(&mut self, after: &str) {
        let word = "still in step";
        let reply = show(&self.run(&["ECHO", word]));
        assert_eq!(reply, format!("${} {word}", word.len()), "after {after}");
    }
}

/// The bytes of an append-only file with these commands.
pub fn append_only_file<A: AsRef<[u8]>>(commands: &[impl AsRef<[A]>]) -> Vec<u8> {
    commands.iter().flat_map(|command| packed(command.as_ref())).collect()
}

fn packed<A: AsRef<[u8]>>(args: &[A]) -> Vec<u8> {
    let mut command = Cmd::new();
    for arg in args {
        command.arg(arg.as_ref());
    }
    command.get_packed_command()
}
