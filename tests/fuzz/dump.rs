//! DUMP payloads with damaged values: each is refused, or becomes a filter that serves, saves and
//! loads.

use std::fs;
use std::path::Path;

use arbitrary::Unstructured;
use bloomline_harness::{Setup, bulk, for_newest_servers, numbered, seal_dump, show, until};

use crate::budget::Cases;
use crate::live::{Live, Protocol};
use crate::payload;
use bloomline_reference::payload::{FOOTER, Payload};

/// The number of cases between two readings of the server's memory.
const CASES_A_LOOK: u64 = 50;

/// Filters of every shape, as payloads.
fn real(live: &mut Live) -> Vec<Payload> {
    let mut dumps = Vec::new();
    for (reserve, count) in [
        ("0.01 100", 0),
        ("0.01 100", 60),
        ("0.01 5 EXPANSION 1", 40),
        ("0.001 100 EXPANSION 4", 1500),
        ("0.01 20 NONSCALING", 20),
        ("0.25 1 NONSCALING", 0),
        ("0.01 20 WINDOW 1000000", 30),
        ("0.01 40 LAST GENERATIONS 4", 400),
        ("0.01 40 GENERATIONS 4 EXPANSION 1", 60),
        ("0.01 40 GENERATIONS 2 NONSCALING NOREFRESH", 20),
    ] {
        for layout in ["BLOOMLINE", "REDISBLOOM", "VALKEY-BLOOM"] {
            let forgets = ["WINDOW", "LAST", "GENERATIONS"].iter().any(|it| reserve.contains(it));
            if forgets && layout != "BLOOMLINE" {
                continue;
            }
            live.begin();
            assert_eq!(live.ask(&format!("BF.RESERVE k {reserve} LAYOUT {layout}")), "+OK");
            for item in numbered("item", count) {
                live.run(&[b"BF.ADD", b"k".as_slice(), &item]);
            }
            // Rotated, if that is possible, so that generations are dropped.
            for _ in 0..5 {
                live.ask("BF.ROTATE k");
                live.ask("BF.ADD k another");
            }
            dumps.push(bulk(&live.run(&["DUMP", "k"])).to_vec());
        }
    }
    for (reserve, count, deleted) in [
        ("100", 0, 0),
        ("100", 60, 10),
        ("20 EXPANSION 1", 150, 5),
        ("20 EXPANSION 4 BUCKETSIZE 3", 700, 0),
        ("40 EXPANSION 0 BUCKETSIZE 1", 60, 0),
        ("600 BUCKETSIZE 255 MAXITERATIONS 3", 700, 400),
    ] {
        live.begin();
        assert_eq!(live.ask(&format!("CF.RESERVE k {reserve}")), "+OK");
        for item in numbered("item", count) {
            live.run(&[b"CF.ADD", b"k".as_slice(), &item]);
        }
        for item in numbered("item", deleted) {
            live.run(&[b"CF.DEL", b"k".as_slice(), &item]);
        }
        dumps.push(bulk(&live.run(&["DUMP", "k"])).to_vec());
    }
    // Filters recorded from RedisBloom, including older releases.
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("core/tests/golden/redisbloom");
    for file in fs::read_dir(recorded).expect("the recorded filters").flatten() {
        if file.path().extension().is_some_and(|extension| extension == "dump") {
            live.begin();
            // Use the RDB version of this server. Older servers refuse a newer number, although the
            // payload contains nothing newer.
            let mut recorded = fs::read(file.path()).expect("a payload");
            recorded.truncate(recorded.len() - FOOTER);
            recorded.extend(&dumps[0][dumps[0].len() - FOOTER..][..2]);
            let recorded = seal_dump(&recorded);
            if show(&live.run(&[b"RESTORE", b"k".as_slice(), b"0", &recorded])) == "+OK" {
                dumps.push(bulk(&live.run(&["DUMP", "k"])).to_vec());
            }
        }
    }
    assert!(dumps.len() > 20);
    let whole = |dump: &Vec<u8>| Payload::parse(dump);
    dumps
        .iter()
        .map(whole)
        .inspect(|payload| assert!(dumps.contains(&seal_dump(&payload.body()))))
        .collect()
}

#[test]
fn damaged_payloads_are_refused_or_become_usable_filters() {
    for_newest_servers(|kind| {
        let setup = Setup::new().append_only().line("appendfsync no").line("rdbcompression no");
        let mut live = Live::start(kind, setup);
        let real = real(&mut live);
        live.begin();
        let before = live.used_memory();
        let mut cases = Cases::of(&format!("dump on {}", kind.name), 600);
        while let Some(case) = cases.next() {
            let mut u = Unstructured::new(&case.bytes);
            let Ok(payload) = payload::any(&mut u, &real) else { continue };
            live.begin();
            live.protocol = Protocol::of_case(case.seed);
            let reply = show(&live.run(&[b"RESTORE", b"k".as_slice(), b"0", &payload]));
            let is_accepted = reply == "+OK" && live.family_of(b"k").is_some();
            cases.accept(is_accepted);
            if is_accepted {
                live.serves("k");
            }
            match case.seed % 8 {
                0 => live.assert_survives(&["k"], |live| live.reload("RELOAD")),
                4 => live.assert_survives(&["k"], Live::reload_rewritten_file),
                _ => {}
            }
            if case.seed % CASES_A_LOOK == 0 {
                live.begin();
                // Newer servers free in the background what a reload has replaced.
                for total in ["filters", "layers", "bytes", "cf_filters", "cf_tables", "cf_bytes"] {
                    let what = format!("the {total} of deleted filters to be 0");
                    until(&what, || (live.total(total) == 0).then_some(()));
                }
                let grown = live.used_memory().saturating_sub(before);
                assert!(grown < 8 << 20, "{grown} bytes were not freed");
            }
        }
        cases.assert_not_only_errors();
    });
}
