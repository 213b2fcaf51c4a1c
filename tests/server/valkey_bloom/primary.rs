//! A primary that sends a given data set and stream, as a server with another module did.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use bloomline_harness::bulk;
use redis::{Parser, Value};

/// An RDB file without keys, of the oldest server's version. A checksum of zeros is not checked.
pub const EMPTY: &[u8] = b"REDIS0009\xff\0\0\0\0\0\0\0\0";

/// A primary of one replica, whose stream the test writes.
pub struct Primary {
    pub port: u16,
    link: Receiver<TcpStream>,
}

impl Primary {
    /// A primary with a given data set.
    pub fn start(rdb: &[u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let full = format!("+FULLRESYNC {} 0\r\n${}\r\n", "a".repeat(40), rdb.len());
        let sent = [full.as_bytes(), rdb].concat();
        let (ready, link) = mpsc::channel();
        thread::spawn(move || {
            let (replica, _) = listener.accept().expect("a replica");
            talk(replica, &sent, &ready);
        });
        Self { port, link }
    }

    /// The link, once the data set is sent. It stays open until the replica ends it.
    pub fn link(self) -> TcpStream {
        self.link.recv().expect("a replica")
    }
}

/// Serves one replica with a data set and a stream. Returns the port; the link stays open until the
/// replica ends it.
pub fn serve(rdb: &[u8], stream: &[u8]) -> u16 {
    let primary = Primary::start(rdb);
    let (port, stream) = (primary.port, stream.to_vec());
    thread::spawn(move || primary.link().write_all(&stream));
    port
}

/// Answers the handshake, sends the data after PSYNC, then passes the link on, and ignores what the
/// replica acknowledges.
fn talk(mut replica: TcpStream, sent: &[u8], ready: &Sender<TcpStream>) {
    let mut parser = Parser::new();
    while let Ok(Value::Array(words)) = parser.parse_value(&mut replica) {
        let word = |at: usize| bulk(&words[at]).to_ascii_uppercase();
        let reply: &[u8] = match &word(0)[..] {
            b"PING" => b"+PONG\r\n",
            b"PSYNC" => sent,
            _ if word(1) == b"ACK" => b"",
            _ => b"+OK\r\n",
        };
        if replica.write_all(reply).is_err() {
            return;
        }
        if word(0) == b"PSYNC" {
            let link = replica.try_clone().expect("a second handle");
            // The test may have ended.
            let _ = ready.send(link);
        }
    }
}
