//! Replicas with RedisBloom, which know no packed items: `bf-redisbloom-replicas yes`.

use bloomline_harness::{Client, Kind, Replica, Server, Setup, Stop, for_each_server, int};
use redis::Value;

use crate::cluster::equal::{assert_equal, catch_up, setup};
use crate::inspect::digest;
use crate::packed::{FORMS, Form, add, answers, exists, plain, send};

const FLEET: &str = "bf-redisbloom-replicas yes";

/// The most items of a replicated call.
const MOST: usize = 10_000;

fn start(kind: &Kind) -> (Server, Client, Replica) {
    let server = Setup::new().module_args(FLEET).start(kind);
    let (client, replica) = (server.resp2(), Replica::attach(&server));
    (server, client, replica)
}

/// Items of eight bytes.
fn items(range: std::ops::Range<usize>) -> Vec<Vec<u8>> {
    range.map(|at| format!("item{at:04}").into_bytes()).collect()
}

/// The commands that a link has received, without the frame of transactions.
fn received(replica: &mut Replica, server: &Server) -> Vec<Vec<Vec<u8>>> {
    let commands = replica.received(server).into_iter();
    commands.filter(|command| command[0] != b"MULTI" && command[0] != b"EXEC").collect()
}

/// BF.MADD with these items, as a link receives it.
fn madd(items: &[Vec<u8>]) -> Vec<Vec<u8>> {
    [&[b"BF.MADD".to_vec(), b"k".to_vec()], items].concat()
}

#[test]
fn new_items_of_all_forms_are_replicated_as_madd() {
    for_each_server(|kind| {
        let (server, mut client, mut replica) = start(kind);
        for form in FORMS {
            client.ok("FLUSHALL");
            client.ok("BF.RESERVE k 0.000001 1000");
            received(&mut replica, &server);
            add(&mut client, "k", form, &items(0..40));
            assert_eq!(received(&mut replica, &server), [madd(&items(0..40))], "{form:?}");
            // Some are new, one, none.
            send(&mut client, "BF.BULKADD", "k", form, &items(30..90), &["COUNT"]);
            assert_eq!(received(&mut replica, &server), [madd(&items(40..90))], "{form:?}");
            add(&mut client, "k", form, &items(80..91));
            assert_eq!(received(&mut replica, &server), [madd(&items(90..91))], "{form:?}");
            add(&mut client, "k", form, &items(0..91));
            assert_eq!(received(&mut replica, &server), [[b""; 0]; 0], "{form:?}");
        }
    });
}

#[test]
fn a_new_filter_is_replicated_as_header_and_madd() {
    for_each_server(|kind| {
        let (server, mut client, mut replica) = start(kind);
        client
            .call("BF.BULKADD k PREFIXED \"\\x02\\x00\\x00\\x00\\r\\n\\x00\\x00\\x00\\x00\" COUNT");
        let lines = replica.lines(&server);
        let expected = ["MULTI", "BF.LOADCHUNK k 1 <data>", "BF.MADD k \\r\\n ", "EXEC"];
        assert_eq!(lines, expected);
        assert_eq!(client.ask("BF.INFO k LAYOUT"), "*[$10 redisbloom]");
    });
}

#[test]
fn long_calls_are_split() {
    for_each_server(|kind| {
        let (server, mut client, mut replica) = start(kind);
        for (count, form) in [
            (MOST, Form::Fixed),
            (MOST + 1, Form::Lines),
            (2 * MOST, Form::Prefixed),
            (25_000, Form::Fixed),
        ] {
            client.call("FLUSHALL");
            client.ok("BF.RESERVE k 0.0000001 30000");
            let all: Vec<_> = (0..count).map(|at| format!("{at:06}").into_bytes()).collect();
            // The seventh is old.
            add(&mut client, "k", form, &all[6..7]);
            received(&mut replica, &server);
            let new = [&all[..6], &all[7..]].concat();
            add(&mut client, "k", form, &all);
            let expected: Vec<_> = new.chunks(MOST).map(madd).collect();
            assert!(received(&mut replica, &server) == expected, "{form:?}, {count} items");
        }
    });
}

/// Items of four bytes, packed.
fn numbers(range: std::ops::Range<u32>) -> Vec<u8> {
    range.flat_map(u32::to_le_bytes).collect()
}

/// Adds items of four bytes. All but one in a thousand must be new.
fn add_numbers(client: &mut Client, key: &str, range: std::ops::Range<u32>) {
    let count = i64::from(range.end - range.start);
    let args: [&[u8]; 6] =
        [b"BF.BULKADD", key.as_bytes(), b"COUNT", b"FIXED", b"4", &numbers(range)];
    let Value::Array(reply) = client.run(&args) else { panic!("an array") };
    let [Value::Int(all), Value::Int(new)] = reply[..] else { panic!("{reply:?}") };
    assert!(all == count && new > count / 1000 * 999, "{new} of {count}");
}

#[test]
fn many_items_of_a_call_are_replicated_as_content() {
    for_each_server(|kind| {
        let primary = setup().module_args(FLEET).start(kind);
        let replica = setup().follows(&primary).start(kind);
        let (mut client, mut other) = (primary.resp2(), replica.resp2());
        catch_up(&mut client, &mut other);
        let mut link = Replica::attach(&primary);
        // The new items take 2 MB as arguments, and the filters 0.3 MB and 6 MB.
        client.ok("BF.RESERVE k 0.001 180000");
        client.ok("BF.RESERVE large 0.001 3000000");
        assert_eq!(client.ask("PEXPIRE k 100000000"), ":1");
        let mut names = |client: &mut Client, range: std::ops::Range<u32>, key: &str| {
            received(&mut link, &primary);
            add_numbers(client, key, range);
            let mut names: Vec<String> = received(&mut link, &primary)
                .iter()
                .map(|command| String::from_utf8_lossy(&command[0]).into_owned())
                .collect();
            names.dedup();
            names.join(" ")
        };
        let by_content = "DEL BF.LOADCHUNK PEXPIREAT";
        assert_eq!(names(&mut client, 0..180_000, "k"), by_content);
        assert_eq!(names(&mut client, 0..180_000, "large"), "BF.MADD");
        assert_eq!(names(&mut client, 180_000..180_100, "k"), "BF.MADD");
        assert_eq!(names(&mut client, 180_100..500_000, "k"), by_content);
        catch_up(&mut client, &mut other);
        assert_equal(&mut client, &mut other);
        assert!(int(&other.call("PTTL k")) > 0);
    });
}

#[test]
fn many_items_of_a_call_take_little_memory() {
    for_each_server(|kind| {
        const ITEMS: u32 = 3_000_000;
        let server = setup().module_args(FLEET).line("appendonly yes").start(kind);
        let mut client = server.resp2();
        client.ok(&format!("BF.RESERVE k 0.001 {ITEMS}"));
        let process = server.process();
        process.reset_peak().expect("a running process");
        let before = server.resident();
        add_numbers(&mut client, "k", 0..ITEMS);
        let grown = process.peak().expect("a running process") - before;
        // The data itself, the filter and its content twice, which has 1.8 bytes per item, and what
        // the server allocates in advance. As arguments the items would take 120 MB and more.
        let data = u64::from(ITEMS) * 4;
        assert!(grown < 5 * data, "{grown} bytes for {data} bytes of data");
    });
}

#[test]
fn refused_calls_are_replicated_up_to_their_end() {
    for_each_server(|kind| {
        let (server, mut client, mut replica) = start(kind);
        for form in FORMS {
            client.call("FLUSHALL");
            client.ok("BF.RESERVE k 0.000001 70 NONSCALING");
            received(&mut replica, &server);
            let (bits, error) =
                answers(&send(&mut client, "BF.BULKADD", "k", form, &items(0..200), &[]));
            assert_eq!((bits.len(), error.is_some()), (70, true));
            assert_eq!(received(&mut replica, &server), [madd(&items(0..70))], "{form:?}");
        }
    });
}

#[test]
fn replicas_and_files_hold_equal_filters() {
    for_each_server(|kind| {
        let mut primary = setup().module_args(FLEET).append_only().start(kind);
        let replica = setup().follows(&primary).start(kind);
        let (mut client, mut other) = (primary.resp2(), replica.resp2());
        client.ok("BF.RESERVE grows 0.001 100");
        client.ok("BF.RESERVE full 0.001 300 NONSCALING");
        let keys = ["grows", "full", "default"];
        for (round, form) in FORMS.iter().cycle().take(12).enumerate() {
            let items = items(40 * round..40 * round + 100);
            for key in keys {
                send(&mut client, "BF.BULKADD", key, *form, &items, &[]);
            }
        }
        // Packed and plain items meet on both servers.
        plain(&mut client, "BF.MADD", "grows", &items(500..600));
        catch_up(&mut client, &mut other);
        assert_equal(&mut client, &mut other);
        for form in FORMS {
            assert_eq!(exists(&mut other, "grows", form, &items(0..600)), [true; 600]);
        }
        let before = keys.map(|key| digest(&mut client, key));
        primary.restart(Stop::NoSave);
        let mut client = primary.resp2();
        assert_eq!(keys.map(|key| digest(&mut client, key)), before);
        let file = append_only(&primary);
        assert!(file.contains("BF.MADD") && !file.contains("BULKADD"), "{file}");
    });
}

/// All of a server's append-only files.
fn append_only(server: &Server) -> String {
    let folder = server.file("appendonlydir");
    let mut paths = vec![server.file("appendonly.aof")];
    paths.extend(std::fs::read_dir(folder).into_iter().flatten().flatten().map(|one| one.path()));
    let texts = paths.iter().filter_map(|path| std::fs::read(path).ok());
    texts.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

#[test]
fn a_replica_that_knows_no_packed_items_accepts_all_calls() {
    for_each_server(|kind| {
        let (server, mut client, mut replica) = start(kind);
        client.ok("MULTI");
        client.call("BF.BULKADD k FIXED 1 ab");
        client.call("BF.BULKADD k LINES \"a\\r\\nc\\n\"");
        client.call("EXEC");
        let script = "return redis.call('BF.BULKADD', KEYS[1], 'FIXED', 1, 'abcd')";
        client.call(&format!("EVAL \"{script}\" 1 k"));
        let names: Vec<_> = received(&mut replica, &server)
            .iter()
            .map(|command| String::from_utf8_lossy(&command[0]).into_owned())
            .collect();
        assert_eq!(names, ["BF.LOADCHUNK", "BF.MADD", "BF.MADD", "BF.MADD"]);
    });
}
