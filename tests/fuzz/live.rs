//! A server under fuzz: every call is timed and remembered, every filter that got in has to serve.

use std::time::{Duration, Instant};

use redis::Value;

use crate::budget::patience;
use bloomline_harness::{Client, Kind, Server, Setup, bulk, int, numbered, show};

/// Most bytes of a filter that a client gets. RESTORE, which is not held to it, may make larger
/// ones of a few bytes; these are left alone: their own header could not be loaded again, and the
/// server would copy them for every question.
const LARGE: i64 = 4 << 20;

/// A server with a connection, and what was said on it since the last time all keys were deleted.
pub struct Live {
    /// The server.
    pub server: Server,
    client: Client,
    said: Vec<Vec<Vec<u8>>>,
    patience: Duration,
}

/// What a filter is, as far as a server tells.
type Seen = [String; 4];

impl Live {
    /// Starts a server that answers DEBUG and lets clients have no [`LARGE`] filters.
    pub fn start(kind: &Kind, setup: Setup) -> Self {
        let setup = if kind.is_before_7() { setup } else { setup.line("enable-debug-command yes") };
        // Damaged payloads of any size are tried; one that is refused is not worth a line each.
        let server = setup.module_args(&format!("bf-max-filter-bytes {LARGE}")).start(kind);
        let client = server.resp2();
        Live { server, client, said: Vec::new(), patience: patience() }
    }

    /// Runs a command and sees that the server still answers, in time and in step.
    pub fn run<A: AsRef<[u8]>>(&mut self, command: &[A]) -> Value {
        self.said.push(command.iter().map(|word| word.as_ref().to_vec()).collect());
        let started = Instant::now();
        let reply = self.client.run(command);
        let took = started.elapsed();
        assert!(took < self.patience, "it took {took:?}");
        reply
    }

    /// Lets the server load all its data again, which takes as long as there is data.
    pub fn reload(&mut self, how: &str) {
        self.said.push(vec![b"DEBUG".to_vec(), how.as_bytes().to_vec()]);
        assert_eq!(show(&self.client.run(&["DEBUG", how])), "+OK", "DEBUG {how}");
    }

    /// Runs a command given as text.
    pub fn ask(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        show(&self.run(&words))
    }

    /// Sees that the server answers, and that replies are in step with commands.
    pub fn ping(&mut self) {
        assert_eq!(self.ask("ECHO in-step"), "$7 in-step");
    }

    /// Deletes all keys, and forgets what was said.
    pub fn begin(&mut self) {
        self.said.clear();
        assert_eq!(self.ask("FLUSHALL"), "+OK");
        assert_eq!(self.ask("SET text value"), "+OK");
    }

    /// Runs all that reads a filter, none of which may refuse it; then all that changes one, on a
    /// copy.
    ///
    /// False if it was left alone for its size.
    pub fn serves(&mut self, key: &str) -> bool {
        let size = int(&self.run(&["BF.INFO", key, "SIZE"]).into_sequence().expect("an array")[0]);
        if size > LARGE {
            for line in
                [format!("BF.CARD {key}"), format!("BF.EXISTS {key} a"), format!("BF.DEBUG {key}")]
            {
                assert!(!self.ask(&line).starts_with('-'), "{line}");
            }
            return false;
        }
        for line in [
            "TYPE KEY",
            "OBJECT ENCODING KEY",
            "BF.CARD KEY",
            "BF.INFO KEY",
            "BF.INFO KEY CAPACITY",
            "BF.INFO KEY FILL",
            "BF.INFO KEY FPRATE",
            "BF.INFO KEY ERROR",
            "BF.INFO KEY LAYOUT",
            "BF.INFO KEY EXPANSION",
            "BF.DEBUG KEY",
            "BF.EXISTS KEY a",
            "BF.SCANDUMP KEY 0",
            "BF.SCANDUMP KEY 1",
            "BF.SCANDUMP KEY 9223372036854775807",
            "MEMORY USAGE KEY",
            "DEBUG DIGEST-VALUE KEY",
        ] {
            let reply = self.ask(&line.replace("KEY", key));
            assert!(!reply.starts_with('-'), "{line} answered {reply}");
        }
        let found = show(&self.items("BF.MEXISTS", key, &numbered("absent", 70)));
        assert!(found.starts_with("*["), "{found}");
        self.comes_back(key);
        assert_eq!(self.ask(&format!("COPY {key} copied REPLACE")), ":1");
        assert_eq!(self.see("copied"), self.see(key));
        for count in [1, 70, 300] {
            // It may be full, or have no room to grow; it may not break, and must still load what
            // it saves.
            self.items("BF.MADD", "copied", &numbered(&count.to_string(), count));
            self.run(&["BF.ADD", "copied", "one"]);
        }
        self.run(&["BF.INSERT", "copied", "NOCREATE", "ITEMS", "a", "b", "a"]);
        self.comes_back("copied");
        self.run(&["DEL", "copied"]);
        true
    }

    /// Takes the filter through DUMP and RESTORE, and piece by piece.
    fn comes_back(&mut self, key: &str) {
        let seen = self.see(key);
        let dump = self.run(&["DUMP", key]);
        let restored =
            show(&self.run(&[b"RESTORE", b"back".as_slice(), b"0", bulk(&dump), b"REPLACE"]));
        assert_eq!(restored, "+OK", "it does not load what it saved");
        assert_eq!(self.see("back"), seen);
        self.run(&["DEL", "back"]);
        let mut iterator = "0".to_owned();
        loop {
            let piece = self.run(&["BF.SCANDUMP", key, &iterator]).into_sequence().expect("a pair");
            if piece[0] == Value::Int(0) {
                break;
            }
            iterator = int(&piece[0]).to_string();
            let loaded = self.run(&[
                b"BF.LOADCHUNK",
                b"back".as_slice(),
                iterator.as_bytes(),
                bulk(&piece[1]),
            ]);
            assert_eq!(show(&loaded), "+OK", "it does not load the piece {iterator} it gave");
        }
        assert_eq!(self.see("back"), seen);
        self.run(&["DEL", "back"]);
    }

    fn see(&mut self, key: &str) -> Seen {
        ["BF.DEBUG", "BF.CARD", "BF.INFO", "DEBUG DIGEST-VALUE"]
            .map(|what| self.ask(&format!("{what} {key}")))
    }

    fn items<A: AsRef<[u8]>>(&mut self, command: &str, key: &str, items: &[A]) -> Value {
        let words = [command.as_bytes(), key.as_bytes()];
        let words: Vec<&[u8]> = words.into_iter().chain(items.iter().map(AsRef::as_ref)).collect();
        self.run(&words)
    }

    /// Sees that items are there.
    pub fn has(&mut self, key: &str, items: &[&Vec<u8>]) {
        if !items.is_empty() {
            let found = show(&self.items("BF.MEXISTS", key, items));
            assert!(!found.contains(":0"), "{key} forgot an item: {found}");
        }
    }

    /// Lets the server do what makes it load its data again; every filter must be the one it was.
    pub fn survives(&mut self, keys: &[&str], reload: impl FnOnce(&mut Self)) {
        let keys: Vec<&str> = keys
            .iter()
            .copied()
            .filter(|key| self.ask(&format!("TYPE {key}")) == "+MBbloom--")
            .collect();
        let before: Vec<Seen> = keys.iter().map(|key| self.see(key)).collect();
        let count = self.ask("DBSIZE");
        reload(self);
        assert_eq!(self.ask("DBSIZE"), count);
        for (key, before) in keys.iter().zip(before) {
            assert_eq!(self.see(key), before, "{key}");
        }
    }

    /// Restarts the server from the file it saves.
    pub fn restart(&mut self) {
        self.server.restart(bloomline_harness::Stop::Save);
        self.client = self.server.resp2();
    }

    /// One of the module's totals over all filters.
    pub fn total(&mut self, name: &str) -> u64 {
        let section = String::from_utf8_lossy(bulk(&self.run(&["INFO", "bf"]))).into_owned();
        let line = section.lines().find_map(|line| line.strip_prefix(&format!("bf_{name}:")));
        line.unwrap_or_else(|| panic!("no bf_{name} in {section}")).parse().expect("a number")
    }

    /// Bytes that the server says it uses.
    pub fn used_memory(&mut self) -> u64 {
        self.client.info("used_memory").parse().expect("bytes")
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for command in &self.said {
                let words: Vec<String> =
                    command.iter().map(|word| format!("\"{}\"", word.escape_ascii())).collect();
                eprintln!("{}", words.join(" "));
            }
        }
    }
}
