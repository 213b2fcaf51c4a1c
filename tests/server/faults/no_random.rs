//! A system without random bytes: only filters that need a new seed are refused.

use bloomline_harness::{Client, Server, Setup, bulk, for_each_server_long, numbered, show};

use crate::inspect::digest;
use crate::redisbloom::forged;

/// The reply to a call that would create a filter in our own layout.
const NO_SEED: &str = "-ERR could not create filter: no random seed from the system: Operation not permitted \
                       (os error 1)";

/// Bytes that make the filter `k`: its payload, its header with its bits; and its digest.
struct Made {
    payload: Vec<u8>,
    chunks: Vec<(String, Vec<u8>)>,
    digest: String,
}

/// A filter of a server that has random bytes.
fn made(client: &mut Client) -> Made {
    client.ok("BF.RESERVE k 0.0000001 100");
    client.items("BF.MADD", "k", &numbered("item", 100));
    let chunks =
        ["0", "1"].map(|iterator| match client.call(&format!("BF.SCANDUMP k {iterator}")) {
            redis::Value::Array(pair) => {
                (show(&pair[0]).trim_start_matches(':').to_owned(), bulk(&pair[1]).to_vec())
            }
            other => panic!("{}", show(&other)),
        });
    let payload = client.dump("k");
    Made { payload, chunks: chunks.into(), digest: digest(client, "k") }
}

#[test]
fn without_random_bytes_only_new_seeds_are_refused() {
    for_each_server_long(|kind| {
        let made = made(&mut Setup::new().debug().start(kind).resp2());
        let mut server = Setup::new().debug().without_getrandom().start(kind);
        let mut client = server.resp2();
        for _ in 0..2 {
            for line in [
                "BF.RESERVE new 0.01 100",
                "BF.ADD new a",
                "BF.MADD new a b",
                "BF.INSERT new CAPACITY 10 ITEMS a",
                "BF.RESERVE new 0.01 2000000 LAYOUT bloomline",
            ] {
                assert_eq!(client.ask(line), NO_SEED, "{line}");
            }
            assert_eq!(client.ask("DBSIZE"), ":0");
        }
        // RedisBloom's layout has no seed, and a filter from elsewhere brings its own.
        client.ok("BF.RESERVE foreign 0.01 100 LAYOUT redisbloom");
        assert_eq!(client.ask("BF.MADD foreign a b"), "*[:1 :1]");
        assert_eq!(client.ask("BF.INSERT another LAYOUT redisbloom ITEMS a"), "*[:1]");
        let restored = client.run(&[&b"RESTORE"[..], b"restored".as_slice(), b"0", &made.payload]);
        assert_eq!(show(&restored), "+OK");
        assert_eq!(forged::load(&mut client, "loaded", &made.chunks[0].1), "+OK");
        let (iterator, bits) = &made.chunks[1];
        let loaded =
            client.run(&[&b"BF.LOADCHUNK"[..], b"loaded".as_slice(), iterator.as_bytes(), bits]);
        assert_eq!(show(&loaded), "+OK");
        assert_eq!(client.ask("COPY loaded copied"), ":1");
        for key in ["restored", "loaded", "copied"] {
            assert_eq!(digest(&mut client, key), made.digest, "{key}");
        }
        // A given seed needs no random bytes.
        client.ok("BF.RESERVE seeded 0.01 100 SEED 7");
        assert_eq!(client.ask("BF.INSERT window LAST GENERATIONS 8 SEED 7 ITEMS a"), "*[:1]");
        // New layers use the seed of the filter.
        client.items("BF.MADD", "loaded", &numbered("more", 300));
        assert_ne!(client.ask("BF.INFO loaded FILTERS"), "*[:1]");
        client.ok("DEBUG RELOAD");
        assert_eq!(digest(&mut client, "copied"), made.digest);
        assert_eq!(client.ask("BF.ADD copied new"), ":1");
        client.assert_answers_ping("all commands");
        // The same server, now with random bytes.
        client.ok("SAVE");
        server.kill();
        server.revive();
        let mut client = server.resp2();
        client.ok("BF.RESERVE new 0.01 100");
        assert_eq!(client.ask("BF.EXISTS copied new"), ":1");
    });
}

#[test]
fn without_random_bytes_an_append_only_file_is_loaded() {
    for_each_server_long(|kind| {
        let lines = ["appendonly yes", "aof-use-rdb-preamble no", "appendfsync always"];
        let setup = || lines.iter().fold(Setup::new().debug(), |setup, line| setup.line(*line));
        let (file, before) = {
            let server = setup().start(kind);
            let mut client = server.resp2();
            client.ok("BF.RESERVE k 0.0000001 100");
            client.items("BF.MADD", "k", &numbered("item", 500));
            client.ok("BF.RESERVE fixed 0.01 100 NONSCALING");
            let digests = ["k", "fixed"].map(|key| digest(&mut client, key));
            (append_file(&server), digests)
        };
        let server = Setup::new().debug().without_getrandom().append_file(file).start(kind);
        let mut client = server.resp2();
        assert_eq!(["k", "fixed"].map(|key| digest(&mut client, key)), before);
        assert_eq!(client.ask("BF.ADD new a"), NO_SEED);
        assert_eq!(client.ask("BF.ADD k new"), ":1");
    });
}

/// The append-only file of a server: one file, or the newest one in a folder.
fn append_file(server: &Server) -> Vec<u8> {
    let file =
        ["appendonly.aof", "appendonlydir/appendonly.aof.1.incr.aof"].map(|name| server.file(name));
    let file = file.iter().find_map(|file| std::fs::read(file).ok());
    file.expect("an append-only file")
}
