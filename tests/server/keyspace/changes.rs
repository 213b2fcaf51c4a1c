//! A changed key as others see it: keyspace events, WATCH, client-side caching, replicas. Each
//! change has all four effects. A call that changes nothing has none, and leaves the bytes as they
//! are.

use bloomline_harness::{Client, Replica, Server, Setup, bulk, show};
use redis::Value;

use crate::inspect::word;
use crate::overlapping::{KINDS, make};
use crate::windowed::{RATE, age};

/// Milliseconds of a slot of the windows here.
const SLOT: u64 = 1_000_000_000;

/// A call, and the events that it sends.
type Call = (&'static str, &'static [&'static str]);

/// Brings the database into the state that [`CHANGES`] and [`UNCHANGED`] assume.
fn prepare(client: &mut Client) {
    client.ok("FLUSHALL");
    client.ok("BF.RESERVE k 0.0000001 100");
    assert_eq!(client.ask("BF.MADD k a b"), "*[:1 :1]");
    client.ok("BF.RESERVE full 0.0000001 2 NONSCALING");
    assert_eq!(client.ask("BF.MADD full a b"), "*[:1 :1]");
    client.ok("SET text value");
    for key in ["roomy", "compacted"] {
        client.ok(&format!("BF.RESERVE {key} 0.001 100000"));
    }
    assert_ne!(client.ask("BF.COMPACT compacted"), ":0");
    client.ok("BF.RESERVE hand 0.0000001 100 GENERATIONS 2");
    client.ok("CF.RESERVE cuckoo 100 LAYOUT REDISBLOOM");
    assert_eq!(client.ask("CF.INSERT cuckoo ITEMS a b b"), "*[:1 :1 :1]");
    client.ok("CF.RESERVE caged 4 EXPANSION 0 LAYOUT REDISBLOOM");
    client.ok("CF.LOADCHUNK caged 5 \"\\x01\\x01\\x01\\x01\"");
    client.ok("CF.RESERVE sparse 1000");
    client.ok("CF.RESERVE deleted 100 LAYOUT REDISBLOOM");
    assert_eq!(client.ask("CF.ADD deleted a"), ":1");
    assert_eq!(client.ask("CF.DEL deleted a"), ":1");
}

/// Calls that change the key that is their second argument.
const CHANGES: &[Call] = &[
    ("BF.ADD k new", &["bloom.add k"]),
    ("BF.ADD missing a", &["bloom.reserve missing", "bloom.add missing"]),
    ("BF.MADD k a new", &["bloom.add k"]),
    ("BF.MADD missing a", &["bloom.reserve missing", "bloom.add missing"]),
    ("BF.BULKADD k LINES \"a\nnew\"", &["bloom.add k"]),
    ("BF.BULKADD missing FIXED 1 a", &["bloom.reserve missing", "bloom.add missing"]),
    ("BF.INSERT k ITEMS new", &["bloom.add k"]),
    ("BF.INSERT k NOCREATE ITEMS a new", &["bloom.add k"]),
    ("BF.INSERT missing CAPACITY 7 ITEMS a", &["bloom.reserve missing", "bloom.add missing"]),
    ("BF.RESERVE missing 0.01 100", &["bloom.reserve missing"]),
    ("BF.COMPACT roomy", &["bloom.compact roomy"]),
    ("BF.ROTATE hand", &["bloom.rotate hand"]),
    ("CF.ADD cuckoo a", &["cuckoo.add cuckoo"]),
    ("CF.ADD missing a", &["cuckoo.reserve missing", "cuckoo.add missing"]),
    ("CF.ADDNX cuckoo new", &["cuckoo.add cuckoo"]),
    ("CF.ADDNX missing a", &["cuckoo.reserve missing", "cuckoo.add missing"]),
    ("CF.INSERT cuckoo ITEMS a", &["cuckoo.add cuckoo"]),
    ("CF.INSERT missing CAPACITY 7 ITEMS a", &["cuckoo.reserve missing", "cuckoo.add missing"]),
    ("CF.INSERTNX cuckoo NOCREATE ITEMS a new", &["cuckoo.add cuckoo"]),
    ("CF.INSERTNX missing ITEMS a a", &["cuckoo.reserve missing", "cuckoo.add missing"]),
    ("CF.RESERVE missing 100", &["cuckoo.reserve missing"]),
    ("CF.DEL cuckoo a", &["cuckoo.del cuckoo"]),
    ("CF.MDEL cuckoo x b b b", &["cuckoo.del cuckoo"]),
    ("CF.BULKADD cuckoo LINES a", &["cuckoo.add cuckoo"]),
    ("CF.BULKADD missing LINES a", &["cuckoo.reserve missing", "cuckoo.add missing"]),
    ("CF.BULKDEL cuckoo FIXED 1 xa", &["cuckoo.del cuckoo"]),
    ("CF.COMPACT deleted", &["cuckoo.compact deleted"]),
    ("CF.COMPACT sparse", &["cuckoo.compact sparse"]),
    ("CF.LOADCHUNK deleted 2 x", &["cuckoo.load deleted"]),
];

/// Calls that change nothing.
const UNCHANGED: &[&str] = &[
    // Filters that cannot become smaller, or have no generations.
    "BF.COMPACT k",
    "BF.COMPACT compacted",
    "BF.COMPACT missing",
    "BF.ROTATE hand AT x",
    "BF.ROTATE k",
    // Cuckoo filters in RedisBloom's layout, of one table without deletions.
    "CF.COMPACT cuckoo",
    "CF.COMPACT missing",
    // Items that are not there to be deleted.
    "CF.DEL cuckoo x",
    "CF.MDEL cuckoo x y",
    "CF.DEL missing a",
    "CF.MDEL missing a",
    "CF.BULKDEL cuckoo LINES x",
    "CF.BULKDEL missing LINES a",
    // Items that are already present.
    "CF.ADDNX cuckoo a",
    "CF.INSERTNX cuckoo ITEMS a b a",
    "BF.ADD k a",
    "BF.MADD k a b a",
    "BF.BULKADD k FIXED 1 aba",
    "BF.INSERT k ITEMS a",
    "BF.INSERT k NOCREATE ITEMS a b",
    "BF.ADD full a",
    // Items without room.
    "BF.ADD full x",
    "BF.MADD full x y",
    "BF.MADD full a x",
    "BF.BULKADD full FIXED 1 axa",
    "BF.INSERT full ITEMS x",
    "CF.ADD caged x",
    "CF.ADDNX caged x",
    "CF.INSERT caged ITEMS x y",
    "CF.INSERTNX caged ITEMS x y",
    // Filters that are not created.
    "CF.RESERVE cuckoo 100",
    "CF.RESERVE missing 1",
    "CF.RESERVE missing 100 EXPANSION x",
    "CF.INSERT missing NOCREATE ITEMS a",
    "CF.INSERTNX missing CAPACITY 1 ITEMS a",
    "BF.RESERVE k 0.01 100",
    "BF.RESERVE k 0.01 0",
    "BF.RESERVE missing 0.01 0",
    "BF.RESERVE missing 0.01 100 BOGUS",
    "BF.RESERVE missing 0.01 100 EXPANSION 2 NONSCALING",
    "BF.RESERVE missing 0.01 100 EXPANSION -1",
    "RESTORE missing 0 garbage",
    "BF.INSERT missing NOCREATE ITEMS a",
    "BF.INSERT missing CAPACITY x ITEMS a",
    "BF.BULKADD missing LINES \"\n\r\n\"",
    "BF.BULKADD missing LINES \"\"",
    // Keys of other types.
    "BF.RESERVE text 0.01 100",
    "BF.ADD text a",
    "BF.BULKADD text FIXED 1 a",
    "BF.BULKADD missing FIXED 2 a",
    "BF.INSERT text ITEMS a",
    "BF.LOADCHUNK text 1 garbage",
    "CF.RESERVE text 100",
    "CF.ADD text a",
    "CF.ADD k a",
    "CF.INSERT text ITEMS a",
    "CF.DEL text a",
    "CF.COMPACT text",
    "CF.LOADCHUNK text 1 garbage",
    // Chunks that are refused.
    "BF.LOADCHUNK missing 1 garbage",
    "BF.LOADCHUNK missing 2 garbage",
    "BF.LOADCHUNK k 1 garbage",
    "BF.LOADCHUNK k 0 x",
    "BF.LOADCHUNK k 1000000 x",
    "BF.LOADCHUNK k x x",
    "BF.LOADCHUNK k -1 x",
    "BF.LOADCHUNK k 9223372036854775807 x",
    r#"BF.LOADCHUNK missing 1 """#,
    "CF.LOADCHUNK missing 1 garbage",
    "CF.LOADCHUNK missing 2 garbage",
    "CF.LOADCHUNK cuckoo 1 garbage",
    "CF.LOADCHUNK cuckoo 0 x",
    "CF.LOADCHUNK cuckoo 1000000 x",
    "CF.LOADCHUNK cuckoo x x",
    // Reads.
    "CF.EXISTS cuckoo a",
    "CF.MEXISTS cuckoo a x",
    "CF.COUNT cuckoo b",
    "CF.INFO cuckoo",
    "CF.DEBUG cuckoo",
    "CF.SCANDUMP cuckoo 0",
    "CF.SCANDUMP cuckoo 1",
    "BF.EXISTS k a",
    "BF.EXISTS missing a",
    "BF.MEXISTS k a x",
    "BF.BULKEXISTS k FIXED 1 ax",
    "BF.BULKEXISTS missing FIXED 1 ax",
    "BF.CARD k",
    "BF.INFO k",
    "BF.INFO k SIZE",
    "BF.STATS k",
    "BF.DEBUG k",
    "BF.SCANDUMP k 0",
    "BF.SCANDUMP k 1",
];

/// Calls on the filters of [`prepare_windows`].
const ROTATIONS: &[Call] = &[
    ("BF.ROTATE hand", &["bloom.rotate hand"]),
    ("BF.ROTATE hand AT 5", &["bloom.rotate hand"]),
    ("BF.ROTATE hand AT x", &[]),
    ("BF.ROTATE missing", &[]),
    // Refreshed.
    ("BF.ADD hand a", &["bloom.add hand"]),
    ("BF.ADD twice a", &[]),
    ("BF.EXISTS hand a", &[]),
    // A rotation is notified before the items.
    ("BF.ADD window b", &["bloom.rotate window", "bloom.add window"]),
    ("BF.ADD window a", &["bloom.rotate window", "bloom.add window"]),
    ("BF.ADD once b", &["bloom.rotate once", "bloom.add once"]),
    ("BF.ADD once a", &["bloom.rotate once"]),
    ("BF.ROTATE window", &[]),
    ("BF.ROTATE window AT 5", &[]),
    ("BF.STATS window window", &[]),
    ("BF.ADD last a", &[]),
    ("BF.ADD last b", &["bloom.rotate last", "bloom.add last"]),
    ("BF.MADD last b c", &["bloom.rotate last", "bloom.add last"]),
    ("BF.ROTATE last AT 5", &[]),
    ("BF.RESERVE new 0.01 100 GENERATIONS 2", &["bloom.reserve new"]),
    ("BF.RESERVE new 0.01 100 WINDOW 8000000 GENERATIONS 8", &["bloom.reserve new"]),
    (
        "BF.INSERT new CAPACITY 8 LAST GENERATIONS 8 ITEMS a",
        &["bloom.reserve new", "bloom.add new"],
    ),
];

/// Makes windowed filters, all of which have the item `a` and, but for `twice` and `last`, take it
/// into another generation when it is added again.
fn prepare_windows(client: &mut Client) {
    client.ok("FLUSHALL");
    for (key, options) in [
        ("hand", "100 GENERATIONS 2"),
        ("twice", "100 GENERATIONS 2"),
        ("window", "100 WINDOW 8000000 GENERATIONS 8"),
        ("once", "100 WINDOW 8000000 GENERATIONS 8 NOREFRESH"),
        ("last", "8 LAST GENERATIONS 8"),
    ] {
        client.ok(&format!("BF.RESERVE {key} {RATE} {options}"));
        assert_eq!(client.ask(&format!("BF.ADD {key} a")), ":1");
    }
    for key in ["hand", "twice"] {
        client.ok(&format!("BF.ROTATE {key}"));
    }
    assert_eq!(client.ask("BF.ADD twice a"), ":0");
    for key in ["window", "once"] {
        age(client, key, SLOT);
    }
}

/// Merges, the key that is observed, and the events.
const MERGES: &[(&str, &str, &[&str])] = &[
    ("BF.MERGE a b", "a", &["bloom.merge a"]),
    ("BF.MERGE new a b", "new", &["bloom.merge new"]),
    ("BF.MERGE new a a", "new", &["bloom.merge new"]),
    ("BF.MERGE a b", "b", &["bloom.merge a"]),
    ("BF.MERGE new a b", "b", &["bloom.merge new"]),
    ("BF.MERGE a a", "a", &[]),
    ("BF.MERGE whole a b c", "whole", &[]),
    ("BF.MERGE a missing", "a", &[]),
    ("BF.MERGE a missing", "missing", &[]),
    ("BF.MERGE a other", "a", &[]),
    ("BF.MERGE new a other", "new", &[]),
    ("BF.MERGE a text", "a", &[]),
    ("BF.MERGE text a", "text", &[]),
];

/// A connection that changes keys, and others that notice it.
pub struct Observers {
    pub client: Client,
    watching: Client,
    caching: Client,
    subscribed: Client,
}

impl Observers {
    /// Subscribes to events of these classes.
    pub fn start(server: &Server, classes: &str) -> Self {
        let [mut client, watching, mut subscribed] = [(); 3].map(|()| server.resp2());
        let mut caching = server.resp3();
        caching.ok("CLIENT TRACKING ON");
        client.ok(&format!("CONFIG SET notify-keyspace-events {classes}"));
        subscribed.call("PSUBSCRIBE __key*__:*");
        Self { client, watching, caching, subscribed }
    }

    /// The events since the last call, as `event key`.
    pub fn events(&mut self) -> Vec<String> {
        self.client.call("PUBLISH __keyevent@0__:fence all");
        let mut events = Vec::new();
        loop {
            let Value::Array(message) = self.subscribed.receive("PSUBSCRIBE") else {
                panic!("a message")
            };
            let text = |at: usize| String::from_utf8_lossy(bulk(&message[at])).into_owned();
            let event = text(2).split_once(':').expect("a channel").1.to_owned();
            if event == "fence" {
                return events;
            }
            events.push(format!("{event} {}", text(3)));
        }
    }

    /// What differs from the expectation when a key is observed during a call: its transaction is
    /// aborted and its cached reply invalidated if there is an event of the key.
    fn difference(
        &mut self,
        key: &str,
        expected: &[&str],
        call: impl FnOnce(&mut Client) -> String,
    ) -> Option<String> {
        // Discards what the preparation has caused.
        self.events();
        invalidations(&mut self.caching);
        self.caching.call(&format!("BF.EXISTS {key} a"));
        self.watching.ok(&format!("WATCH {key}"));
        let reply = call(&mut self.client);
        self.watching.ok("MULTI");
        assert_eq!(self.watching.ask("PING"), "+QUEUED");
        let is_touched = match self.watching.ask("EXEC").as_str() {
            "_" => true,
            "*[+PONG]" => false,
            other => panic!("EXEC returned {other}"),
        };
        let (events, invalidated) = (self.events(), invalidations(&mut self.caching));
        let is_changed = expected.iter().any(|event| event.ends_with(&format!(" {key}")));
        let message = is_changed.then(|| format!("*[${} {key}]", key.len()));
        let is_expected = events == expected
            && is_touched == is_changed
            && invalidated.iter().eq(message.as_ref());
        let found = format!("{reply}: {events:?}, touched {is_touched}, {invalidated:?}");
        (!is_expected).then_some(found)
    }
}

/// The invalidations that a connection received since the last call.
fn invalidations(client: &mut Client) -> Vec<String> {
    let fence = "all before";
    client.send(&["ECHO", fence]);
    let mut pushed = Vec::new();
    loop {
        match client.receive("ECHO") {
            Value::Push { data, .. } => pushed.extend(data.iter().map(show)),
            reply => {
                assert_eq!(show(&reply), format!("${} {fence}", fence.len()));
                return pushed;
            }
        }
    }
}

#[test]
fn exactly_the_changes_are_seen_by_other_clients() {
    Setup::new().on_each_server(|_, server| {
        let mut observers = Observers::start(&server, "Eg");
        let mut link = Replica::attach(&server);
        let mut writes = || {
            let lines = link.writes(&server).into_iter();
            lines.filter(|line| !line.starts_with("PUBLISH ")).collect::<Vec<_>>()
        };
        let mut wrong = String::new();
        let mut check = |prepare: &dyn Fn(&mut Client), line: &str, key: &str, events: &[&str]| {
            prepare(&mut observers.client);
            let before = observers.client.ask(&format!("DUMP {key}"));
            writes();
            if let Some(found) = observers.difference(key, events, |client| client.ask(line)) {
                wrong += &format!("\n{line} on {key}: {found}");
            }
            let written = writes();
            if events.is_empty() != written.is_empty() {
                wrong += &format!("\n{line} replicates {written:?}");
            }
            if events.is_empty() && observers.client.ask(&format!("DUMP {key}")) != before {
                wrong += &format!("\n{line} has changed {key}");
            }
        };
        let unchanged = UNCHANGED.iter().map(|line| (*line, &[][..]));
        for (line, events) in CHANGES.iter().copied().chain(unchanged) {
            check(&prepare, line, word(line, 1), events);
        }
        for (line, events) in ROTATIONS {
            check(&prepare_windows, line, word(line, 1), events);
        }
        for options in KINDS {
            let prepare = |client: &mut Client| {
                make(client, options);
                client.ok("BF.RESERVE other 0.01 100");
                client.ok("SET text value");
            };
            for (line, key, events) in MERGES {
                check(&prepare, line, key, events);
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
        // Every loaded chunk.
        prepare(&mut observers.client);
        for (next, data) in observers.client.chunks("k") {
            let load = |client: &mut Client| client.loadchunk("missing", next, &data);
            let found = observers.difference("missing", &["bloom.load missing"], load);
            assert_eq!(found, None, "chunk {next}");
        }
        // The server reports the expiry by another event.
        observers.client.ok("BF.RESERVE ttl 0.01 100 TTL 1000");
        let events = observers.events();
        assert_eq!(events[0], "bloom.reserve ttl");
        assert!(events[1..].iter().all(|event| event == "expire ttl"), "{events:?}");
    });
}

#[test]
fn commands_of_the_server_on_a_filter_touch_a_watcher() {
    Setup::new().on_each_server(|mut client, server| {
        let mut watching = server.resp2();
        for (key, line) in [
            ("missing", "COPY full missing"),
            ("k", "COPY full k REPLACE"),
            ("k", "RENAME full k"),
            ("k", "DEL k"),
            ("k", "UNLINK k"),
            ("k", "EXPIRE k 100"),
            ("k", "FLUSHALL ASYNC"),
            ("k", "SWAPDB 0 1"),
        ] {
            prepare(&mut client);
            watching.ok(&format!("WATCH {key}"));
            let reply = client.ask(line);
            watching.ok("MULTI");
            assert_eq!(watching.ask("EXEC"), "_", "{line}: {reply}");
        }
    });
}

#[test]
fn events_belong_to_the_generic_class() {
    Setup::new().on_each_server(|_, server| {
        // All classes but the generic one, which `A` would include.
        let mut observers = Observers::start(&server, "E$lshzxe");
        observers.client.call("BF.ADD k a");
        assert_eq!(observers.events(), [""; 0]);
        // Channels by key instead of by event.
        let mut observers = Observers::start(&server, "Kg");
        observers.client.call("BF.ADD other a");
        assert_eq!(observers.events(), ["other bloom.reserve", "other bloom.add"]);
    });
}

#[test]
fn scripts_and_transactions_notify() {
    Setup::new().on_each_server(|_, server| {
        let mut observers = Observers::start(&server, "Eg");
        observers.client.call(r#"EVAL "return redis.call('BF.ADD', KEYS[1], 'a')" 1 k"#);
        assert_eq!(observers.events(), ["bloom.reserve k", "bloom.add k"]);
        for line in ["MULTI", "BF.ADD k a", "BF.ADD k b", "EXEC"] {
            observers.client.call(line);
        }
        assert_eq!(observers.events(), ["bloom.add k"]);
    });
}

#[test]
fn every_reading_command_is_tracked() {
    const BLOOM: [&str; 6] =
        ["EXISTS k a", "MEXISTS k a x", "CARD k", "INFO k", "DEBUG k", "SCANDUMP k 0"];
    const CUCKOO: [&str; 6] = [
        "EXISTS cuckoo a",
        "MEXISTS cuckoo a x",
        "COUNT cuckoo a",
        "INFO cuckoo",
        "DEBUG cuckoo",
        "SCANDUMP cuckoo 0",
    ];
    Setup::new().on_each_server(|mut client, server| {
        let mut caching = server.resp3();
        caching.ok("CLIENT TRACKING ON");
        for (family, reads, key) in [("BF", BLOOM, "k"), ("CF", CUCKOO, "cuckoo")] {
            for read in reads {
                prepare(&mut client);
                invalidations(&mut caching);
                caching.call(&format!("{family}.{read}"));
                assert_eq!(client.ask(&format!("{family}.ADD {key} new")), ":1");
                let expected = [format!("*[${} {key}]", key.len())];
                assert_eq!(invalidations(&mut caching), expected, "{family}.{read}");
            }
        }
    });
}

#[test]
fn trackers_of_a_prefix_receive_only_changes() {
    Setup::new().on_each_server(|mut client, server| {
        let mut caching = server.resp3();
        prepare(&mut client);
        caching.ok("CLIENT TRACKING ON BCAST PREFIX k");
        for line in ["BF.ADD k a", "BF.MADD k a b", "BF.RESERVE k 0.01 100", "BF.EXISTS k a"] {
            client.call(line);
            assert_eq!(invalidations(&mut caching), [""; 0], "{line}");
        }
        assert_eq!(client.ask("BF.ADD k new"), ":1");
        assert_eq!(invalidations(&mut caching), ["*[$1 k]"]);
    });
}
