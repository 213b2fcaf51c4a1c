//! A life: a filter of some kind in a server, the same filter in this process, and what must hold
//! after each operation.

use std::sync::Arc;
use std::thread;

use bloomline_core::host::Window;
use bloomline_harness::{Client, Clock, arguments, bulk, matches, show};
use bloomline_reference::life::choices::Choices;
use bloomline_reference::life::filter::{Filter, emptied};
use bloomline_reference::life::forgery::forge;
use bloomline_reference::life::kinds::{Kind, Numbers, Shape};
use bloomline_reference::life::steps::{ABSENT, Items, Order, Span, Step, choose, item};
use redis::Value;

use super::calls::{Insertion, Manner, permit, reserve};
use crate::calls::words::Words;

/// The most layers of a Bloom filter.
const MOST_PARTS: u32 = 60;

/// Bytes of a filter that takes too long to compare after each call.
const LARGE: u64 = 4 << 20;

/// Milliseconds by which the clock of a server may be late: Valkey reads that of the system once
/// per millisecond.
const STALE: u64 = 3;

/// The servers of a life that is alone on them, so that it can move their clocks, change their
/// settings and observe the replication of each call.
pub struct Alone {
    pub replica: Client,
    pub clocks: Arc<[Clock; 2]>,
}

/// How many calls were compared, and how many of them changed a filter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub calls: u64,
    pub changes: u64,
}

impl Count {
    pub fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.changes += other.changes;
    }
}

/// A filter in a server, and the same one in this process.
pub struct Life {
    pub client: Client,
    alone: Option<Alone>,
    choices: Choices<'static>,
    numbers: Numbers,
    key: String,
    filter: Filter,
    /// The payload of DUMP, the header, and the bytes of all chunks.
    dump: Value,
    header: Vec<u8>,
    chunks: Vec<u8>,
    next: u64,
    most: u64,
    is_resp3: bool,
    is_forged: bool,
    /// The most bytes of a filter, which the server was started with.
    most_bytes: u64,
    /// Those that it allows now.
    allowed: u64,
    /// The name of `bf-max-filter-bytes` in this server; none if it cannot change.
    limit_name: Option<String>,
    pub count: Count,
    /// What the report of a failure begins with.
    context: String,
}

impl Life {
    /// Creates a filter. `None` if its kind has none with the numbers that follow from the seed,
    /// and the server has refused it.
    pub fn begin(
        mut client: Client,
        key: &str,
        (kind, seed): (Kind, u64),
        is_resp3: bool,
        limit: u64,
        alone: Option<Alone>,
    ) -> Option<Self> {
        let mut choices = Choices::of_seed(seed);
        let mut numbers = Numbers::choose(kind, &mut choices);
        // Windows are so long that the time which a test takes does not matter.
        if let Some(Window::Time { millis }) = numbers.window.as_mut().map(|it| &mut it.window) {
            *millis *= 1_000_000;
        }
        let name = client.ask("CONFIG GET *max-filter-bytes");
        let limit_name = name.split(' ').find(|word| word.ends_with("max-filter-bytes"));
        let limit_name = limit_name.map(str::to_owned).filter(|_| alone.is_some());
        let now = time(&mut client);
        let created = numbers.create(now, limit).map(|(filter, _)| filter);
        match (reserve(&numbers, key), &created) {
            (Some(line), created) => {
                let reply = client.ask(&line);
                let is_refused = reply.starts_with("-ERR ") && created.is_none();
                assert!(is_refused || reply == "+OK" && created.is_some(), "{line}: {reply}");
            }
            (None, Some(filter)) => load(&mut client, key, filter),
            (None, None) => {}
        }
        let mut life = Self {
            client,
            alone,
            numbers,
            key: key.to_owned(),
            filter: created?,
            dump: Value::Nil,
            header: Vec::new(),
            chunks: Vec::new(),
            next: 1,
            most: choices.of(&[2, 30, 250]),
            choices,
            is_resp3: false,
            is_forged: false,
            most_bytes: limit,
            allowed: limit,
            limit_name,
            count: Count::default(),
            context: format!("the life of {} with seed {seed} under {key}", kind.name),
        };
        life.read();
        // The server has read its clock a little later.
        if let Some(opened) = life.opened() {
            assert!((now.saturating_sub(STALE)..now + 60_000).contains(&opened), "{opened}, {now}");
            life.filter = life.numbers.create(opened, limit).expect("as above").0;
        }
        life.assert_equal();
        life.is_resp3 = is_resp3;
        if is_resp3 {
            life.client.call("HELLO 3");
        }
        Some(life)
    }

    /// Continues on other connections, after something has happened to the servers.
    pub fn reconnect(&mut self, client: Client, replica: Client) {
        (self.client, self.is_resp3) = (client, false);
        if let Some(alone) = &mut self.alone {
            alone.replica = replica;
        }
        self.assert_equal();
    }

    /// True if further operations are too expensive.
    pub fn is_over(&self) -> bool {
        let is_large = self.filter.size_bytes() > LARGE;
        is_large || self.filter.bloom().is_some() && self.filter.parts() > MOST_PARTS
    }

    /// Does an operation of the table. Returns its name.
    pub fn step(&mut self) -> &'static str {
        let span = Span { next: self.next, most: self.most };
        let (name, step) = choose(&mut self.choices, &self.numbers, span);
        self.context = format!("{}; {step:?}", self.context.split(';').next().unwrap_or_default());
        match step {
            Step::Insert { items, only_new, is_refused } => {
                // What a list has room for without more memory depends on how it became so long.
                let has_lists = self.numbers.kind.shape == Shape::Cuckoo;
                self.insert(items, only_new, is_refused && !has_lists);
            }
            Step::Grow { more } => {
                let count = (self.filter.room().min(3_000) + more).max(1);
                self.insert(Items { first: self.next, count, stride: 1 }, false, false);
            }
            Step::Test(items) => self.test(items),
            Step::Remove(items) => self.remove(items),
            Step::Pass { parts, back, back_parts } => self.pass(parts, back, back_parts),
            Step::Advance { is_refused } => self.advance(is_refused),
            Step::Rotate => self.rotate(),
            Step::Compact => self.compact(),
            Step::Merge { items, is_copy, is_compacted, is_refused } => {
                self.merge(items, is_copy, is_compacted, is_refused);
            }
            Step::Load { size, order } => self.load(size, order),
            Step::Copy => self.copy(),
            Step::Forge { changes, seed } => self.forge(changes, &mut Choices::of_seed(seed)),
        }
        name
    }

    /// Runs a call, and compares its reply and the filter with what `act` does in this process at
    /// some time during the call. The server replicates something if and only if the filter has
    /// changed, and a replica then has the same filter.
    fn call(&mut self, words: &Words, act: impl Fn(&mut Filter, u64) -> String) {
        let offset = self.offset();
        let start = time(&mut self.client);
        let reply = show(&self.client.run(words));
        let reply = reply.replace("#t", ":1").replace("#f", ":0");
        let end = time(&mut self.client);
        let is_changed = self.read();
        self.count.calls += 1;
        self.count.changes += u64::from(is_changed);
        let name = words[0].escape_ascii().to_string();
        self.assert_replicates(offset, is_changed, &name);
        // The server reads its clock during the call. When it opened a generation is known.
        let during = start.saturating_sub(STALE)..=end;
        let opened = self.opened().filter(|opened| during.contains(opened));
        let times = opened.into_iter().chain(during.rev());
        let times = times.take(if self.filter.windowed().is_none() { 1 } else { usize::MAX });
        let mut expected = Vec::new();
        for now in times {
            let mut filter = self.filter.copy();
            let answer = act(&mut filter, now);
            if matches(&answer, &reply) && self.is(&filter) {
                self.filter = filter;
                self.assert_replicated(is_changed);
                return;
            }
            expected.push((answer, self.is(&filter)));
        }
        let (answer, is_equal) = &expected[0];
        panic!("{name}: {reply}, expected {answer}; the filters are equal: {is_equal}");
    }

    /// The bytes of the replication stream; 0 if others use the server.
    fn offset(&mut self) -> u64 {
        if self.alone.is_none() {
            return 0;
        }
        let info = self.client.call("INFO replication");
        let text = match &info {
            Value::VerbatimString { text, .. } => text.clone(),
            other => String::from_utf8_lossy(bulk(other)).into_owned(),
        };
        let offset = text.lines().find_map(|line| line.strip_prefix("master_repl_offset:"));
        offset.and_then(|digits| digits.parse().ok()).expect("an offset")
    }

    /// Asserts that something was replicated if and only if the filter has changed. A server also
    /// replicates PING in its first second.
    fn assert_replicates(&mut self, before: u64, is_changed: bool, what: &str) {
        const PING: u64 = 14;
        if self.alone.is_some() {
            let bytes = self.offset() - before;
            let is_replicated = ![0, PING].contains(&bytes);
            assert_eq!(is_replicated, is_changed, "{what}: {bytes} bytes were replicated");
        }
    }

    /// Reads the filter. True if it has changed.
    fn read(&mut self) -> bool {
        let dump = self.client.call(&format!("DUMP {}", self.key));
        let is_changed = dump != self.dump;
        if is_changed {
            let chunks = self.client.chunks(&self.key);
            self.dump = dump;
            self.header = chunks[0].1.clone();
            self.chunks = chunks[1..].iter().flat_map(|(_, chunk)| chunk).copied().collect();
        }
        is_changed
    }

    /// True if the server has this filter.
    fn is(&self, filter: &Filter) -> bool {
        let dump = filter.dump();
        let chunks = dump.chunks.iter().flat_map(|(_, chunk)| chunk);
        dump.header == self.header && chunks.eq(&self.chunks)
    }

    /// When the newest generation of the server's filter was opened.
    fn opened(&self) -> Option<u64> {
        self.filter.windowed()?;
        let decoded = self.filter.decode(&self.header, &mut |_| true).expect("its own header");
        Some(decoded.windowed()?.newest().opened())
    }

    fn assert_replicated(&mut self, is_changed: bool) {
        if let Some(alone) = &mut self.alone
            && is_changed
        {
            assert_eq!(self.client.ask("WAIT 1 250000"), ":1");
            let question = format!("DEBUG DIGEST-VALUE {}", self.key);
            assert_eq!(alone.replica.ask(&question), self.client.ask(&question), "the replica");
        }
    }

    /// Asserts that the server has the filter, whatever happened to it.
    pub fn assert_equal(&mut self) {
        self.read();
        assert!(self.is(&self.filter), "the filter differs: {:?}", self.filter);
    }

    /// The filter survives both files, also after a rewrite.
    pub fn assert_saved(&mut self) {
        for reload in ["DEBUG LOADAOF", "BGREWRITEAOF", "DEBUG LOADAOF", "DEBUG RELOAD"] {
            self.context = format!("{}; {reload}", self.context);
            if reload == "BGREWRITEAOF" {
                self.client.rewrite_append_only_file();
            } else {
                self.client.ok(reload);
            }
            self.assert_equal();
        }
    }

    /// Allows filters some bytes; returns what the server allows.
    fn limit(&mut self, bytes: u64) -> u64 {
        match &self.limit_name {
            None => self.most_bytes,
            Some(_) if bytes == self.allowed => bytes,
            Some(name) => {
                self.client.ok(&format!("CONFIG SET {name} {bytes}"));
                self.allowed = bytes;
                bytes
            }
        }
    }

    fn is_cuckoo(&self) -> bool {
        self.filter.bloom().is_none()
    }

    fn insert(&mut self, items: Items, only_new: bool, is_refused: bool) {
        self.next = self.next.max(items.first + items.count * items.stride);
        let mut items = items.bytes();
        let mut manner = Manner::choose(&mut self.choices, &mut items);
        let only_new = only_new && self.is_cuckoo();
        if only_new && matches!(manner, Manner::Packed { .. }) {
            manner = Manner::Many;
        }
        let limit = self.limit(if is_refused { 1 } else { self.most_bytes });
        let is_resp3 = self.is_resp3;
        let insertion = Insertion { items: &items, manner, only_new, limit, is_resp3 };
        let words = insertion.words(self.is_cuckoo(), &self.key);
        self.call(&words, |filter, now| insertion.insert(filter, now));
        self.limit(self.most_bytes);
    }

    fn remove(&mut self, items: Items) {
        let mut items = items.bytes();
        let manner = Manner::choose(&mut self.choices, &mut items);
        let words = manner.words(["CF.DEL", "CF.MDEL", "CF.BULKDEL"], "", &self.key, &items);
        self.call(&words, |filter, _| manner.reply_of_answers(&filter.remove(&items)));
    }

    /// Tests items, and some that were never inserted.
    fn test(&mut self, items: Items) {
        let absent = (0..20).map(|index| item(ABSENT | self.next << 8 | index));
        let mut items: Vec<Vec<u8>> = items.bytes().into_iter().chain(absent).collect();
        let one = items[0].clone();
        let manner = Manner::choose(&mut self.choices, &mut items);
        let prefix = if self.is_cuckoo() { "CF" } else { "BF" };
        let names = ["EXISTS", "MEXISTS", "BULKEXISTS"].map(|name| format!("{prefix}.{name}"));
        let names = [&*names[0], &*names[1], &*names[2]];
        let words = manner.words(names, "", &self.key, &items);
        self.call(&words, |filter, now| manner.reply_of_answers(&filter.contains_all(&items, now)));
        if self.is_cuckoo() {
            let count = [arguments(&format!("CF.COUNT {}", self.key)), vec![one.clone()]].concat();
            return self.call(&count, |filter, now| format!(":{}", filter.count(&one, now)));
        }
        let card = arguments(&format!("BF.CARD {}", self.key));
        self.call(&card, |filter, now| {
            let len = filter.windowed().map_or_else(|| filter.len(), |it| it.len_at(now));
            format!(":{}", len.min(i64::MAX as u64))
        });
    }

    /// Moves the clocks of both servers, which do not stay equal.
    fn pass(&mut self, parts: u64, back: u64, back_parts: u64) {
        const MOST: u64 = 100 * 86_400;
        let slot = self.numbers.window.and_then(|it| it.times()).map_or(1_000, |it| it.1);
        let seconds = |parts| (slot.saturating_mul(parts) / 64_000).min(MOST) as i64;
        let seconds = seconds(parts) - seconds(back_parts) - back as i64 / 1_000;
        if let Some(alone) = &self.alone {
            alone.clocks[0].advance(seconds);
            alone.clocks[1].advance(seconds / 2);
        }
    }

    /// BF.ROTATE with a time: what the rotations of primaries are replicated as.
    fn advance(&mut self, is_refused: bool) {
        let limit = self.limit(if is_refused { 1 } else { self.most_bytes });
        let at = time(&mut self.client).saturating_sub(STALE);
        let words = arguments(&format!("BF.ROTATE {} AT {at}", self.key));
        self.call(&words, |filter, now| {
            let Some(windowed) = filter.windowed_mut() else {
                return "-ERR the filter has no generations: <any>".to_owned();
            };
            // An earlier time of a client sets no clock back.
            let at = at.max(now.min(windowed.newest().opened()));
            let result = match windowed.spec().window {
                Window::Manual => windowed.rotate(at, &mut permit(limit)),
                _ => windowed.advance(at, &mut permit(limit)).map(drop),
            };
            result.map_or("-ERR <any> rotate filter: <any>", |()| "+OK").to_owned()
        });
        self.limit(self.most_bytes);
    }

    fn rotate(&mut self) {
        let limit = self.most_bytes;
        let words = arguments(&format!("BF.ROTATE {}", self.key));
        self.call(&words, |filter, now| match filter.windowed_mut() {
            Some(windowed) if windowed.spec().window == Window::Manual => {
                let result = windowed.rotate(now, &mut permit(limit));
                result.map_or("-ERR <any> rotate filter: <any>", |()| "+OK").to_owned()
            }
            _ => "-ERR the filter rotates by itself: <any>".to_owned(),
        });
    }

    fn compact(&mut self) {
        let prefix = if self.is_cuckoo() { "CF" } else { "BF" };
        let words = arguments(&format!("{prefix}.COMPACT {}", self.key));
        self.call(&words, |filter, _| match filter.compact() {
            Ok((_, freed)) if filter.bloom().is_some() => format!(":{freed}"),
            Ok(_) => "+OK".to_owned(),
            Err(_) => "-ERR cannot compact: <any>".to_owned(),
        });
    }

    /// Merges the filter with an empty one of its kind, or a copy of it, that got items.
    fn merge(&mut self, items: Items, is_copy: bool, is_compacted: bool, is_refused: bool) {
        self.advance(false);
        let (key, other) = (self.key.clone(), format!("{}:other", self.key));
        let Filter::Bloom(filter) = &self.filter else { return };
        if is_copy {
            assert_eq!(self.client.ask(&format!("COPY {key} {other}")), ":1");
        } else {
            let Ok(empty) = emptied(filter, 0, &mut permit(self.most_bytes)) else { return };
            load(&mut self.client, &other, &empty.into());
        }
        self.client.items("BF.MADD", &other, &items.bytes());
        if is_compacted {
            self.client.call(&format!("BF.COMPACT {other}"));
        }
        let source = self.decoded(&other);
        let least = self.filter.size_bytes();
        let limit = self.limit(if is_refused { least } else { self.most_bytes });
        self.call(&arguments(&format!("BF.MERGE {key} {other}")), |filter, _| {
            let (Filter::Bloom(filter), Filter::Bloom(source)) = (filter, &source) else {
                return String::new();
            };
            match filter.union(&[source], &mut permit(limit)) {
                Ok(_) => "+OK".to_owned(),
                Err(_) => "-ERR <any> merge<any>".to_owned(),
            }
        });
        self.limit(self.most_bytes);
        assert_eq!(self.client.ask(&format!("DEL {other}")), ":1");
    }

    /// The Bloom filter under another key.
    fn decoded(&mut self, key: &str) -> Filter {
        let chunks = self.client.chunks(key);
        let decoded = self.filter.decode(&chunks[0].1, &mut |_| true);
        let mut filter = decoded.expect("the header of a filter");
        for (iterator, chunk) in &chunks[1..] {
            let position = *iterator as u64 - chunk.len() as u64 - 1;
            filter.load(position, chunk).expect("the chunk of a filter");
        }
        filter
    }

    /// Replaces the filter by one of its chunks, which may be split.
    fn load(&mut self, size: u64, order: Order) {
        let copy = format!("{}:copy", self.key);
        let chunks = self.client.chunks(&self.key);
        let prefix = if self.is_cuckoo() { "CF" } else { "BF" };
        let size = size.max(self.filter.size_bytes() / 60) as usize;
        let mut parts = Vec::new();
        for (iterator, chunk) in &chunks[1..] {
            let start = *iterator - chunk.len() as i64;
            for (index, part) in chunk.chunks(size).enumerate() {
                parts.push((start + (index * size + part.len()) as i64, part));
            }
        }
        match order {
            Order::Forward => {}
            Order::Backward => parts.reverse(),
            Order::Twice => parts = parts.iter().flat_map(|part| [*part, *part]).collect(),
        }
        assert_eq!(self.client.loadchunk_of(prefix, &copy, 1, &chunks[0].1), "+OK");
        for (index, (iterator, part)) in parts.into_iter().enumerate() {
            let offset = self.offset();
            let reply = self.client.loadchunk_of(prefix, &copy, iterator, part);
            assert_eq!(reply, "+OK", "{copy} at {iterator}");
            let is_second = matches!(order, Order::Twice) && index % 2 == 1;
            let is_changed = !is_second && part.iter().any(|byte| *byte != 0);
            self.assert_replicates(offset, is_changed, &format!("the chunk {iterator}"));
        }
        self.replace(&copy);
    }

    /// Replaces the filter by a copy.
    fn copy(&mut self) {
        let (key, copy) = (self.key.clone(), format!("{}:copy", self.key));
        if self.choices.one_in(2) {
            assert_eq!(self.client.ask(&format!("COPY {key} {copy}")), ":1");
        } else {
            let payload = bulk(&self.dump).to_vec();
            assert_eq!(self.client.restore(&copy, &payload), "+OK");
        }
        self.replace(&copy);
    }

    fn replace(&mut self, copy: &str) {
        self.client.ok(&format!("RENAME {copy} {}", self.key));
        assert!(!self.read(), "the copy differs: {:?}", self.filter);
        self.assert_replicated(true);
    }

    /// Lives some operations with the filter of a forged dump, then those with its own again.
    fn forge(&mut self, changes: u64, choices: &mut Choices) {
        if self.is_forged {
            return;
        }
        let Some(forged) = forge(&self.filter, changes, choices) else { return };
        let key = format!("{}:forged", self.key);
        load(&mut self.client, &key, &forged);
        let window = forged.windowed().map(|it| it.spec());
        let own = (self.numbers, std::mem::replace(&mut self.filter, forged));
        self.numbers.window = window;
        let own_key = std::mem::replace(&mut self.key, key);
        self.is_forged = true;
        self.assert_equal();
        self.assert_replicated(true);
        for _ in 0..choices.below(12) {
            self.step();
        }
        self.client.call(&format!("DEL {}", self.key));
        ((self.numbers, self.filter), self.key, self.is_forged) = (own, own_key, false);
        self.assert_equal();
    }
}

/// Loads a filter under a missing key.
fn load(client: &mut Client, key: &str, filter: &Filter) {
    let dump = filter.dump();
    let prefix = if filter.bloom().is_some() { "BF" } else { "CF" };
    assert_eq!(client.loadchunk_of(prefix, key, 1, &dump.header), "+OK", "{key}: {filter:?}");
    for (position, chunk) in &dump.chunks {
        // In this process the position of a chunk of a Bloom filter is the offset of its first
        // byte.
        let behind = filter.bloom().map_or(0, |_| chunk.len() as u64 + 1);
        let reply = client.loadchunk_of(prefix, key, (position + behind) as i64, chunk);
        assert_eq!(reply, "+OK", "{key} at {position}");
    }
}

/// Milliseconds of the server's clock.
fn time(client: &mut Client) -> u64 {
    let Value::Array(parts) = client.call("TIME") else { panic!("no time") };
    let part = |at: usize| String::from_utf8_lossy(bulk(&parts[at])).parse::<u64>();
    let (seconds, micros) = (part(0).expect("seconds"), part(1).expect("microseconds"));
    seconds * 1_000 + micros / 1_000
}

impl Drop for Life {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}, after {} calls: {:?}", self.context, self.count.calls, self.numbers);
        }
    }
}
