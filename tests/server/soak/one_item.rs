//! Single commands on the largest filters, including growth: none may block all other clients for
//! long.

use std::fmt;

use bloomline_harness::{
    Client, Kind, Setup, bulk, for_each_server, for_newest_servers, int, numbered, show,
};
use redis::Value;

use super::requested_length;

/// How often each growth is measured.
const TRIES: usize = 5;

/// The sizes of the filters.
struct Scale {
    /// Items of one layer.
    capacity: u64,
    /// Layers of a filter with many layers.
    layers: i64,
    /// Commands of each kind.
    commands: usize,
}

fn scale() -> Scale {
    match requested_length() {
        // 1 GB at 1 %, and the most layers that a filter may have.
        Some(_) => Scale { capacity: 720_000_000, layers: 4096, commands: 20_000 },
        None => Scale { capacity: 7_200_000, layers: 256, commands: 500 },
    }
}

#[test]
fn measures_single_commands_on_large_filters() {
    match requested_length() {
        Some(_) => for_each_server(measure),
        None => for_newest_servers(measure),
    }
}

fn measure(kind: &Kind) {
    let scale = scale();
    let server =
        Setup::new().line("slowlog-log-slower-than -1").line("slowlog-max-len 200000").start(kind);
    let (mut client, pid) = (server.resp2(), server.pid());
    let items = numbered("item", scale.commands);
    let report = |what: &str, took: Took| println!("ONE ITEM | {} | {what} | {took}", kind.name);

    client.ok(&format!("BF.RESERVE large 0.01 {} NONSCALING", scale.capacity));
    report(
        "BF.ADD, large, memory never touched",
        timed(&mut client, pid, "BF.ADD", "large", &items),
    );
    report("BF.EXISTS, large", timed(&mut client, pid, "BF.EXISTS", "large", &items));
    client.call("UNLINK large");

    client.ok("BF.RESERVE layers 0.01 10 EXPANSION 1");
    let (mut took, mut next) = (Took::default(), 0);
    // Fifty items make at most five layers. One more layer than the limit would be refused.
    while number(&mut client, "BF.INFO layers FILTERS") + 5 <= scale.layers {
        let more: Vec<Vec<u8>> = (next..next + 50).map(|i| format!("l:{i}").into_bytes()).collect();
        next += 50;
        took.extend(timed(&mut client, pid, "BF.ADD", "layers", &more));
    }
    let layers = number(&mut client, "BF.INFO layers FILTERS");
    report(&format!("BF.ADD, to {layers} layers, each tenth adds one"), took);
    report(
        &format!("BF.EXISTS absent, {layers} layers"),
        timed(&mut client, pid, "BF.EXISTS", "layers", &items),
    );

    // Growth: the one addition that makes the next layer. The shortest of several tries is the time
    // of the work itself.
    let mut capacity = 1000_u64;
    while capacity * 32 <= scale.capacity {
        let (mut took, mut size) = (Took::default(), 0);
        for _ in 0..TRIES {
            client.ok(&format!("BF.RESERVE growing 0.01 {capacity} EXPANSION 32"));
            fill(&mut client, "growing", capacity);
            took.extend(timed(&mut client, pid, "BF.ADD", "growing", &numbered("step", 1)));
            assert_eq!(number(&mut client, "BF.INFO growing FILTERS"), 2, "{capacity}");
            size = number(&mut client, "BF.INFO growing SIZE");
            client.call("UNLINK growing");
        }
        println!("GROWTH | {} | to {size} bytes | {took}", kind.name);
        capacity *= 2;
    }
}

/// Microseconds of commands.
#[derive(Default)]
struct Took {
    /// Wall-clock time in the command alone, including other programs on the same processor.
    clock: Vec<i64>,
    /// Processor time, including reading the command and writing the reply.
    processor: Vec<i64>,
}

impl Took {
    fn extend(&mut self, other: Took) {
        self.clock.extend(other.clock);
        self.processor.extend(other.processor);
    }
}

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} commands", self.clock.len())?;
        for (name, took) in [("clock", &self.clock), ("processor", &self.processor)] {
            let mut took = took.clone();
            took.sort_unstable();
            let at = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
            write!(
                f,
                " | {name}: min {}, p50 {}, p99 {}, p99.9 {}, max {} us",
                at(0.0),
                at(0.5),
                at(0.99),
                at(0.999),
                at(1.0)
            )?;
        }
        Ok(())
    }
}

/// Nanoseconds of processor time of a process's first thread, which runs the commands.
fn processor(pid: u32) -> i64 {
    let text =
        std::fs::read_to_string(format!("/proc/{pid}/schedstat")).expect("a running process");
    text.split(' ').next().and_then(|field| field.parse().ok()).expect("nanoseconds")
}

/// The number in an array of one element.
fn number(client: &mut Client, question: &str) -> i64 {
    match client.call(question) {
        Value::Array(one) => int(&one[0]),
        other => panic!("{}", show(&other)),
    }
}

/// Makes a filter count this many items without adding them, with a header that states them.
fn fill(client: &mut Client, key: &str, items: u64) {
    let (_, mut header) = client.scandump(key, 0);
    // The number of items in the newest layer: see docs/format.md.
    header[48..56].copy_from_slice(&items.to_le_bytes());
    client.call(&format!("DEL {key}"));
    assert_eq!(show(&client.run(&[&b"BF.LOADCHUNK"[..], key.as_bytes(), b"1", &header])), "+OK");
}

/// Runs a command per item; returns the time of each in the server.
fn timed(client: &mut Client, pid: u32, command: &str, key: &str, items: &[Vec<u8>]) -> Took {
    let mut took = Took::default();
    for some in items.chunks(5000) {
        client.call("SLOWLOG RESET");
        client.ok("CONFIG SET slowlog-log-slower-than 0");
        for item in some {
            let before = processor(pid);
            let reply = show(&client.run(&[command.as_bytes(), key.as_bytes(), item]));
            took.processor.push((processor(pid) - before) / 1000);
            assert!(reply.starts_with(':'), "{command} {key}: {reply}");
        }
        client.ok("CONFIG SET slowlog-log-slower-than -1");
        let Value::Array(entries) = client.call("SLOWLOG GET 200000") else { panic!("no log") };
        for entry in &entries {
            let Value::Array(fields) = entry else { panic!("{}", show(entry)) };
            let Value::Array(arguments) = &fields[3] else { panic!("{}", show(&fields[3])) };
            if bulk(&arguments[0]) == command.as_bytes() {
                took.clock.push(int(&fields[2]));
            }
        }
    }
    assert_eq!(took.clock.len(), items.len());
    took
}
