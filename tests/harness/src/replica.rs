//! A replica that records the commands of its primary and does not run them.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use redis::{Parser, Value};

use super::reply::{bulk, show};
use super::server::Server;
use super::wait::DEADLINE;

/// The replication link of a server, read command by command.
pub struct Replica {
    stream: UnixStream,
    parser: Parser,
    fences: u32,
}

impl Replica {
    /// Requests a full synchronisation and skips the RDB file, up to the first command.
    pub fn attach(primary: &Server) -> Self {
        let mut stream = UnixStream::connect(primary.socket()).expect("the primary's socket");
        stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
        stream.write_all(b"PSYNC ? -1\r\n").expect("a request");
        let answer = read_line(&mut stream);
        assert!(answer.starts_with("+FULLRESYNC"), "{answer}");
        // A replica that announces no capability receives the length of the RDB file before it.
        let length = read_line(&mut stream);
        let length: u64 = length.strip_prefix('$').and_then(|n| n.parse().ok()).expect("a length");
        std::io::copy(&mut (&mut stream).take(length), &mut std::io::sink()).expect("the RDB file");
        Replica { stream, parser: Parser::new(), fences: 0 }
    }

    /// Every command on the link since the last call, each as its arguments.
    pub fn received(&mut self, primary: &Server) -> Vec<Vec<Vec<u8>>> {
        self.fences += 1;
        let fence = format!("fence:{}", self.fences);
        self.received_before(primary, &fence)
    }

    /// The same with the name of a key that the test has not set yet, and the server accepts.
    pub fn received_before(&mut self, primary: &Server, fence: &str) -> Vec<Vec<Vec<u8>>> {
        primary.resp2().ok(&format!("SET {fence} 1"));
        let mut commands = Vec::new();
        loop {
            let command = match self.parser.parse_value(&mut self.stream) {
                Ok(Value::Array(words)) => {
                    words.iter().map(|word| bulk(word).to_vec()).collect::<Vec<_>>()
                }
                Ok(other) => panic!("the link sent {}", show(&other)),
                Err(why) => panic!("the link broke: {why}"),
            };
            if command.get(1).is_some_and(|key| key == fence.as_bytes()) {
                return commands;
            }
            // Commands of the replication protocol itself, which no client sent.
            if !["SELECT", "PING", "REPLCONF"]
                .iter()
                .any(|own| command[0].eq_ignore_ascii_case(own.as_bytes()))
            {
                commands.push(command);
            }
        }
    }

    /// The same as lines: names of commands in upper case, the data of LOADCHUNK as `<data>`.
    pub fn lines(&mut self, primary: &Server) -> Vec<String> {
        let line = |mut command: Vec<Vec<u8>>| {
            command[0].make_ascii_uppercase();
            if command[0].ends_with(b".LOADCHUNK") {
                command[3] = b"<data>".to_vec();
            }
            command.iter().map(|word| word.escape_ascii().to_string()).collect::<Vec<_>>().join(" ")
        };
        self.received(primary).into_iter().map(line).collect()
    }

    /// The same without the frame of transactions.
    pub fn writes(&mut self, primary: &Server) -> Vec<String> {
        let lines = self.lines(primary).into_iter();
        lines.filter(|line| line != "MULTI" && line != "EXEC").collect()
    }
}

/// Reads one line byte by byte, because the parser must not read what follows it. Skips empty
/// lines, which keep the link alive.
fn read_line(stream: &mut UnixStream) -> String {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("the primary's answer");
        match byte[0] {
            b'\n' if line.is_empty() => {}
            b'\n' => return String::from_utf8(line).expect("text").trim_end().to_owned(),
            other => line.push(other),
        }
    }
}
