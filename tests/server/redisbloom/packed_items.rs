//! What large calls of packed items replicate in RedisBloom's layout: replicas may be servers with
//! RedisBloom, which know no packed items. `redisbloom_live` has such replicas.

use bloomline_harness::{
    Client, Kind, Replica, Server, Setup, for_each_server, for_newest_servers, int,
};
use redis::Value;

use crate::cluster::equal::{assert_equal, catch_up, setup};
use crate::packed::{Form, add};

const REDISBLOOM: &str = "bf-layout redisbloom cf-layout redisbloom";

/// The most items of a replicated call.
const MOST: usize = 10_000;

fn start(kind: &Kind) -> (Server, Client, Replica) {
    let server = Setup::new().module_args(REDISBLOOM).start(kind);
    let (client, replica) = (server.resp2(), Replica::attach(&server));
    (server, client, replica)
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

/// Sends items of four bytes. The call must change the filter by all but one in a thousand.
fn send_numbers(client: &mut Client, command: &str, key: &str, range: std::ops::Range<u32>) {
    let count = i64::from(range.end - range.start);
    let words = [command, key, "COUNT", "FIXED", "4"].map(str::as_bytes);
    let data = numbers(range);
    let args = [&words[..], &[&data]].concat();
    let Value::Array(reply) = client.run(&args) else { panic!("an array") };
    let [Value::Int(all), Value::Int(changed)] = reply[..] else { panic!("{reply:?}") };
    assert!(all == count && changed > count / 1000 * 999, "{changed} of {count}");
}

#[test]
fn many_items_of_a_call_are_replicated_as_content() {
    for_each_server(|kind| {
        let primary = setup().module_args(REDISBLOOM).start(kind);
        let replica = setup().follows(&primary).start(kind);
        let (mut client, mut other) = (primary.resp2(), replica.resp2());
        catch_up(&mut client, &mut other);
        let mut link = Replica::attach(&primary);
        // The new items take 1.1 MB as arguments, and the filters 0.2 MB and 2 MB.
        client.ok("BF.RESERVE k 0.001 120000");
        client.ok("BF.RESERVE large 0.001 1200000");
        client.ok("CF.RESERVE c 120000");
        client.ok("CF.RESERVE c:large 2400000");
        assert_eq!(client.ask("PEXPIRE k 100000000"), ":1");
        let mut names = |client: &mut Client, range: std::ops::Range<u32>, call: &str| {
            received(&mut link, &primary);
            let (command, key) = call.split_once(' ').expect("a key");
            send_numbers(client, command, key, range);
            let mut names: Vec<String> = received(&mut link, &primary)
                .iter()
                .map(|command| String::from_utf8_lossy(&command[0]).into_owned())
                .collect();
            names.dedup();
            names.join(" ")
        };
        let by_content = "DEL BF.LOADCHUNK PEXPIREAT";
        for (range, call, expected) in [
            (0..120_000, "BF.BULKADD k", by_content),
            (0..120_000, "BF.BULKADD large", "BF.MADD"),
            (120_000..120_100, "BF.BULKADD k", "BF.MADD"),
            (120_100..240_000, "BF.BULKADD k", by_content),
            (0..120_000, "CF.BULKADD c", "DEL CF.LOADCHUNK"),
            (0..120_000, "CF.BULKADD c:large", "CF.INSERT"),
            (2_000..2_100, "CF.BULKDEL c", "CF.DEL"),
            (3_000..119_000, "CF.BULKDEL c", "DEL CF.LOADCHUNK"),
            (0..10_000, "CF.BULKDEL c:large", "CF.DEL"),
        ] {
            assert_eq!(names(&mut client, range, call), expected, "{call}");
        }
        // Plain deletions have a command for several items, too, which RedisBloom does not know.
        let items: Vec<Vec<u8>> = (500..120_000).map(|n: u32| n.to_le_bytes().to_vec()).collect();
        client.items("CF.MDEL", "c", &items);
        catch_up(&mut client, &mut other);
        assert!(received(&mut link, &primary).iter().all(|command| command[0] != b"CF.MDEL"));
        catch_up(&mut client, &mut other);
        assert_equal(&mut client, &mut other);
        assert!(int(&other.call("PTTL k")) > 0);
    });
}

#[test]
fn many_items_of_a_call_take_little_memory() {
    for_each_server(|kind| {
        const ITEMS: u32 = 3_000_000;
        let server = setup().module_args(REDISBLOOM).line("appendonly yes").start(kind);
        let mut client = server.resp2();
        client.ok(&format!("BF.RESERVE k 0.001 {ITEMS}"));
        let process = server.process();
        process.reset_peak().expect("a running process");
        let before = server.resident();
        send_numbers(&mut client, "BF.BULKADD", "k", 0..ITEMS);
        let grown = process.peak().expect("a running process") - before;
        // The data itself, the filter and its content twice, which has 1.8 bytes per item, and what
        // the server allocates in advance. As arguments the items would take 120 MB and more.
        let data = u64::from(ITEMS) * 4;
        assert!(grown < 5 * data, "{grown} bytes for {data} bytes of data");
    });
}

#[test]
fn large_contents_are_logged() {
    for_newest_servers(|kind| {
        let server = Setup::new().module_args(REDISBLOOM).start(kind);
        let mut client = server.resp2();
        // Some items whose bytes are as many as those of the filter.
        for (key, capacity, count) in [("small", 1_000_000, 3_u8), ("large", 50_000_000, 75)] {
            client.ok(&format!("BF.RESERVE {key} 0.01 {capacity}"));
            let items: Vec<Vec<u8>> = (0..count).map(|n| vec![n; 1 << 20]).collect();
            add(&mut client, key, Form::Prefixed, &items);
            let is_logged = server.log().contains("is replicated by content, ");
            assert_eq!(is_logged, key == "large", "{key}");
        }
    });
}

#[test]
fn a_call_that_ends_the_growth_of_a_cuckoo_filter_is_not_split() {
    for_each_server(|kind| {
        let (server, mut client, mut replica) = start(kind);
        for (capacity, expected) in [(400, "DEL"), (4_000, "CF.INSERT")] {
            client.call("FLUSHALL");
            client.ok(&format!("CF.RESERVE k {capacity}"));
            received(&mut replica, &server);
            // RedisBloom refuses a call for a filter that has 32 tables.
            send_numbers(&mut client, "CF.BULKADD", "k", 0..25_000);
            let commands = received(&mut replica, &server);
            assert_eq!(commands[0][0].escape_ascii().to_string(), expected, "{capacity}");
        }
    });
}
