//! Files of earlier releases, with every kind of filter: each server reads them, and writes the
//! same bytes.
//!
//! `dump.rdb` is the RDB file, `incremental.aof` has the calls that made the filters, as they are
//! replicated, and `rewritten.aof` is the same file after a rewrite. They are from Redis 6.2, whose
//! files all servers read. `incremental.aof` is without the longest histories, whose results are in
//! the other two files.
//!
//! `BLOOMLINE_BLESS=1 cargo test -p bloomline-tests --test server released` writes missing ones; a
//! release with a new kind of filter gets a folder of its files.

use std::collections::BTreeMap;
use std::fs;

use bloomline_harness::{
    Client, Clock, DUMP_FOOTER, Setup, append_only_file, bulk, find_servers, for_each_server_long,
    seal_dump,
};
use bloomline_reference::golden::{file, is_to_be_written};
use redis::{Parser, Value};

use crate::filters::all;

/// The releases that introduced a kind of filter.
const RELEASES: [&str; 1] = ["0.1.0"];

/// Filters whose calls are too long for a file that is kept: together a third of the calls.
const LONG: [&str; 6] = [
    "many:layers",
    "last:many",
    "compacted",
    "compacted:fixed",
    "classic:compacted",
    "classic:fixed:compacted",
];

/// The version of RDB files of Redis 6.2.
const RDB_VERSION: [u8; 2] = [9, 0];

/// Values stay as the module has written them.
fn setup() -> Setup {
    Setup::new().debug().line("rdbcompression no")
}

/// The RDB file, the append-only file, and that after a rewrite.
fn files(release: &str) -> [Vec<u8>; 3] {
    let paths = ["dump.rdb", "incremental.aof", "rewritten.aof"]
        .map(|name| format!("releases/{release}/{name}"));
    let mut written = Default::default();
    if paths.iter().any(|path| is_to_be_written(path)) {
        written = write();
    }
    let read = |(path, bytes): (&String, &Vec<u8>)| file(path, bytes);
    std::array::from_fn(|part| read((&paths[part], &written[part])))
}

/// The files as this release writes them.
fn write() -> [Vec<u8>; 3] {
    let kinds = find_servers().expect("servers");
    let kind = kinds.iter().find(|kind| kind.name == "redis-6.2").expect("Redis 6.2");
    let server = setup().append_only().start(kind);
    let mut client = server.resp2();
    let (long, others): (Vec<_>, Vec<_>) =
        all().into_iter().partition(|filter| LONG.contains(&&*filter.key));
    assert_eq!(long.len(), LONG.len());
    for filter in others {
        filter.build(&mut client);
    }
    let incremental = server.read_append_file();
    for filter in long {
        filter.build(&mut client);
    }
    client.rewrite_append_only_file();
    client.ok("SAVE");
    let dump = fs::read(server.file("dump.rdb")).expect("the RDB file");
    [dump, incremental, server.read_append_file()]
}

/// The keys of a server with their values, as in a DUMP payload: the type, and the bytes behind it.
fn values(client: &mut Client) -> BTreeMap<String, Vec<u8>> {
    let keys = client.keys().into_iter();
    let value = |key: String| {
        let mut payload = client.dump(&key);
        payload.truncate(payload.len() - DUMP_FOOTER);
        (key, payload)
    };
    keys.map(value).collect()
}

/// The commands of an append-only file, in the order of their bytes: a server rewrites its keys in
/// any order.
fn commands(bytes: &[u8]) -> Vec<Vec<Vec<u8>>> {
    let (mut parser, mut rest) = (Parser::new(), bytes);
    let mut commands = Vec::new();
    while let Ok(Value::Array(words)) = parser.parse_value(&mut rest) {
        commands.push(words.iter().map(|word| bulk(word).to_vec()).collect::<Vec<_>>());
    }
    assert_eq!(append_only_file(&commands).len(), bytes.len(), "not only commands");
    commands.sort();
    commands
}

#[test]
fn files_are_read_and_written_again_years_later() {
    for release in RELEASES {
        let [dump, incremental, rewrite] = files(release);
        let expected = commands(&rewrite);
        for_each_server_long(|kind| {
            // Longer than all windows.
            let clock = Clock::new();
            clock.set_ahead(5 * 365 * 86_400);
            let setup = || setup().clock(&clock);

            let server = setup().rdb_file(dump.clone()).start(kind);
            let mut client = server.resp2();
            let values = values(&mut client);
            assert!(values.len() > 80, "{} keys", values.len());
            for (key, value) in &values {
                // A file has the type, the key and the value.
                let (kind, bytes) = value.split_at(1);
                let entry = [kind, &[key.len() as u8], key.as_bytes(), bytes].concat();
                let is_written = dump.windows(entry.len()).any(|part| part == entry);
                assert!(is_written, "{key} is written otherwise");

                let payload = seal_dump(&[value, &RDB_VERSION[..]].concat());
                assert_eq!(client.restore("restored", &payload), "+OK", "{key}");
                let restored = client.dump("restored");
                assert!(restored.starts_with(value), "{key} is restored otherwise");
                client.call("DEL restored");
            }

            client.ok("CONFIG SET aof-use-rdb-preamble no");
            client.ok("CONFIG SET appendonly yes");
            client.wait_for_saves();
            client.rewrite_append_only_file();
            let written = commands(&server.read_append_file());
            assert!(written == expected, "{} rewrites other commands", kind.name);

            for (name, bytes) in [("incremental", &incremental), ("rewritten", &rewrite)] {
                let server = setup().append_file(bytes.clone()).start(kind);
                let found = self::values(&mut server.resp2());
                let mut expected = values.clone();
                if name == "incremental" {
                    expected.retain(|key, _| !LONG.contains(&&**key));
                }
                for (key, value) in &expected {
                    assert!(found.get(key) == Some(value), "{name}: {key}");
                }
                assert_eq!(found.len(), expected.len(), "{name}");
            }
        });
    }
}
