//! The items that a server acknowledged, recorded outside of it while faults are injected.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bloomline_harness::{Client, Server, SetOnDrop, show, until};
use redis::Value;

/// Clients that write at the same time.
const WRITERS: usize = 3;

/// The keys to which all clients add: a growing filter, one of fixed size, one in RedisBloom's
/// layout.
const SHARED: [&str; 3] = ["growing", "reserved", "foreign"];

/// The key of a cuckoo filter to which all clients add.
const CUCKOO: &str = "cuckoo";

/// RedisBloom's header of an empty filter that grows.
const FOREIGN: &[u8] =
    include_bytes!("../../../core/tests/golden/redisbloom/empty_default.scandump.0.bin");

/// Makes the keys to which all clients add.
pub fn make_keys(client: &mut Client) {
    client.ok("BF.RESERVE growing 0.0001 10");
    client.ok("BF.RESERVE reserved 0.0001 100000 NONSCALING");
    assert_eq!(show(&client.run(&[&b"BF.LOADCHUNK"[..], b"foreign", b"1", FOREIGN])), "+OK");
}

/// An item that a server acknowledged.
struct Entry {
    item: Vec<u8>,
    /// When; `None` once a server had it after it was killed.
    at: Option<Instant>,
}

/// Every acknowledged item, by key.
#[derive(Default)]
pub struct Ledger {
    entries: BTreeMap<String, Vec<Entry>>,
}

/// The number of acknowledged calls of all writers.
pub struct Progress(AtomicUsize);

impl Progress {
    /// Waits for some more acknowledged calls.
    pub fn pass(&self, more: usize) {
        let goal = self.0.load(Ordering::SeqCst) + more;
        until("more calls to be acknowledged", || {
            (self.0.load(Ordering::SeqCst) >= goal).then_some(())
        });
    }
}

/// Lets clients write until `during` has returned or the server is gone; returns what was
/// acknowledged.
///
/// `name` distinguishes the items of this call from those of other calls. An error is not an
/// acknowledgement. Any error except that of a server that cannot write to its disk fails the test.
pub fn while_writing(
    server: &mut Server,
    name: &str,
    during: impl FnOnce(&mut Server, &Progress),
) -> Ledger {
    let (progress, is_over) = (Progress(AtomicUsize::new(0)), AtomicBool::new(false));
    let socket = server.socket();
    let mut ledger = Ledger::default();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|i| {
                let (socket, progress, is_over) = (&socket, &progress, &is_over);
                let name = format!("{name}:{i}");
                scope.spawn(move || write(socket, &name, progress, is_over))
            })
            .collect();
        let end = SetOnDrop(&is_over);
        during(server, &progress);
        drop(end);
        for writer in writers {
            match writer.join() {
                Ok(entries) => entries.into_iter().for_each(|(key, entry)| ledger.note(key, entry)),
                Err(panic) => resume_unwind(panic),
            }
        }
    });
    ledger
}

impl Ledger {
    fn note(&mut self, key: String, entry: Entry) {
        self.entries.entry(key).or_default().push(entry);
    }

    /// Adds the entries of another ledger.
    pub fn extend(&mut self, other: Ledger) {
        for (key, entries) in other.entries {
            self.entries.entry(key).or_default().extend(entries);
        }
    }

    /// The number of acknowledged items.
    pub fn len(&self) -> usize {
        self.entries.values().map(Vec::len).sum()
    }

    /// Asserts that every item is present.
    pub fn assert_kept(&self, client: &mut Client) {
        let missing = self.missing(client).len();
        assert_eq!(missing, 0, "of {} acknowledged items", self.len());
    }

    /// Asserts that every item is present that was acknowledged at least `grace` before `end`, and
    /// every one that was present before. Removes the missing items, because they stay missing;
    /// returns their ages.
    pub fn assert_kept_but_for_the_last(
        &mut self,
        client: &mut Client,
        grace: Duration,
        end: Instant,
    ) -> Vec<Duration> {
        let mut ages = Vec::new();
        for (key, index) in self.missing(client).iter().rev() {
            let entry = self.entries.get_mut(key).expect("its key").remove(*index);
            let age = entry.at.map(|at| end.saturating_duration_since(at));
            let is_young = age.is_some_and(|age| age < grace);
            assert!(is_young, "{} of {key}, {age:?} old", entry.item.escape_ascii());
            ages.extend(age);
        }
        self.entries.values_mut().flatten().for_each(|entry| entry.at = None);
        ages
    }

    /// The missing items: their key and their index among the items of the key, in order.
    fn missing(&self, client: &mut Client) -> Vec<(String, usize)> {
        let mut missing = Vec::new();
        for (key, entries) in &self.entries {
            let items: Vec<&[u8]> = entries.iter().map(|entry| entry.item.as_slice()).collect();
            let answers = items.chunks(1000).flat_map(|batch| {
                let command = if key == CUCKOO { "CF.MEXISTS" } else { "BF.MEXISTS" };
                let Value::Array(found) = client.items(command, key, batch) else {
                    panic!("no array")
                };
                found
            });
            let absent = answers.enumerate().filter(|(_, answer)| *answer != Value::Int(1));
            missing.extend(absent.map(|(index, _)| (key.clone(), index)));
        }
        missing
    }
}

/// Writes as several kinds of clients do, until it is stopped or the connection breaks.
fn write(
    socket: &Path,
    name: &str,
    progress: &Progress,
    is_over: &AtomicBool,
) -> Vec<(String, Entry)> {
    let mut acknowledged = Vec::new();
    let Ok(mut client) = Client::connect(socket) else { return acknowledged };
    for round in 0.. {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let items: Vec<Vec<u8>> =
            (0..10).map(|i| format!("{name}:{round}:{i}").into_bytes()).collect();
        // A new key every few rounds, because creations are logged differently from additions.
        let own = format!("own:{name}:{}", round / 8);
        let calls: [(&str, &str, &[Vec<u8>]); 6] = [
            ("BF.MADD", SHARED[0], &items),
            ("BF.ADD", SHARED[1], &items[..1]),
            ("BF.INSERT", SHARED[2], &items),
            ("BF.MADD", &own, &items),
            ("BF.ADD", SHARED[0], &items[..1]),
            ("CF.INSERT", CUCKOO, &items),
        ];
        for (command, key, items) in calls {
            let mut call: Vec<&[u8]> = vec![command.as_bytes(), key.as_bytes()];
            match command {
                "BF.INSERT" => call.push(b"ITEMS"),
                "CF.INSERT" => call.extend([&b"CAPACITY"[..], b"200000", b"ITEMS"]),
                _ => {}
            }
            call.extend(items.iter().map(Vec::as_slice));
            let Ok(reply) = client.try_run(&call) else { return acknowledged };
            if is_added(&reply) {
                let at = Some(Instant::now());
                acknowledged.extend(
                    items.iter().map(|item| (key.to_owned(), Entry { item: item.clone(), at })),
                );
                progress.0.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
    acknowledged
}

/// True if the items of the call are now present; false if the server cannot write to its disk and
/// therefore accepts no writes.
fn is_added(reply: &Value) -> bool {
    match reply {
        Value::Int(0 | 1) => true,
        Value::Array(answers) => {
            assert!(
                answers.iter().all(|answer| matches!(answer, Value::Int(0 | 1))),
                "{}",
                show(reply)
            );
            true
        }
        other => {
            let error = show(other);
            assert!(error.starts_with("-MISCONF"), "{error}");
            false
        }
    }
}

/// Adds filters of this many random bytes, which no file compresses, so that saving the data set
/// takes a while.
pub fn add_bulk(client: &mut Client, bytes: usize) {
    const CHUNK: usize = 1 << 20;
    let mut random = bloomline_harness::Random(bytes as u64);
    for i in 0..bytes / CHUNK {
        // The layer is a little larger than the chunk.
        client.ok(&format!("BF.RESERVE bulk:{i} 0.01 1000000 NONSCALING"));
        let chunk: Vec<u8> = (0..CHUNK / 8).flat_map(|_| random.next().to_le_bytes()).collect();
        let (key, iterator) = (format!("bulk:{i}"), (CHUNK + 1).to_string());
        let loaded =
            client.run(&[&b"BF.LOADCHUNK"[..], key.as_bytes(), iterator.as_bytes(), &chunk]);
        assert_eq!(show(&loaded), "+OK");
    }
}

/// The files with a server's data in the order of their last change, without logs and sockets.
pub fn data_files(server: &Server) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = ["appendonlydir", ""]
        .iter()
        .flat_map(|folder| std::fs::read_dir(server.file(folder)).into_iter().flatten().flatten())
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "rdb" || ending == "aof"))
        .collect();
    files.sort_by_key(|path| {
        path.metadata().and_then(|data| data.modified()).expect("a file's time")
    });
    files
}

/// The bytes of a filter's value, as in an RDB file.
pub fn value_bytes(client: &mut Client, key: &str) -> Vec<u8> {
    let dump = client.dump(key);
    // The type precedes them. The version and the checksum follow.
    dump[1..dump.len() - 10].to_vec()
}
