//! RedisBloom follows a primary with Bloomline: after each command its filters are equal.

use bloomline_harness::{
    Client, Kind, Server, arguments, for_each_server_long, int, numbered, redisbloom,
    report_missing, show,
};

use super::Module;
use super::filters::{all_seen, assert_all_same, assert_same, family_of, items_of, seen};
use crate::cluster::equal::{catch_up, setup};
use crate::packed::Form;

/// A key, and calls on it. In them `KEY` is its name, `ITEMS:n` are `n` items, and the names of the
/// forms with a number that many packed items.
type Calls = (&'static str, &'static [&'static str]);

const CALLS: [Calls; 38] = [
    ("reserve", &["BF.RESERVE KEY 0.01 100"]),
    ("reserve:expansion", &["BF.RESERVE KEY 0.001 100 EXPANSION 4", "BF.MADD KEY ITEMS:3000"]),
    ("reserve:fixed", &["BF.RESERVE KEY 0.001 100 NONSCALING", "BF.MADD KEY ITEMS:150"]),
    ("reserve:ttl", &["BF.RESERVE KEY 0.01 100 TTL 100000", "BF.ADD KEY a"]),
    ("add", &["BF.ADD KEY a", "BF.ADD KEY b", "BF.ADD KEY a", "EXPIRE KEY 10000"]),
    ("madd", &["BF.MADD KEY ITEMS:300", "BF.MADD KEY ITEMS:5000", "BF.MADD KEY a a b"]),
    ("insert", &["BF.INSERT KEY ITEMS ITEMS:70", "BF.INSERT KEY NOCREATE ITEMS ITEMS:90"]),
    (
        "insert:options",
        &[
            "BF.INSERT KEY CAPACITY 50 ERROR 0.0001 EXPANSION 3 TTL 100000 ITEMS ITEMS:300",
            "BF.INSERT KEY CAPACITY 7 ERROR 0.1 ITEMS ITEMS:310",
        ],
    ),
    ("insert:fixed", &["BF.INSERT KEY CAPACITY 50 NONSCALING EXPANSION 3 ITEMS ITEMS:70"]),
    ("insert:layout", &["BF.INSERT KEY LAYOUT redisbloom ITEMS ITEMS:70"]),
    ("bulk:fixed", &["BF.BULKADD KEY FIXED:70", "BF.BULKADD KEY FIXED:3000"]),
    ("bulk:prefixed", &["BF.BULKADD KEY PREFIXED:70 COUNT", "BF.BULKADD KEY PREFIXED:3000"]),
    ("bulk:lines", &["BF.BULKADD KEY LINES:70", "BF.BULKADD KEY LINES:3000"]),
    ("bulk:again", &["BF.MADD KEY ITEMS:90", "BF.BULKADD KEY LINES:90", "BF.BULKADD KEY LINES:95"]),
    ("bulk:full", &["BF.RESERVE KEY 0.001 70 NONSCALING", "BF.BULKADD KEY FIXED:150"]),
    ("bulk:split", &["BF.RESERVE KEY 0.001 50000", "BF.BULKADD KEY LINES:25000"]),
    // Replicated as content.
    ("bulk:large", &["BF.RESERVE KEY 0.01 90000 TTL 100000", "BF.BULKADD KEY FIXED:100000"]),
    ("bulk:grows", &["BF.RESERVE KEY 0.01 1000", "BF.BULKADD KEY LINES:100000", "BF.ADD KEY a"]),
    ("cf:reserve", &["CF.RESERVE KEY 100", "CF.ADD KEY a"]),
    (
        "cf:reserve:options",
        &[
            "CF.RESERVE KEY 30 BUCKETSIZE 3 MAXITERATIONS 50 EXPANSION 2 TTL 100000",
            "CF.INSERT KEY ITEMS ITEMS:600",
        ],
    ),
    ("cf:reserve:full", &["CF.RESERVE KEY 100 EXPANSION 0", "CF.INSERT KEY ITEMS ITEMS:200"]),
    ("cf:add", &["CF.ADD KEY a", "CF.ADD KEY a", "CF.ADD KEY b", "EXPIRE KEY 10000"]),
    ("cf:addnx", &["CF.ADDNX KEY a", "CF.ADDNX KEY a", "CF.ADDNX KEY b"]),
    ("cf:insert", &["CF.INSERT KEY CAPACITY 50 ITEMS ITEMS:300", "CF.INSERT KEY NOCREATE ITEMS a"]),
    ("cf:insert:ttl", &["CF.INSERT KEY TTL 100000 LAYOUT redisbloom ITEMS ITEMS:70"]),
    ("cf:insertnx", &["CF.INSERTNX KEY CAPACITY 50 ITEMS a a b", "CF.INSERTNX KEY ITEMS ITEMS:90"]),
    ("cf:del", &["CF.INSERT KEY ITEMS a a b", "CF.DEL KEY a", "CF.DEL KEY a", "CF.DEL KEY a"]),
    (
        "cf:mdel",
        &[
            "CF.INSERT KEY CAPACITY 50 ITEMS ITEMS:500",
            "CF.MDEL KEY absent ITEMS:70",
            "CF.MDEL KEY absent",
        ],
    ),
    ("cf:bulk:fixed", &["CF.BULKADD KEY FIXED:70", "CF.BULKADD KEY FIXED:3000"]),
    ("cf:bulk:prefixed", &["CF.BULKADD KEY PREFIXED:70 COUNT", "CF.BULKADD KEY PREFIXED:3000"]),
    ("cf:bulk:lines", &["CF.BULKADD KEY LINES:70", "CF.BULKADD KEY LINES:3000"]),
    ("cf:bulk:full", &["CF.RESERVE KEY 70 EXPANSION 0", "CF.BULKADD KEY FIXED:300"]),
    ("cf:bulk:split", &["CF.RESERVE KEY 5000", "CF.BULKADD KEY LINES:25000"]),
    // It has more than 32 tables before the last item, so that RedisBloom takes no further call.
    ("cf:bulk:closed", &["CF.RESERVE KEY 400", "CF.BULKADD KEY LINES:25000"]),
    // Replicated as content.
    (
        "cf:bulk:large",
        &["CF.RESERVE KEY 90000", "CF.BULKADD KEY FIXED:100000", "CF.BULKDEL KEY FIXED:99000"],
    ),
    (
        "cf:bulkdel",
        &["CF.INSERT KEY CAPACITY 90 ITEMS ITEMS:500", "CF.BULKDEL KEY LINES:90", "CF.COMPACT KEY"],
    ),
    (
        "transaction",
        &[
            "MULTI",
            "BF.RESERVE KEY 0.01 50 TTL 100000",
            "BF.BULKADD KEY LINES:100",
            "BF.MADD KEY ITEMS:150",
            "CF.INSERT cf:KEY ITEMS ITEMS:70",
            "CF.BULKADD cf:KEY LINES:100",
            "CF.MDEL cf:KEY ITEMS:90",
            "EXEC",
        ],
    ),
    ("script", &[SCRIPT]),
];

const SCRIPT: &str = "EVAL \"\
    redis.call('BF.INSERT', KEYS[1], 'CAPACITY', 50, 'TTL', 1000, 'ITEMS', 'a') \
    redis.call('CF.BULKADD', KEYS[2], 'FIXED', 1, 'abcdef') \
    redis.call('CF.MDEL', KEYS[2], 'a', 'b', 'x') \
    return redis.call('BF.BULKADD', KEYS[1], 'FIXED', 1, 'abc')\" 2 KEY cf:KEY";

/// The arguments of a call on a key.
fn words(line: &str, key: &str) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    for word in arguments(line) {
        let text = String::from_utf8_lossy(&word).into_owned();
        let form = |name| match name {
            "FIXED" => Some(Form::Fixed),
            "PREFIXED" => Some(Form::Prefixed),
            "LINES" => Some(Form::Lines),
            _ => None,
        };
        match text.split_once(':') {
            Some(("ITEMS", count)) => words.extend(items(key, count)),
            Some(("cf", "KEY")) => words.push(format!("cf:{key}").into_bytes()),
            Some((name, count)) => match form(name) {
                Some(form) => words.extend(form.args(&items(key, count))),
                None => words.push(word),
            },
            None if text == "KEY" => words.push(key.as_bytes().to_vec()),
            None => words.push(word),
        }
    }
    words
}

/// Items of one width.
fn items(key: &str, count: &str) -> Vec<Vec<u8>> {
    let wide = |item: Vec<u8>| [&b"0".repeat(30 - item.len()), &item[..]].concat();
    numbered(key, count.parse().expect("a number")).into_iter().map(wide).collect()
}

/// A server with RedisBloom that follows another.
fn follower(kind: &Kind, primary: &Server) -> Server {
    let line = format!("replicaof 127.0.0.1 {}", primary.port);
    Module::RedisBloom.start(setup().line(line), kind)
}

/// Asserts that both have the same filter under the key, which expires at the same time.
fn assert_same_key(primary: &mut Client, replica: &mut Client, key: &str) {
    let items = [items(key, "300"), items_of(key)].concat();
    assert_same(key, &seen(primary, key, &items), &seen(replica, key, &items));
    let [one, other] = [primary, replica].map(|client| int(&client.call(&format!("PTTL {key}"))));
    assert!((one > 0) == (other > 0) && (one - other).abs() < 60_000, "{key}: {one} and {other}");
}

#[test]
fn redisbloom_follows_every_command_for_its_layout() {
    for_each_server_long(|kind| {
        if redisbloom().is_none() {
            return report_missing(kind, "RedisBloom in redis-7.4; `make servers` fetches it");
        }
        let primary = Module::Bloomline.start(setup(), kind);
        let replica = follower(kind, &primary);
        let (mut client, mut other) = (primary.resp2(), replica.resp2());
        catch_up(&mut client, &mut other);
        for (key, lines) in CALLS {
            for line in lines {
                let reply = show(&client.run(&words(line, key)));
                assert!(!reply.starts_with('-'), "{key}: {line}: {reply}");
            }
            catch_up(&mut client, &mut other);
            assert_same_key(&mut client, &mut other, key);
            let second = format!("cf:{key}");
            if client.ask(&format!("EXISTS {second}")) == ":1" {
                assert_same_key(&mut client, &mut other, &second);
            }
        }
        // The same after a full synchronisation, and both replicas follow from there.
        let fresh = follower(kind, &primary);
        let mut third = fresh.resp2();
        catch_up(&mut client, &mut third);
        let expected = all_seen(&mut client);
        assert_eq!(expected.len(), CALLS.len() + 2);
        assert_all_same(&expected, &all_seen(&mut third));
        for key in expected.keys() {
            let line = format!("{}.BULKADD KEY LINES:4000", family_of(key));
            client.run(&words(&line, key));
        }
        let expected = all_seen(&mut client);
        for (server, follower) in [(&replica, &mut other), (&fresh, &mut third)] {
            catch_up(&mut client, follower);
            assert_all_same(&expected, &all_seen(follower));
            // What a replica cannot run is a line of its log.
            assert!(!server.log().contains("CRITICAL"), "{}", server.log());
        }
    });
}
