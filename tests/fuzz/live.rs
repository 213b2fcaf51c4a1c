//! A server under fuzz: every call is timed and recorded, and every accepted filter must serve.

use std::time::{Duration, Instant};

use bloomline_harness::{Client, Kind, Server, Setup, bulk, int, numbered, show};
use redis::Value;

use crate::budget::patience;

/// The most bytes of a filter that clients may create (`bf-max-filter-bytes`).
///
/// The test only reads a larger one, because its own header could not be loaded again.
const LARGE: i64 = 4 << 20;

/// A server with a connection, and the commands since all keys were last deleted.
pub struct Live {
    /// The server.
    pub server: Server,
    client: Client,
    sent: Vec<Vec<Vec<u8>>>,
    patience: Duration,
}

/// What a server reports of a filter.
type Seen = [String; 4];

impl Live {
    /// Starts a server that answers DEBUG and allows clients no [`LARGE`] filters.
    pub fn start(kind: &Kind, setup: Setup) -> Self {
        let setup = if kind.is_before_7() { setup } else { setup.line("enable-debug-command yes") };
        let server = setup.module_args(&format!("bf-max-filter-bytes {LARGE}")).start(kind);
        let client = server.resp2();
        Live { server, client, sent: Vec::new(), patience: patience() }
    }

    /// Runs a command and asserts that the server answers in time.
    pub fn run<A: AsRef<[u8]>>(&mut self, command: &[A]) -> Value {
        self.sent.push(command.iter().map(|word| word.as_ref().to_vec()).collect());
        let started = Instant::now();
        let reply = self.client.run(command);
        let took = started.elapsed();
        assert!(took < self.patience, "the call took {took:?}");
        reply
    }

    /// Makes the server reload all its data. This takes longer with more data, so it is not timed.
    pub fn reload(&mut self, how: &str) {
        self.sent.push(vec![b"DEBUG".to_vec(), how.as_bytes().to_vec()]);
        assert_eq!(show(&self.client.run(&["DEBUG", how])), "+OK", "DEBUG {how}");
    }

    /// Runs a command line.
    pub fn ask(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        show(&self.run(&words))
    }

    /// Asserts that the server answers and that replies match commands.
    pub fn ping(&mut self) {
        assert_eq!(self.ask("ECHO in-step"), "$7 in-step");
    }

    /// Deletes all keys and the recorded commands.
    pub fn begin(&mut self) {
        self.sent.clear();
        assert_eq!(self.ask("FLUSHALL"), "+OK");
        assert_eq!(self.ask("SET text value"), "+OK");
    }

    /// Runs all commands that read a filter, none of which may refuse it; then all that change one,
    /// on a copy.
    ///
    /// Returns false if the filter is too large to be tested.
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
            "BF.INFO KEY WINDOW",
            "BF.INFO KEY GENERATIONS",
            "BF.INFO KEY OLDEST",
            "BF.INFO KEY NEWEST",
            "BF.DEBUG KEY",
            "BF.EXISTS KEY a",
            "BF.SCANDUMP KEY 0",
            "BF.SCANDUMP KEY 1",
            "BF.SCANDUMP KEY 9223372036854775807",
            "MEMORY USAGE KEY",
            "DEBUG DIGEST-VALUE KEY",
        ] {
            let reply = self.ask(&line.replace("KEY", key));
            assert!(!reply.starts_with('-'), "{line} returned {reply}");
        }
        let found = show(&self.items("BF.MEXISTS", key, &numbered("absent", 70)));
        assert!(found.starts_with("*["), "{found}");
        self.assert_carried(key);
        assert_eq!(self.ask(&format!("COPY {key} copied REPLACE")), ":1");
        assert_eq!(self.observe("copied"), self.observe(key));
        for count in [1, 70, 300] {
            // The filter may be full or unable to grow, but it must not break and must still load
            // what it saves.
            self.items("BF.MADD", "copied", &numbered(&count.to_string(), count));
            self.run(&["BF.ADD", "copied", "one"]);
            let lines = numbered(&format!("line {count}"), count).join(&b'\n');
            let reply = show(&self.run(&[b"BF.BULKADD", &b"copied"[..], b"LINES", &lines]));
            assert!(reply.starts_with("*["), "{reply}");
        }
        self.run(&["BF.INSERT", "copied", "NOCREATE", "ITEMS", "a", "b", "a"]);
        self.assert_carried("copied");
        if self.ask("BF.ROTATE copied") == "+OK" || self.ask("BF.ROTATE copied AT 5") == "+OK" {
            self.run(&["BF.ADD", "copied", "after"]);
            self.assert_carried("copied");
        }
        self.run(&["DEL", "copied"]);
        true
    }

    /// Carries the filter through DUMP and RESTORE, then through BF.SCANDUMP and BF.LOADCHUNK.
    fn assert_carried(&mut self, key: &str) {
        let seen = self.observe(key);
        let dump = self.run(&["DUMP", key]);
        let restored =
            show(&self.run(&[b"RESTORE", b"back".as_slice(), b"0", bulk(&dump), b"REPLACE"]));
        assert_eq!(restored, "+OK", "the filter does not load from its own dump");
        assert_eq!(self.observe("back"), seen);
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
            assert_eq!(show(&loaded), "+OK", "the filter does not load its own chunk {iterator}");
        }
        assert_eq!(self.observe("back"), seen);
        self.run(&["DEL", "back"]);
    }

    fn observe(&mut self, key: &str) -> Seen {
        ["BF.DEBUG", "BF.CARD", "BF.INFO", "DEBUG DIGEST-VALUE"]
            .map(|what| without_ages(&self.ask(&format!("{what} {key}"))))
    }

    fn items<A: AsRef<[u8]>>(&mut self, command: &str, key: &str, items: &[A]) -> Value {
        let words = [command.as_bytes(), key.as_bytes()];
        let words: Vec<&[u8]> = words.into_iter().chain(items.iter().map(AsRef::as_ref)).collect();
        self.run(&words)
    }

    /// Asserts that the filter contains the items.
    pub fn assert_contains(&mut self, key: &str, items: &[&Vec<u8>]) {
        if !items.is_empty() {
            let found = show(&self.items("BF.MEXISTS", key, items));
            assert!(!found.contains(":0"), "{key} lost an item: {found}");
        }
    }

    /// Runs `reload`, which makes the server load its data again; asserts that every filter is
    /// unchanged.
    pub fn assert_survives(&mut self, keys: &[&str], reload: impl FnOnce(&mut Self)) {
        let keys: Vec<&str> = keys
            .iter()
            .copied()
            .filter(|key| self.ask(&format!("TYPE {key}")) == "+MBbloom--")
            .collect();
        let before: Vec<Seen> = keys.iter().map(|key| self.observe(key)).collect();
        let count = self.ask("DBSIZE");
        reload(self);
        assert_eq!(self.ask("DBSIZE"), count);
        for (key, before) in keys.iter().zip(before) {
            assert_eq!(self.observe(key), before, "{key}");
        }
    }

    /// Restarts the server from the RDB file that it saves.
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

    /// The bytes that the server reports as used.
    pub fn used_memory(&mut self) -> u64 {
        self.client.info_number("used_memory")
    }
}

/// A reply to BF.DEBUG without the ages of generations, and with nothing that depends on their
/// lengths.
fn without_ages(reply: &str) -> String {
    let mut parts = reply.split(" age:");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        rest.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    }
    let is_length = |word: &&str| !word.trim_start_matches("*[").starts_with('$');
    rest.split(' ').filter(is_length).collect::<Vec<_>>().join(" ")
}

impl Drop for Live {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for command in &self.sent {
                let words: Vec<String> =
                    command.iter().map(|word| format!("\"{}\"", word.escape_ascii())).collect();
                eprintln!("{}", words.join(" "));
            }
        }
    }
}
