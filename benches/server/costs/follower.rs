//! A replica that receives everything and reads nothing, so that the primary counts what it sends.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::thread::{self, JoinHandle};

use crate::result::Result;
use crate::server::Server;
use crate::wait::until;

/// The replica. Its thread ends with the connection.
pub struct Follower {
    stream: UnixStream,
    reader: Option<JoinHandle<()>>,
}

impl Follower {
    /// Requests a full synchronisation and waits until it has been sent.
    pub fn attach(primary: &mut Server) -> Result<Follower> {
        let mut stream = UnixStream::connect(primary.socket())?;
        stream.write_all(b"PSYNC ? -1\r\n")?;
        let mut sent = stream.try_clone()?;
        let reader = thread::spawn(move || {
            // It ends with the connection, for whatever reason.
            let _ = io::copy(&mut sent, &mut io::sink());
        });
        let follower = Follower { stream, reader: Some(reader) };
        until("the primary to have synchronised", || {
            let replica: String = primary.info("replication", "slave0").unwrap_or_default();
            Ok(replica.contains("state=online").then_some(()))
        })?;
        Ok(follower)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        // Both fail only if the primary has ended, and then the reader ends as well.
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
        let _ = self.reader.take().map(JoinHandle::join);
    }
}
