//! What a server with valkey-bloom wrote: an RDB file, an append-only file, and a stream of
//! commands.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use bloomline_harness::{
    Client, Kind, Setup, bulk, for_each_server, report_missing, repository, until,
};
use bloomline_reference::payload::{Field, fields_of_dump};
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
    dumped.map(|(key, dump)| (key.clone(), fields_of_dump(&unhex(dump)))).collect()
}

fn assert_holds(client: &mut Client, key: &str, fields: &[Field]) {
    assert_eq!(client.ask(&format!("TYPE {key}")), "+bloomfltr", "{key}");
    let dump = client.call(&format!("DUMP {key}"));
    assert_eq!(fields_of_dump(bulk(&dump)), fields, "{key}");
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

/// The keys that the stream makes, except the one that valkey-bloom replicates wrongly.
fn assert_streamed(client: &mut Client) {
    let keys = dumps(&facts("replication.json")["keys_of_the_primary"]);
    assert!(keys.len() > 10, "{} keys", keys.len());
    for (key, fields) in keys.iter().filter(|(key, _)| *key != "l") {
        assert_holds(client, key, fields);
    }
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
