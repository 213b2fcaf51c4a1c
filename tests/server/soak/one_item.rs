//! Single commands on the largest filters, growth included: no one of them may keep all other
//! clients waiting.

use std::fmt;

use redis::Value;

use bloomline_harness::{
    Client, Kind, Setup, bulk, for_each_server, for_newest_servers, int, numbered, show,
};

use super::asked_for;

/// How often each growth is measured.
const TRIES: usize = 5;

/// How large the filters are.
struct Scale {
    /// Items of one layer.
    capacity: u64,
    /// Layers of a filter of many.
    layers: i64,
    /// Commands of each kind.
    commands: usize,
}

fn scale() -> Scale {
    match asked_for() {
        // 1 GB at 1 %, and as many layers as a filter may have.
        Some(_) => Scale { capacity: 720_000_000, layers: 4096, commands: 20_000 },
        None => Scale { capacity: 7_200_000, layers: 256, commands: 500 },
    }
}

#[test]
fn single_commands_on_large_filters_are_measured_in_the_server() {
    match asked_for() {
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
    let tell = |what: &str, took: Took| println!("ONE ITEM | {} | {what} | {took}", kind.name);

    client.ok(&format!("BF.RESERVE large 0.01 {} NONSCALING", scale.capacity));
    tell("BF.ADD, large, memory never touched", timed(&mut client, pid, "BF.ADD", "large", &items));
    tell("BF.EXISTS, large", timed(&mut client, pid, "BF.EXISTS", "large", &items));
    client.call("UNLINK large");

    client.ok("BF.RESERVE layers 0.01 10 EXPANSION 1");
    let (mut took, mut next) = (Took::default(), 0);
    // Fifty items make five layers at most, and one more would be refused at the end.
    while number(&mut client, "BF.INFO layers FILTERS") + 5 <= scale.layers {
        let more: Vec<Vec<u8>> = (next..next + 50).map(|i| format!("l:{i}").into_bytes()).collect();
        next += 50;
        took.extend(timed(&mut client, pid, "BF.ADD", "layers", &more));
    }
    let layers = number(&mut client, "BF.INFO layers FILTERS");
    tell(&format!("BF.ADD, to {layers} layers, each tenth adds one"), took);
    tell(
        &format!("BF.EXISTS absent, {layers} layers"),
        timed(&mut client, pid, "BF.EXISTS", "layers", &items),
    );

    // Growth: the one addition that makes the next layer. The shortest of several tries is what the
    // work takes.
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
    /// By the clock, in the command alone: also what other programs did on the processor
    /// meanwhile.
    clock: Vec<i64>,
    /// Of the processor, with reading the command and writing the reply.
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

/// Nanoseconds of the processor that a process's first thread, which runs the commands, has had.
fn processor(pid: u32) -> i64 {
    let text =
        std::fs::read_to_string(format!("/proc/{pid}/schedstat")).expect("a running process");
    text.split(' ').next().and_then(|field| field.parse().ok()).expect("nanoseconds")
}

/// The number in an array of one.
fn number(client: &mut Client, question: &str) -> i64 {
    match client.call(question) {
        Value::Array(one) => int(&one[0]),
        other => panic!("{}", show(&other)),
    }
}

/// Makes a filter count so many items without adding them: by a header that says so.
fn fill(client: &mut Client, key: &str, items: u64) {
    let mut header = match client.call(&format!("BF.SCANDUMP {key} 0")) {
        Value::Array(pair) => bulk(&pair[1]).to_vec(),
        other => panic!("{}", show(&other)),
    };
    // The items of the newest layer: see docs/format.md.
    header[48..56].copy_from_slice(&items.to_le_bytes());
    client.call(&format!("DEL {key}"));
    assert_eq!(show(&client.run(&[b"BF.LOADCHUNK", key.as_bytes(), b"1", &header])), "+OK");
}

/// Runs a command for each item; what each took in the server.
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
            let Value::Array(words) = &fields[3] else { panic!("{}", show(&fields[3])) };
            if bulk(&words[0]) == command.as_bytes() {
                took.clock.push(int(&fields[2]));
            }
        }
    }
    assert_eq!(took.clock.len(), items.len());
    took
}
