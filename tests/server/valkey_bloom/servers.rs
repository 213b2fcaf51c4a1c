//! What a server with valkey-bloom wrote: an RDB file, an append-only file, and a stream of
//! commands.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use bloomline_harness::{
    Client, Kind, Server, Setup, append_only_file, arguments, bulk, for_each_server,
    report_missing, repository, show, until,
};
use bloomline_reference::payload::{Field, Payload};
use serde_json::Value as Json;

use super::primary::{EMPTY, serve};

/// The folder of the recorded files.
pub fn folder() -> PathBuf {
    repository().join("core/tests/golden/valkey-bloom/servers")
}

/// A recorded file.
pub fn read(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
}

/// What is known of recorded files.
pub fn facts(name: &str) -> Json {
    serde_json::from_slice(&read(name)).expect("JSON")
}

/// The bytes of a recorded payload.
pub fn unhex(text: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).map(digit).collect()
}

/// The fields of each recorded key.
fn dumps(keys: &Json) -> BTreeMap<String, Vec<Field>> {
    let keys = keys.as_object().expect("keys").iter();
    let dumped = keys.filter_map(|(key, facts)| Some((key, facts["dump"].as_str()?)));
    dumped.map(|(key, dump)| (key.clone(), Payload::parse(&unhex(dump)).fields)).collect()
}

fn assert_holds(client: &mut Client, key: &str, fields: &[Field]) {
    assert_eq!(client.ask(&format!("TYPE {key}")), "+bloomfltr", "{key}");
    let dump = client.call(&format!("DUMP {key}"));
    assert_eq!(Payload::parse(bulk(&dump)).fields, fields, "{key}");
}

/// The keys of the files, whose names begin with the number of their database.
pub fn assert_small(client: &mut Client) {
    let keys = dumps(&facts("small.json")["keys"]);
    assert_eq!(keys.len(), 6);
    for (name, fields) in keys {
        let (database, key) = name.split_once('/').expect("a database");
        client.ok(&format!("SELECT {database}"));
        assert_holds(client, key, &fields);
    }
    client.ok("SELECT 0");
    assert_eq!(client.ask("GET string"), "$5 value");
}

/// The keys that the stream makes, and the one that valkey-bloom replicates wrongly.
fn assert_streamed(client: &mut Client) {
    let keys = dumps(&facts("replication.json")["keys_of_the_primary"]);
    assert!(keys.len() > 10, "{} keys", keys.len());
    for (key, fields) in keys.iter().filter(|(key, _)| *key != "l") {
        assert_holds(client, key, fields);
    }
    // BF.LOAD of a client: the payload is the only item.
    assert_eq!(client.ask("BF.CARD l"), ":1");
}

/// Runs a test on each server that reads RDB files of the version that Valkey 8 writes.
pub fn for_each_reader(test: impl Fn(&Kind) + Sync) {
    for_each_server(|kind| {
        if ["redis-6.2", "redis-7.0"].iter().any(|old| kind.name.starts_with(old)) {
            report_missing(kind, "RDB version 11");
        } else {
            test(kind);
        }
    });
}

#[test]
fn an_append_only_file_of_valkey_bloom_is_loaded() {
    for_each_server(|kind| {
        let server = Setup::new().append_file(read("incremental.aof")).start(kind);
        assert_small(&mut server.resp2());
        let server = Setup::new().append_file(read("replication.stream")).start(kind);
        assert_streamed(&mut server.resp2());
    });
}

#[test]
fn a_replica_follows_a_primary_with_valkey_bloom_and_is_promoted() {
    for_each_server(|kind| {
        let port = serve(EMPTY, &read("replication.stream"));
        let mut server = Setup::new().line(format!("replicaof 127.0.0.1 {port}")).start(kind);
        let mut client = server.resp2();
        until("the last key", || (client.ask("TYPE random2") == "+bloomfltr").then_some(()));
        until("the end of the stream", || (client.ask("EXISTS i2") == ":0").then_some(()));
        assert_streamed(&mut client);
        client.ok("REPLICAOF NO ONE");
        assert_eq!(client.ask("BF.ADD random2 later"), ":1");
        assert_eq!(client.ask("BF.EXISTS random2 later"), ":1");
        assert!(server.is_running());
    });
}

#[test]
fn a_replica_loads_the_data_set_of_a_primary_with_valkey_bloom() {
    for_each_reader(|kind| {
        let port = serve(&read("small.rdb"), b"");
        let server = Setup::new().line(format!("replicaof 127.0.0.1 {port}")).start(kind);
        let mut client = server.resp2();
        until("the data set", || (client.ask("GET string") == "$5 value").then_some(()));
        assert_small(&mut client);
    });
}

/// Runs a test on each server after it has followed a primary with these calls, and after it has
/// loaded them from an append-only file.
fn after(calls: &[Vec<Vec<u8>>], test: impl Fn(&mut Client, &Server) + Sync) {
    let stream = append_only_file(&[calls, &[arguments("SET end reached")]].concat());
    for_each_server(|kind| {
        let server = Setup::new().append_file(stream.clone()).start(kind);
        test(&mut server.resp2(), &server);
        let port = serve(EMPTY, &stream);
        let server = Setup::new().line(format!("replicaof 127.0.0.1 {port}")).start(kind);
        let mut client = server.resp2();
        until("the last call", || (client.ask("EXISTS end") == ":1").then_some(()));
        test(&mut client, &server);
    });
}

/// The creation that valkey-bloom replicates, with a seed of one letter.
fn creation(key: &str, capacity: u64, rate: f64, seed: char, growth: &str) -> Vec<Vec<u8>> {
    let seed = seed.to_string().repeat(32);
    arguments(&format!(
        "BF.INSERT {key} CAPACITY {capacity} ERROR {rate} TIGHTENING 0.5 SEED {seed} {growth}"
    ))
}

/// valkey-bloom replicates additions as its client wrote them.
#[test]
fn numbers_in_options_are_those_of_its_parser() {
    let options = [
        ("CAPACITY", &["0100", "+100", "+0100", "100"][..]),
        ("EXPANSION", &["+2", "02", "+002", "4294967295"]),
        ("ERROR", &["+0.01", "00.01", ".01", "1e-2", "+1E-2", "1.e-2", "0.9", "1e-310", "5e-324"]),
        ("TIGHTENING", &["+0.5", ".5", "5e-1", "00.5"]),
        ("VALIDATESCALETO", &["+7", "007", "+007", "9223372036854775807"]),
    ];
    let texts =
        options.iter().flat_map(|&(option, texts)| texts.iter().map(move |it| (option, it)));
    let additions: Vec<String> = texts
        .map(|(option, text)| format!("BF.INSERT k {option} {text} ITEMS {option}{text}"))
        .collect();
    let mut calls = vec![creation("k", 1000, 0.001, 's', "EXPANSION 2")];
    calls.extend(additions.iter().map(|line| arguments(line)));
    after(&calls, |client, _| {
        assert_eq!(client.ask("BF.CARD k"), format!(":{}", additions.len()));
        for line in &additions {
            let item = line.rsplit(' ').next().expect("an item");
            assert_eq!(client.ask(&format!("BF.EXISTS k {item}")), ":1", "{line}");
        }
    });
}

#[test]
fn every_rate_that_it_takes_makes_its_filter() {
    let rates = [0.9999999999999999, 0.9, 0.26, 1e-15, 1e-300, f64::MIN_POSITIVE, 1e-310, 5e-324];
    let mut calls = Vec::new();
    for (number, rate) in rates.into_iter().enumerate() {
        calls.push(creation(&format!("k{number}"), 5, rate, 's', "EXPANSION 2"));
        calls.push(arguments(&format!("BF.MADD k{number} a b c")));
    }
    after(&calls, |client, _| {
        client.call("REPLICAOF NO ONE");
        for (number, rate) in rates.iter().enumerate() {
            let key = format!("k{number}");
            assert_eq!(client.ask(&format!("TYPE {key}")), "+bloomfltr", "{rate}");
            let shown = format!("{rate:?}");
            let expected = format!("*[${} {shown}]", shown.len());
            assert_eq!(client.ask(&format!("BF.INFO {key} ERROR")), expected);
            // Our client's filter has the same bytes, and they are loaded again.
            client.run(&creation("own", 5, *rate, 's', "EXPANSION 2"));
            client.call("BF.MADD own a b c");
            let dump = client.dump(&key);
            assert!(dump == client.dump("own"), "{rate}");
            assert_eq!(client.restore("copy", &dump), "+OK", "{rate}");
            assert_eq!(client.ask("BF.MEXISTS copy a b c"), "*[:1 :1 :1]", "{rate}");
            client.call("DEL own copy");
        }
    });
}

/// A key was missing where its filter was created.
#[test]
fn creations_replace_what_the_key_holds() {
    let old = |key: &str| creation(key, 10, 0.2, 'o', "EXPANSION 2");
    let mut calls = Vec::new();
    for key in ["growing", "fixed", "reserved", "kept"] {
        calls.extend([old(key), arguments(&format!("BF.MADD {key} old older"))]);
        calls.push(arguments(&format!("PEXPIREAT {key} 4000000000000")));
    }
    calls.push(arguments("SET string value"));
    calls.push(arguments("RPUSH list value"));
    calls.push(creation("growing", 100, 0.01, 'n', "EXPANSION 4"));
    calls.push(creation("fixed", 100, 0.01, 'n', "NONSCALING"));
    calls.push(creation("string", 100, 0.01, 'n', "EXPANSION 4"));
    // RedisBloom's creations.
    calls.push(arguments("BF.RESERVE reserved 0.01 100"));
    calls.push(arguments("CF.RESERVE list 100"));
    // With items, it may also be an addition to a filter that exists.
    let mut addition = creation("kept", 100, 0.01, 'n', "EXPANSION 4");
    addition.extend(arguments("ITEMS new"));
    calls.push(addition);
    after(&calls, |client, _| {
        for (key, capacity, items) in
            [("growing", 100, 0), ("fixed", 100, 0), ("string", 100, 0), ("reserved", 100, 0)]
        {
            assert_eq!(client.ask(&format!("BF.INFO {key} CAPACITY")), format!("*[:{capacity}]"));
            assert_eq!(client.ask(&format!("BF.CARD {key}")), format!(":{items}"), "{key}");
            assert_eq!(client.ask(&format!("PTTL {key}")), ":-1", "{key}");
        }
        assert_eq!(client.ask("TYPE list"), "+MBbloomCF");
        assert_eq!(client.ask("BF.INFO fixed EXPANSION"), "*[_]");
        let seed = "n".repeat(32);
        assert_eq!(client.ask("BF.STATS growing seed"), format!("*[$4 seed $32 {seed}]"));
        assert_eq!(client.ask("BF.CARD kept"), ":3");
    });
}

#[test]
fn items_that_its_primary_refused_are_no_reason_to_worry() {
    let calls = [
        creation("full", 2, 0.01, 's', "NONSCALING"),
        arguments("BF.MADD full a b c d"),
        creation("ended", 1, 1e-300, 's', "EXPANSION 1"),
        // Rates become too small.
        [arguments("BF.MADD ended"), (0..100).map(|n| format!("{n}").into_bytes()).collect()]
            .concat(),
    ];
    after(&calls, |client, server| {
        assert_eq!(client.ask("BF.CARD full"), ":2");
        let log = server.log();
        assert!(!log.contains("compare DEBUG DIGEST-VALUE"), "{log}");
    });
}

/// valkey-bloom compares names in the upper case of Unicode, and does not read the options of a
/// call for a filter that exists further than it has to.
#[test]
fn no_option_keeps_items_from_a_filter_that_exists() {
    let seed = "s".repeat(32);
    let additions = [
        "BF.INSERT k ıtems a",
        "BF.INSERT k CAPACITY 7 ıtemſ b",
        "BF.INSERT k tıghtenıng 0.3 ITEMS c",
        &format!("BF.INSERT k ſEED {seed} ITEMS d"),
        "BF.INSERT k valıdateſcaleto 100 nonſcalıng items e",
        // What a later release may have.
        "BF.INSERT k LATER 7 ITEMS f",
        "BF.INSERT k LATER TIGHTENING 2 ıtems g",
        "BF.INSERT k CAPACITY 1k EXPANSION 2 TIGHTENING 0.5 ITEMS h",
    ]
    .map(arguments);
    let mut calls = vec![creation("k", 1000, 0.0001, 's', "EXPANSION 2")];
    calls.extend(additions.clone());
    // A missing key: the filter of the options.
    calls.push(arguments(&format!(
        "BF.INSERT new capacıty 50 ERROR 0.01 tıghtenıng 0.5 ſeed {seed} expanſıon 4 ıtemſ a b"
    )));
    after(&calls, |client, server| {
        assert_eq!(client.ask("BF.CARD k"), format!(":{}", additions.len()));
        for addition in &additions {
            let item = addition.last().expect("an item");
            assert_eq!(show(&client.run(&[&b"BF.EXISTS"[..], b"k", item])), ":1", "{addition:?}");
        }
        let log = server.log();
        assert!(!log.contains("is refused here"), "{log}");
        client.call("REPLICAOF NO ONE");
        client.run(&creation("own", 50, 0.01, 's', "EXPANSION 4"));
        client.call("BF.MADD own a b");
        assert!(client.dump("new") == client.dump("own"));
    });
}

/// An option of a later release, say.
#[test]
fn a_call_that_cannot_be_carried_out_is_logged() {
    let calls = [arguments("BF.INSERT k TIGHTENING 0.5 CAPACITY x ITEMS a")];
    after(&calls, |client, server| {
        assert_eq!(client.ask("EXISTS k"), ":0");
        let log = server.log();
        assert!(
            log.contains("filter 'k': a call of BF.INSERT that a primary or a file made"),
            "{log}"
        );
    });
}
