//! RedisBloom and Bloomline with `bf-layout redisbloom`, side by side: random calls of RedisBloom's
//! commands, valid and not, in RESP2 and RESP3. Replies must be equal byte by byte, but for what
//! [`DIFFERENCES`] explains.
//!
//! `BLOOMLINE_LIVES` multiplies the cases, and `BLOOMLINE_SEED` is where their seeds begin.

use std::collections::BTreeMap;
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::slice;

use arbitrary::{Result, Unstructured};
use bloomline_harness::{
    DEADLINE, Kind, Random, Server, Setup, append_only_file, arguments, for_newest_servers,
    numbered, redisbloom, report_missing,
};
use bloomline_reference::life::variable;
use redis::Value;

use super::differences::{Call, DIFFERENCES};
use crate::calls::cuckoo::{self, Numbers};
use crate::calls::redisbloom::{self as calls, KEYS};
use crate::calls::words::{self, Words};
use crate::filters::Family;

/// The number of cases per server. Each has a hundred calls or more.
const CASES: u64 = 500;

/// The most bytes that decide the calls of a case.
const MOST_BYTES: usize = 2048;

/// A server and a connection that keeps replies as bytes.
struct Side {
    stream: BufReader<UnixStream>,
    /// Killed when it is dropped.
    _server: Server,
}

impl Side {
    fn new(setup: Setup, kind: &Kind) -> Self {
        let server = setup.start(kind);
        Self { stream: connect(&server), _server: server }
    }

    fn run(&mut self, words: &Words) -> Vec<u8> {
        self.send(slice::from_ref(words));
        self.receive()
    }

    fn send(&mut self, calls: &[Words]) {
        let sent = self.stream.get_mut().write_all(&append_only_file(calls));
        sent.unwrap_or_else(|why| panic!("{}: {why}", shown(&calls[0])));
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut reply = Vec::new();
        read_reply(&mut self.stream, &mut reply);
        reply
    }

    /// The reply of the first call that was sent, and those of the others together.
    fn receive_all(&mut self, calls: &[Words]) -> (Vec<u8>, Vec<u8>) {
        (self.receive(), calls[1..].iter().flat_map(|_| self.receive()).collect())
    }
}

fn connect(server: &Server) -> BufReader<UnixStream> {
    let stream = UnixStream::connect(server.socket()).expect("the server's socket");
    stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
    BufReader::new(stream)
}

/// Reads the bytes of one reply.
fn read_reply(stream: &mut BufReader<UnixStream>, reply: &mut Vec<u8>) {
    let start = reply.len();
    stream.read_until(b'\n', reply).expect("a reply");
    let line = str::from_utf8(&reply[start..]).unwrap_or_default().trim_end();
    let count = || line[1..].parse::<i64>().expect("a length").max(-1);
    let (bytes, values) = match line.as_bytes().first() {
        Some(b'$' | b'=') => (count() + 2, 0),
        Some(b'*' | b'~') => (0, count()),
        Some(b'%') => (0, 2 * count()),
        Some(_) => (0, 0),
        None => panic!("the connection is closed"),
    };
    // A null of RESP2 has the length -1 and no bytes.
    if bytes > 1 {
        let end = reply.len();
        reply.resize(end + bytes as usize, 0);
        stream.read_exact(&mut reply[end..]).expect("the rest of a reply");
    }
    for _ in 0..values {
        read_reply(stream, reply);
    }
}

fn parsed(reply: &[u8]) -> Value {
    redis::parse_redis_value(reply).expect("a whole reply")
}

/// The call for a report, without most of its items.
fn shown(words: &Words) -> String {
    let first = words.iter().take(20).map(|word| format!("\"{}\"", word.escape_ascii()));
    let more = words.len().saturating_sub(20);
    let rest = (more > 0).then(|| format!("and {more} more"));
    first.chain(rest).collect::<Vec<_>>().join(" ")
}

/// Both servers.
struct Pair {
    theirs: Side,
    ours: Side,
    seed: u64,
    /// The calls of the case, for the report of a failure.
    sent: Vec<Words>,
    calls: u64,
    /// How many of them are of cuckoo filters.
    cuckoo_calls: u64,
    /// The family of most calls of the case.
    family: Family,
    /// True if the case has loaded a header or a chunk of a cuckoo filter.
    is_forged: bool,
    /// How often each difference was seen.
    seen: BTreeMap<&'static str, u64>,
}

impl Pair {
    fn start(kind: &Kind, peer: &str) -> Self {
        let theirs = Side::new(Setup::new().bare().line(format!("loadmodule {peer}")), kind);
        let ours =
            Side::new(Setup::new().module_args("bf-layout redisbloom cf-layout redisbloom"), kind);
        let (sent, seen) = (Vec::new(), BTreeMap::new());
        let (family, is_forged) = (Family::Bloom, false);
        Self { theirs, ours, seed: 0, sent, calls: 0, cuckoo_calls: 0, family, is_forged, seen }
    }

    /// Begins a case without keys, in RESP2 or in RESP3. Of eight cases, six are about cuckoo
    /// filters.
    fn begin(&mut self, seed: u64) {
        self.seed = seed;
        self.sent.clear();
        self.is_forged = false;
        let protocol = 2 + seed % 2;
        self.family = if (seed / 2).is_multiple_of(4) { Family::Bloom } else { Family::Cuckoo };
        for side in [&mut self.theirs, &mut self.ours] {
            side.run(&arguments(&format!("HELLO {protocol}")));
            side.run(&arguments("FLUSHALL"));
        }
    }

    /// Runs a call on both; returns their reply if it is the same, and the filters are. Otherwise a
    /// difference of the table explains it, and its keys are deleted on both.
    fn run(&mut self, call: Words) -> Option<Vec<u8>> {
        self.calls += 1;
        let family = Family::of_command(&call[0]);
        self.cuckoo_calls += u64::from(family == Some(Family::Cuckoo));
        self.is_forged |= call[0] == b"CF.LOADCHUNK";
        let families = family.map_or(vec![Family::Bloom, Family::Cuckoo], |family| vec![family]);
        let debug = |family: &Family| [family.command("DEBUG"), call[1].clone()].to_vec();
        // Sent together to both, and read together: most of the time is that of round trips.
        let calls: Vec<Words> =
            [call.clone()].into_iter().chain(families.iter().map(debug)).collect();
        self.sent.push(call);
        let call = &calls[0];
        self.theirs.send(&calls);
        self.ours.send(&calls);
        let (reply, theirs) = self.theirs.receive_all(&calls);
        let (other, ours) = self.ours.receive_all(&calls);
        let (theirs, ours) = if reply == other { (theirs, ours) } else { (reply.clone(), other) };
        if theirs == ours {
            return Some(reply);
        }
        let is_forged = self.is_forged;
        let difference = Call { words: call, is_forged, theirs: &theirs, ours: &ours };
        let Some(known) = DIFFERENCES.iter().find(|known| (known.explains)(&difference)) else {
            let same = theirs.iter().zip(&ours).take_while(|(one, other)| one == other).count();
            let [theirs, ours] = [theirs, ours]
                .map(|reply| format!("{same} bytes, {}", reply[same..].escape_ascii()));
            panic!("{}\n  RedisBloom {theirs}\n  Bloomline  {ours}", shown(call));
        };
        *self.seen.entry(known.what).or_default() += 1;
        // A call may name any of its arguments as a key.
        let delete = [arguments("DEL"), call[1..].to_vec()].concat();
        self.theirs.run(&delete);
        self.ours.run(&delete);
        None
    }

    /// One step of a case: mostly a call, otherwise bytes that both have returned.
    fn step(&mut self, u: &mut Unstructured) -> Result<()> {
        let other = if self.family == Family::Bloom { Family::Cuckoo } else { Family::Bloom };
        let family = if u.ratio(1, 16)? { other } else { self.family };
        match u.int_in_range(0..=31u8)? {
            0 => self.load_chunks(u, family)?,
            1 => {
                let (from, to) = (calls::key(u)?, calls::key(u)?);
                let dump = self.run([b"DUMP".to_vec(), from].to_vec());
                if let Some(Value::BulkString(dump)) = dump.map(|reply| parsed(&reply)) {
                    let zero = b"0".to_vec();
                    self.run([b"RESTORE".to_vec(), to, zero, dump, b"REPLACE".to_vec()].to_vec());
                }
            }
            2 if family == Family::Cuckoo => {
                let key = calls::key(u)?;
                for call in cuckoo::life(u, &key)? {
                    self.run(call);
                }
            }
            3 if family == Family::Cuckoo => {
                let load = [family.command("LOADCHUNK"), calls::key(u)?, b"1".to_vec()];
                self.run([load.to_vec(), vec![Numbers::mostly_valid(u)?.header()]].concat());
            }
            2 => {
                // The error rate of the newest layer is soon too small for another one.
                let key = String::from_utf8(calls::key(u)?).expect("one of the keys");
                let items = numbered(&key, u.int_in_range(1..=60)?);
                self.run(arguments(&format!("DEL {key}")));
                self.run(arguments(&format!("BF.RESERVE {key} 1e-318 1 EXPANSION 1")));
                self.run([arguments(&format!("BF.MADD {key}")), items].concat());
            }
            _ => {
                let call = calls::call(u, family)?;
                self.run(call);
            }
        }
        Ok(())
    }

    /// Loads the chunks of a key into another one, in half of the cases with damage.
    fn load_chunks(&mut self, u: &mut Unstructured, family: Family) -> Result<()> {
        let (from, to, is_damaged) = (calls::key(u)?, calls::key(u)?, u.arbitrary()?);
        let mut iterator = b"0".to_vec();
        loop {
            let next = self.run([family.command("SCANDUMP"), from.clone(), iterator].to_vec());
            let Some(Value::Array(pair)) = next.map(|reply| parsed(&reply)) else { return Ok(()) };
            let [Value::Int(next), Value::BulkString(data)] = &pair[..] else { return Ok(()) };
            if *next == 0 {
                return Ok(());
            }
            iterator = next.to_string().into_bytes();
            let mut load =
                [family.command("LOADCHUNK"), to.clone(), iterator.clone(), data.clone()];
            if is_damaged {
                match u.int_in_range(0..=3u8)? {
                    0 => load[2] = words::iterator(u)?,
                    1 => load[3].truncate(u.int_in_range(0..=data.len())?),
                    2 => load[3].extend(u.bytes(1)?),
                    _ => {}
                }
            }
            self.run(load.to_vec());
        }
    }

    /// Compares the keys at the end of a case. Returns true if there was a filter.
    fn compare(&mut self) -> bool {
        let mut filters = 0;
        for key in KEYS {
            for line in ["TYPE KEY", "BF.INFO KEY", "CF.INFO KEY", "DUMP KEY"] {
                let reply = self.run(arguments(&line.replace("KEY", key)));
                filters += u64::from(reply.is_some_and(|reply| reply.starts_with(b"+MBbloom")));
            }
            for family in [Family::Bloom, Family::Cuckoo] {
                let mut asked = [family.command("MEXISTS"), key.as_bytes().to_vec()].to_vec();
                asked.extend((0..500).map(|item: u32| item.to_string().into_bytes()));
                self.run(asked);
            }
        }
        filters > 0
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("the case of seed {}:", self.seed);
            self.sent.iter().for_each(|call| println!("{}", shown(call)));
        }
        let of_kinds: Vec<String> =
            self.seen.iter().map(|(what, count)| format!("\n  {count} {what}")).collect();
        let differences: u64 = self.seen.values().sum();
        println!(
            "{} calls, {} of them of cuckoo filters, {differences} documented differences{}",
            self.calls,
            self.cuckoo_calls,
            of_kinds.concat()
        );
    }
}

#[test]
fn redisbloom_and_bloomline_reply_alike() {
    for_newest_servers(|kind| {
        let Some(peer) = redisbloom() else {
            return report_missing(kind, "RedisBloom in redis-7.4; `make servers` fetches it");
        };
        let mut pair = Pair::start(kind, &peer.display().to_string());
        let (first, mut filters) = (variable("BLOOMLINE_SEED", 0), 0);
        let cases = CASES * variable("BLOOMLINE_LIVES", 1);
        for seed in first..first + cases {
            pair.begin(seed);
            // Consecutive numbers would give consecutive states of the generator.
            let mut random = Random(Random(seed).next());
            let length = 64 + random.next() as usize % MOST_BYTES;
            let bytes = random.bytes(length);
            let mut u = Unstructured::new(&bytes);
            while !u.is_empty() && pair.step(&mut u).is_ok() {}
            filters += u64::from(pair.compare());
        }
        assert!(filters * 20 > cases, "{filters} of {cases} cases had filters");
        // A row that explains nothing any more has to go.
        let is_of_kind = |what: &str| !what.starts_with("Redis:") || kind.name.starts_with("redis");
        let mut known = DIFFERENCES.iter().filter(|known| is_of_kind(known.what));
        let unseen = known.find(|known| !pair.seen.contains_key(known.what));
        if let Some(unseen) = unseen
            && pair.calls > 10_000
            && env::var_os("BLOOMLINE_REDISBLOOM").is_none()
        {
            panic!("never seen: {}", unseen.what);
        }
    });
}
