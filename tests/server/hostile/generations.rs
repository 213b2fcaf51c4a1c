//! Headers of version 2 with chosen numbers: refused, or a filter that works.

use bloomline_harness::{Client, Setup, matches, numbered};

use crate::windowed::{DROPPED_BYTES, GENERATION_BYTES, GENERATIONS, NUMBER, RATE, header};
use crate::windowed::{number_at, present, set_number};

/// A server whose filters take 1 MiB at most.
fn setup() -> Setup {
    Setup::new().debug().module_args("bf-max-filter-bytes 1mb")
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
pub fn use_filter(client: &mut Client, key: &str, case: &str) {
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
        let dump = client.dump(key);
        assert_eq!(client.restore("back", &dump), "+OK", "{case}: round {round}");
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
    setup().on_each_server(|mut client, _| {
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

/// Makes the bytes of a generation those of one that has one item, which is live.
fn set_one_item(header: &mut [u8], generation: usize) {
    for field in [8, 16] {
        set_number(header, GENERATIONS + GENERATION_BYTES * generation + field, 1);
    }
}

#[test]
fn full_filter_that_cannot_grow_ends_its_reply() {
    setup().on_each_server(|mut client, _| {
        client.ok(&format!("BF.RESERVE k {RATE} 8 LAST GENERATIONS 2 NOREFRESH"));
        client.items("BF.MADD", "k", &numbered("item", 12));
        let mut forged = header(&mut client, "k");
        assert_eq!(present(&forged), 3);
        // Newer generations do not hold the items of a window, so the oldest is kept.
        set_one_item(&mut forged, 0);
        set_one_item(&mut forged, 1);
        assert_eq!(client.loadchunk("forged", 1, &forged), "+OK");
        let full = "*[-ERR non scaling filter is full]";
        for line in ["BF.MADD forged a b c", "BF.INSERT forged ITEMS a b c"] {
            assert_eq!(client.ask(line), full, "{line}");
            assert_eq!(client.ask("ECHO next"), "$4 next", "{line}");
        }
        client.ok("MULTI");
        assert_eq!(client.ask("BF.MADD forged a b c"), "+QUEUED");
        assert_eq!(client.ask("EXEC"), format!("*[{full}]"));
        // A reply that is shorter than its head makes all later scripts fail.
        let script = "redis.pcall('BF.MADD', KEYS[1], 'a', 'b', 'c') return 1";
        for _ in 0..2 {
            assert_eq!(client.ask(&format!("EVAL \"{script}\" 1 forged")), ":1");
        }
    });
}

#[test]
fn rotation_without_offsets_left_is_not_called_lack_of_memory() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE k 0.01 100 GENERATIONS 2");
        let mut header = header(&mut client, "k");
        // The bits end at 2^62, the last offset there is, after a few more generations.
        set_number(&mut header, DROPPED_BYTES, (1 << 62) - 4096);
        assert_eq!(client.loadchunk("late", 1, &header), "+OK");
        let mut rotations = (0..100).map(|_| client.ask("BF.ROTATE late"));
        let refused = rotations.find(|reply| reply != "+OK").expect("a refusal");
        let expected = "-ERR could not rotate filter: a filter of <n> bytes exceeds a limit";
        assert!(matches(expected, &refused), "{refused}");
    });
}
