//! A server under fuzz: every call is timed and recorded, every reply must be whole, and every
//! accepted filter must serve.

use std::time::{Duration, Instant};

use bloomline_harness::{Client, Kind, Random, Server, Setup, bulk, int, numbered, show};
use redis::Value;

use crate::budget::patience;
use crate::family::Family;
use bloomline_reference::payload::MODULE;

/// The most bytes of a filter that clients may make (`bf-max-filter-bytes`).
const LARGE: i64 = 4 << 20;

/// Seconds of the longest window that may end during a case.
const SHORT: i64 = 100_000;

/// The protocol of a call.
#[derive(Clone, Copy, PartialEq)]
pub enum Protocol {
    Resp2,
    Resp3,
}

impl Protocol {
    /// Every second case speaks RESP3.
    pub fn of_case(seed: u64) -> Self {
        if seed.is_multiple_of(2) { Self::Resp2 } else { Self::Resp3 }
    }
}

/// A server with a connection of each protocol, and the commands since all keys were last deleted.
pub struct Live {
    /// The server.
    pub server: Server,
    /// The protocol of the calls under test. All others speak RESP2.
    pub protocol: Protocol,
    resp2: Client,
    resp3: Client,
    tokens: Random,
    sent: Vec<Vec<Vec<u8>>>,
    patience: Duration,
}

/// What a server reports of a filter.
type Seen = Vec<String>;

impl Live {
    /// Starts a server that answers DEBUG and allows clients filters up to [`LARGE`].
    pub fn start(kind: &Kind, setup: Setup) -> Self {
        let setup = if kind.is_before_7() { setup } else { setup.line("enable-debug-command yes") };
        let server = setup.module_args(&format!("bf-max-filter-bytes {LARGE}")).start(kind);
        let (resp2, resp3) = (server.resp2(), server.resp3());
        let (protocol, tokens) = (Protocol::Resp2, Random(0));
        Live { server, protocol, resp2, resp3, tokens, sent: Vec::new(), patience: patience() }
    }

    /// Runs a command, and asserts that the server answers in time, with exactly one reply.
    pub fn run<A: AsRef<[u8]>>(&mut self, command: &[A]) -> Value {
        self.run_as(Protocol::Resp2, command)
    }

    /// The same in the protocol of the calls under test.
    pub fn test<A: AsRef<[u8]>>(&mut self, command: &[A]) -> Value {
        self.run_as(self.protocol, command)
    }

    fn run_as<A: AsRef<[u8]>>(&mut self, protocol: Protocol, command: &[A]) -> Value {
        self.sent.push(command.iter().map(|word| word.as_ref().to_vec()).collect());
        let token = format!("echo {:016x}", self.tokens.next());
        let started = Instant::now();
        let client = match protocol {
            Protocol::Resp2 => &mut self.resp2,
            Protocol::Resp3 => &mut self.resp3,
        };
        let reply = client.run_before_echo(command, &token);
        let took = started.elapsed();
        assert!(took < self.patience, "the call took {took:?}");
        reply
    }

    /// Makes the server reload all its data. This takes longer with more data, so it is not timed.
    pub fn reload(&mut self, how: &str) {
        self.sent.push(vec![b"DEBUG".to_vec(), how.as_bytes().to_vec()]);
        assert_eq!(show(&self.resp2.run(&["DEBUG", how])), "+OK", "DEBUG {how}");
    }

    /// Runs a command line.
    pub fn ask(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        show(&self.run(&words))
    }

    /// Deletes all keys and the recorded commands.
    pub fn begin(&mut self) {
        self.sent.clear();
        assert_eq!(self.ask("FLUSHALL"), "+OK");
        assert_eq!(self.ask("SET text value"), "+OK");
    }

    /// The family of the filter under a key; none if there is no filter.
    pub fn family_of(&mut self, key: &[u8]) -> Option<Family> {
        match show(&self.run(&[b"TYPE", key])).as_str() {
            "+MBbloom--" | "+bloomfltr" => Some(Family::Bloom),
            "+MBbloomCF" => Some(Family::Cuckoo),
            _ => None,
        }
    }

    /// The family of the filter under a key that holds one.
    fn family(&mut self, key: &str) -> Family {
        self.family_of(key.as_bytes()).unwrap_or_else(|| panic!("{key} is no filter"))
    }

    /// The number of items that the filter reports.
    pub fn card(&mut self, key: &str) -> u64 {
        let card = match self.family(key) {
            Family::Bloom => self.run(&["BF.CARD", key]),
            Family::Cuckoo => self.cuckoo_info(key, 7),
        };
        int(&card) as u64
    }

    /// An element of the reply to CF.INFO.
    fn cuckoo_info(&mut self, key: &str, at: usize) -> Value {
        self.run(&["CF.INFO", key]).into_sequence().expect("an array").swap_remove(at)
    }

    /// Runs all commands that read a filter, none of which may refuse it; then all that change one,
    /// on a copy.
    pub fn serves(&mut self, key: &str) {
        match self.family(key) {
            Family::Bloom => self.serves_bloom(key),
            Family::Cuckoo => self.serves_cuckoo(key),
        }
    }

    fn serves_cuckoo(&mut self, key: &str) {
        for line in [
            "OBJECT ENCODING KEY",
            "CF.INFO KEY",
            "CF.DEBUG KEY",
            "CF.EXISTS KEY a",
            "CF.COUNT KEY a",
            "CF.SCANDUMP KEY 0",
            "CF.SCANDUMP KEY 1",
            "CF.SCANDUMP KEY 9223372036854775807",
            "MEMORY USAGE KEY",
            "DEBUG DIGEST-VALUE KEY",
        ] {
            let reply = self.ask(&line.replace("KEY", key));
            assert!(!reply.starts_with('-'), "{line} returned {reply}");
        }
        let found = show(&self.items("CF.MEXISTS", key, &numbered("absent", 70)));
        assert!(found.starts_with("*["), "{found}");
        self.assert_carried(key);
        assert_eq!(self.ask(&format!("COPY {key} copied REPLACE")), ":1");
        assert_eq!(self.observe("copied"), self.observe(key));
        for count in [1, 70, 300] {
            // The filter may be full or unable to grow, as above.
            let items = numbered(&count.to_string(), count);
            for command in ["CF.INSERT", "CF.INSERTNX"] {
                self.items(command, "copied", &[&[b"ITEMS".to_vec()], &items[..]].concat());
                self.assert_reloads("copied");
            }
            self.test(&["CF.ADD", "copied", "one"]);
            self.test(&["CF.ADDNX", "copied", "one"]);
            self.test(&["CF.DEL", "copied", "one"]);
            let deleted = show(&self.items("CF.MDEL", "copied", &items[count / 2..]));
            assert!(deleted.starts_with("*["), "{deleted}");
            self.assert_reloads("copied");
        }
        self.assert_carried("copied");
        assert_eq!(show(&self.test(&["CF.COMPACT", "copied"])), "+OK");
        self.test(&["CF.INSERT", "copied", "NOCREATE", "ITEMS", "a", "b", "a"]);
        self.assert_carried("copied");
        self.run(&["DEL", "copied"]);
    }

    fn serves_bloom(&mut self, key: &str) {
        for line in [
            "OBJECT ENCODING KEY",
            "BF.CARD KEY",
            "BF.INFO KEY",
            "BF.INFO KEY CAPACITY",
            "BF.INFO KEY FILL",
            "BF.INFO KEY FPRATE",
            "BF.INFO KEY ESTIMATE",
            "BF.INFO KEY ERROR",
            "BF.INFO KEY LAYOUT",
            "BF.INFO KEY EXPANSION",
            "BF.INFO KEY WINDOW",
            "BF.INFO KEY GENERATIONS",
            "BF.INFO KEY OLDEST",
            "BF.INFO KEY NEWEST",
            "BF.STATS KEY",
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
            self.test(&["BF.ADD", "copied", "one"]);
            let lines = numbered(&format!("line {count}"), count).join(&b'\n');
            let reply = show(&self.test(&[b"BF.BULKADD", &b"copied"[..], b"LINES", &lines]));
            // A ring whose offsets are used up cannot rotate.
            let cannot_rotate = ["could not", "Insufficient memory to"]
                .iter()
                .any(|cause| reply.starts_with(&format!("-ERR {cause} rotate filter: ")));
            assert!(reply.starts_with("*[") || cannot_rotate, "{reply}");
            let reply = show(&self.test(&[b"BF.BULKEXISTS", &b"copied"[..], b"LINES", &lines]));
            assert!(reply.starts_with("*["), "{reply}");
            self.assert_reloads("copied");
        }
        self.test(&["BF.INSERT", "copied", "NOCREATE", "ITEMS", "a", "b", "a"]);
        self.assert_carried("copied");
        // Joined with what it was.
        self.test(&["BF.MERGE", "copied", key]);
        self.assert_reloads("copied");
        // So many rotations that each generation is dropped; only some filters rotate by hand.
        for _ in 0..if self.ask("BF.ROTATE copied") == "+OK" { 6 } else { 1 } {
            self.test(&["BF.ROTATE", "copied"]);
            self.test(&["BF.ROTATE", "copied", "AT", "5"]);
            self.items("BF.MADD", "copied", &["after", "that"]);
            self.assert_reloads("copied");
        }
        match self.test(&["BF.COMPACT", "copied"]) {
            Value::Int(freed) => assert!((0..LARGE).contains(&freed), "{freed} bytes"),
            refused => assert!(show(&refused).starts_with("-ERR cannot compact: the filter has ")),
        }
        self.items("BF.MADD", "copied", &numbered("compacted", 70));
        self.assert_carried("copied");
        self.run(&["DEL", "copied"]);
    }

    /// Asserts that a filter is restored from its own dump to an equal one. Does nothing if there
    /// is no filter. The restored one stays.
    pub fn assert_reloads(&mut self, key: &str) {
        let Value::BulkString(dump) = self.run(&["DUMP", key]) else { return };
        if dump.first() != Some(&MODULE) {
            return;
        }
        let restored = self.run(&[b"RESTORE", b"back".as_slice(), b"0", &dump, b"REPLACE"]);
        assert_eq!(show(&restored), "+OK", "the filter does not load from its own dump");
        let digests = self.run(&["DEBUG", "DIGEST-VALUE", key, "back"]).into_sequence();
        let digests = digests.expect("two digests");
        assert_eq!(digests[0], digests[1], "the restored filter differs");
    }

    /// Carries the filter through DUMP and RESTORE, then through SCANDUMP and LOADCHUNK.
    fn assert_carried(&mut self, key: &str) {
        self.assert_reloads(key);
        self.run(&["DEL", "back"]);
        let family = self.family(key);
        let [scandump, loadchunk] = ["SCANDUMP", "LOADCHUNK"].map(|name| family.command(name));
        let size = int(&match family {
            Family::Bloom => {
                let size = self.run(&["BF.INFO", key, "SIZE"]);
                size.into_sequence().expect("an array").swap_remove(0)
            }
            Family::Cuckoo => self.cuckoo_info(key, 1),
        });
        assert!(size <= LARGE, "the filter takes {size} bytes");
        let seen = self.observe(key);
        let mut iterator = "0".to_owned();
        loop {
            let piece = self.run(&[&scandump, key.as_bytes(), iterator.as_bytes()]);
            let piece = piece.into_sequence().expect("a pair");
            if piece[0] == Value::Int(0) {
                break;
            }
            iterator = int(&piece[0]).to_string();
            let loaded =
                self.run(&[&loadchunk, &b"back"[..], iterator.as_bytes(), bulk(&piece[1])]);
            assert_eq!(show(&loaded), "+OK", "the filter does not load its own chunk {iterator}");
        }
        assert_eq!(self.observe("back"), seen);
        self.run(&["DEL", "back"]);
    }

    /// Everything that does not depend on the time.
    fn observe(&mut self, key: &str) -> Seen {
        if self.family(key) == Family::Cuckoo {
            let questions = ["DEBUG DIGEST-VALUE", "CF.DEBUG", "CF.INFO"];
            return questions.map(|what| self.ask(&format!("{what} {key}"))).into();
        }
        let window = self.run(&["BF.INFO", key, "WINDOW"]).into_sequence().expect("an array");
        // Items of a forged window of seconds may expire between two questions.
        let is_short = matches!(window[..], [Value::Int(0..SHORT)]);
        let questions = ["DEBUG DIGEST-VALUE", "BF.DEBUG", "BF.CARD", "BF.INFO"];
        let asked = &questions[..if is_short { 1 } else { questions.len() }];
        asked.iter().map(|what| without_ages(&self.ask(&format!("{what} {key}")))).collect()
    }

    fn items<A: AsRef<[u8]>>(&mut self, command: &str, key: &str, items: &[A]) -> Value {
        let words = [command.as_bytes(), key.as_bytes()];
        let words: Vec<&[u8]> = words.into_iter().chain(items.iter().map(AsRef::as_ref)).collect();
        self.test(&words)
    }

    /// Asserts that the filter contains the items.
    pub fn assert_contains(&mut self, key: &str, items: &[&Vec<u8>]) {
        if !items.is_empty() {
            let command = String::from_utf8(self.family(key).command("MEXISTS")).expect("a name");
            let found = show(&self.items(&command, key, items));
            let is_lost = found.contains(":0") || found.contains("#f");
            assert!(!is_lost, "{key} lost an item: {found}");
        }
    }

    /// Runs `reload`, which makes the server load its data again; asserts that every filter is
    /// unchanged.
    pub fn assert_survives(&mut self, keys: &[&str], reload: impl FnOnce(&mut Self)) {
        let keys: Vec<&str> =
            keys.iter().copied().filter(|key| self.family_of(key.as_bytes()).is_some()).collect();
        let before: Vec<Seen> = keys.iter().map(|key| self.observe(key)).collect();
        let count = self.ask("DBSIZE");
        reload(self);
        assert_eq!(self.ask("DBSIZE"), count);
        for (key, before) in keys.iter().zip(before) {
            assert_eq!(self.observe(key), before, "{key}");
        }
    }

    /// Rewrites the append-only file, and makes the server load it.
    pub fn reload_rewritten_file(&mut self) {
        self.sent.push(vec![b"BGREWRITEAOF".to_vec()]);
        self.resp2.rewrite_append_only_file();
        self.reload("LOADAOF");
    }

    /// Restarts the server from the RDB file that it saves.
    pub fn restart(&mut self) {
        self.server.restart(bloomline_harness::Stop::Save);
        (self.resp2, self.resp3) = (self.server.resp2(), self.server.resp3());
    }

    /// One of the module's totals over all filters.
    pub fn total(&mut self, name: &str) -> u64 {
        let section = String::from_utf8_lossy(bulk(&self.run(&["INFO", "bf"]))).into_owned();
        let line = section.lines().find_map(|line| line.strip_prefix(&format!("bf_{name}:")));
        line.unwrap_or_else(|| panic!("no bf_{name} in {section}")).parse().expect("a number")
    }

    /// The bytes that the server reports as used.
    pub fn used_memory(&mut self) -> u64 {
        self.resp2.info_number("used_memory")
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
