//! Damaged headers of version 2, as a chunk and in a DUMP payload: refused, or a filter that works.

use bloomline_harness::{
    Client, Server, Setup, body_of_dump, bulk, for_each_server, matches, numbered, seal_dump, show,
};

use super::fixture::{DROPPED_BYTES, GENERATION_BYTES, GENERATIONS, NUMBER, RATE, header};
use super::fixture::{number_at, present, set_number};
use crate::inspect::{Totals, number, totals, with_debug};

/// A server whose filters take 1 MiB at most, and RDB strings that are not compressed.
fn start(kind: &bloomline_harness::Kind) -> Server {
    let setup: Setup = with_debug(kind).line("rdbcompression no");
    setup.module_args("bf-max-filter-bytes 1mb").start(kind)
}

/// A filter with dropped generations and overflow layers.
fn build(client: &mut Client, options: &str) {
    client.ok(&format!("BF.RESERVE k {RATE} 8 {options}"));
    for batch in numbered("item", 60).chunks(6) {
        client.items("BF.MADD", "k", batch);
        if options.starts_with("GENERATIONS") {
            client.ok("BF.ROTATE k");
        }
    }
    client.items("BF.MADD", "k", &numbered("burst", 30));
}

/// Runs all commands on a filter. It may refuse items and rotations, but must answer, and must load
/// from what it saves.
fn use_filter(client: &mut Client, key: &str, case: &str) {
    for line in ["BF.INFO", "BF.DEBUG", "BF.CARD", "MEMORY USAGE", "DEBUG DIGEST-VALUE", "PTTL"] {
        let reply = client.ask(&format!("{line} {key}"));
        assert!(!reply.starts_with('-'), "{case}: {line}: {reply}");
    }
    for round in 0..3 {
        client.items("BF.MADD", key, &numbered(&format!("round{round}"), 20));
        client.call(&format!("BF.ROTATE {key}"));
        client.call(&format!("BF.ROTATE {key} AT 5"));
        client.items("BF.MEXISTS", key, &numbered("round0", 20));
        let digest = client.ask(&format!("DEBUG DIGEST-VALUE {key}"));
        let dump = client.call(&format!("DUMP {key}"));
        let restored = client.run(&[b"RESTORE", &b"back"[..], b"0", bulk(&dump)]);
        assert_eq!(show(&restored), "+OK", "{case}: round {round}");
        assert_eq!(client.ask("DEBUG DIGEST-VALUE back"), digest, "{case}");
        client.call("DEL back");
        client.copy_by_chunks(key, "back");
        assert_eq!(client.ask("DEBUG DIGEST-VALUE back"), digest, "{case}: chunks");
        client.call("DEL back");
    }
}

/// Loads a header as a chunk; true if it was accepted.
fn load(client: &mut Client, header: &[u8], case: &str) -> bool {
    let reply = client.loadchunk("forged", 1, header);
    let is_loaded = reply == "+OK";
    if is_loaded {
        use_filter(client, "forged", case);
        assert_eq!(client.ask("DEL forged"), ":1");
    } else {
        let memory = "-ERR Insufficient memory to create filter: <any>";
        let is_known = reply == "-ERR received bad data" || matches(memory, &reply);
        assert!(is_known, "{case}: {reply}");
        assert_eq!(client.ask("EXISTS forged"), ":0", "{case}");
    }
    is_loaded
}

#[test]
fn every_damaged_byte_is_refused_or_harmless() {
    for_each_server(|kind| {
        let server = start(kind);
        let mut client = server.resp2();
        for options in ["GENERATIONS 2", "LAST GENERATIONS 2", "WINDOW 500 GENERATIONS 4 NOREFRESH"]
        {
            build(&mut client, options);
            let header = header(&mut client, "k");
            let (mut loaded, mut refused) = (0, 0);
            for at in 0..header.len() {
                for value in [0, 1, 2, 0x40, 0x7f, 0x80, 0xff] {
                    let mut forged = header.clone();
                    forged[at] = value;
                    let case = format!("{options}: byte {at} = {value}");
                    if load(&mut client, &forged, &case) { loaded += 1 } else { refused += 1 }
                }
            }
            assert!(loaded > 100 && refused > 100, "{loaded} loaded, {refused} refused");
            for length in (0..header.len()).chain([header.len() + 1, header.len() + 64]) {
                let mut forged = header.clone();
                forged.resize(length, 0);
                assert!(!load(&mut client, &forged, &format!("{length} bytes")), "{length}");
            }
            client.ok("FLUSHALL SYNC");
        }
        assert_eq!(totals(&mut client), Totals::default());
        assert!(number(&mut client, "loads_refused") > 300);
    });
}

#[test]
fn numbers_at_their_limits_are_refused_or_harmless() {
    const LIMITS: [u64; 12] = [
        0,
        1,
        63,
        64,
        1 << 32,
        (1 << 53) - 1,
        1 << 53,
        1 << 62,
        i64::MAX as u64 - 1,
        i64::MAX as u64,
        u64::MAX - 1,
        u64::MAX,
    ];
    for_each_server(|kind| {
        let server = start(kind);
        let mut client = server.resp2();
        for options in ["GENERATIONS 2", "LAST GENERATIONS 2", "WINDOW 500 GENERATIONS 2"] {
            build(&mut client, options);
            let header = header(&mut client, "k");
            for at in (24..GENERATIONS + GENERATION_BYTES * present(&header)).step_by(8) {
                for value in LIMITS.into_iter().chain([number_at(&header, at) + 1]) {
                    let mut forged = header.clone();
                    set_number(&mut forged, at, value);
                    load(&mut client, &forged, &format!("{options}: {value} at {at}"));
                    // Far in the life of a filter, with offsets that belong to it.
                    set_number(&mut forged, NUMBER, value);
                    set_number(&mut forged, DROPPED_BYTES, value & !63);
                    load(&mut client, &forged, &format!("{options}: {value} at {at}, late"));
                }
            }
            client.ok("FLUSHALL SYNC");
        }
    });
}

#[test]
fn damaged_payloads_are_refused_or_harmless() {
    for_each_server(|kind| {
        let server = start(kind);
        let mut client = server.resp2();
        build(&mut client, "GENERATIONS 2");
        let header = header(&mut client, "k");
        let dump = client.call("DUMP k");
        let body = body_of_dump(bulk(&dump)).to_vec();
        let start = body.windows(header.len()).position(|bytes| bytes == header);
        let start = start.expect("the header in the payload");
        let mut loaded = 0;
        for at in 0..header.len() {
            for value in [0, 2, 0x7f, 0xff] {
                let mut forged = body.clone();
                forged[start + at] = value;
                let forged = seal_dump(&forged);
                let reply = show(&client.run(&[b"RESTORE", &b"forged"[..], b"0", &forged]));
                if reply == "+OK" {
                    use_filter(&mut client, "forged", &format!("byte {at} = {value}"));
                    assert_eq!(client.ask("DEL forged"), ":1");
                    loaded += 1;
                } else {
                    assert!(reply.starts_with("-ERR"), "byte {at} = {value}: {reply}");
                    assert_eq!(client.ask("EXISTS forged"), ":0");
                }
            }
        }
        assert!(loaded > 50, "{loaded}");
    });
}
