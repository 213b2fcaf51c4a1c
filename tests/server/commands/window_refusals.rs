//! Options that are refused: the exact error, and nothing changes.

use bloomline_harness::Setup;

use crate::inspect::{digest, stat, totals};

const WINDOW: &str = "-ERR window must be in the range [1, 9007199254740] seconds";
const TTL: &str = "-ERR TTL must be in the range [1, 9007199254740] seconds";
const GENERATIONS: &str = "-ERR generations must be in the range [2, 64]";
const BOTH: &str = "-ERR WINDOW and LAST exclude each other";
const GROWTH: &str = "-ERR a LAST filter never grows: NONSCALING and EXPANSION do not apply";
const LAYOUT: &str = "-ERR a windowed filter must have LAYOUT BLOOMLINE";
const NO_REFRESH: &str = "-ERR NOREFRESH needs WINDOW, LAST or GENERATIONS";

/// Options that no filter of 20 items can have.
const REFUSED: &[(&str, &str)] = &[
    ("WINDOW 0", WINDOW),
    ("WINDOW -1", WINDOW),
    ("WINDOW 9007199254741", WINDOW),
    // 2^53 and beyond.
    ("WINDOW 9007199254740992", WINDOW),
    ("WINDOW 9223372036854775807", WINDOW),
    ("WINDOW 18446744073709551616", WINDOW),
    ("WINDOW x", WINDOW),
    ("WINDOW 1.5", WINDOW),
    ("WINDOW \"\"", WINDOW),
    ("WINDOW \"60 \"", WINDOW),
    ("WINDOW LAST", WINDOW),
    ("TTL 0", TTL),
    ("TTL -1", TTL),
    ("TTL 9007199254741", TTL),
    ("TTL 9223372036854775807", TTL),
    ("TTL x", TTL),
    ("TTL 0.5", TTL),
    ("GENERATIONS 0", GENERATIONS),
    ("GENERATIONS 1", GENERATIONS),
    ("GENERATIONS 65", GENERATIONS),
    ("GENERATIONS -2", GENERATIONS),
    ("GENERATIONS 4294967298", GENERATIONS),
    ("GENERATIONS 9223372036854775807", GENERATIONS),
    ("GENERATIONS x", GENERATIONS),
    ("GENERATIONS 21", "-ERR 21 generations need a capacity of at least 21"),
    ("WINDOW 5 GENERATIONS 64", "-ERR 64 generations need a capacity of at least 64"),
    ("LAST GENERATIONS 21", "-ERR 21 generations need a capacity of at least 21"),
    ("WINDOW 5 LAST", BOTH),
    ("LAST WINDOW 5", BOTH),
    ("LAST NONSCALING", GROWTH),
    ("NONSCALING LAST", GROWTH),
    ("LAST EXPANSION 2", GROWTH),
    ("EXPANSION 0 LAST", GROWTH),
    ("NOREFRESH", NO_REFRESH),
    ("NOREFRESH TTL 5", NO_REFRESH),
    ("WINDOW 5 LAYOUT REDISBLOOM", LAYOUT),
    ("LAYOUT redisbloom LAST", LAYOUT),
    ("GENERATIONS 3 LAYOUT REDISBLOOM", LAYOUT),
    ("LAYOUT REDISBLOOM NOREFRESH", NO_REFRESH),
    ("WINDOW 5 BOGUS", "-Unknown argument received: 'BOGUS'"),
    ("WINDOWS 5", "-Unknown argument received: 'WINDOWS'"),
    ("LAST 5", "-Unknown argument received: '5'"),
    ("NOREFRESH 5", "-Unknown argument received: '5'"),
];

#[test]
fn refused_options_change_nothing() {
    Setup::new().debug().on_each_server(|mut client, _| {
        client.ok("BF.RESERVE there 0.01 100 WINDOW 500 TTL 500");
        assert_eq!(client.ask("BF.MADD there a b"), "*[:1 :1]");
        let before = (digest(&mut client, "there"), totals(&mut client));
        let mut wrong = String::new();
        for (options, expected) in REFUSED {
            for line in [
                format!("BF.RESERVE missing 0.01 20 {options}"),
                format!("BF.INSERT missing CAPACITY 20 {options} ITEMS a b"),
                format!("BF.INSERT missing {options} NOCREATE CAPACITY 20 ITEMS a b"),
                format!("BF.RESERVE there 0.01 20 {options}"),
                format!("BF.INSERT there {options} CAPACITY 20 ITEMS new"),
            ] {
                let reply = client.ask(&line);
                if reply != *expected {
                    wrong += &format!("\n{line}: {reply}");
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
        assert_eq!(client.ask("DBSIZE"), ":1");
        assert_eq!((digest(&mut client, "there"), totals(&mut client)), before);
    });
}

#[test]
fn a_value_may_be_missing_before_items() {
    Setup::new().on_shared_servers(|mut client, _| {
        // ITEMS is the value.
        assert_eq!(client.ask("BF.INSERT k WINDOW ITEMS a"), WINDOW);
        assert_eq!(client.ask("BF.INSERT k TTL ITEMS a"), TTL);
        assert_eq!(client.ask("BF.INSERT k GENERATIONS ITEMS a"), GENERATIONS);
        assert_eq!(client.ask("DBSIZE"), ":0");
    });
}

#[test]
fn nocreate_creates_nothing() {
    Setup::new().on_shared_servers(|mut client, _| {
        let line = "BF.INSERT k NOCREATE WINDOW 60 TTL 60 ITEMS a";
        assert_eq!(client.ask(line), "-ERR not found");
        assert_eq!(client.ask("EXISTS k"), ":0");
        client.ok("BF.RESERVE k 0.01 100 WINDOW 60");
        assert_eq!(client.ask(line), "*[:1]");
        assert_eq!(client.ask("TTL k"), ":-1");
    });
}

#[test]
fn small_defaults_have_few_generations() {
    Setup::new().module_args("bf-initial-size 7").on_each_server(|mut client, _| {
        let refused = "-ERR 8 generations need a capacity of at least 8";
        assert_eq!(client.ask("BF.INSERT k WINDOW 60 GENERATIONS 8 ITEMS a"), refused);
        assert_eq!(client.ask("EXISTS k"), ":0");
        assert_eq!(client.ask("BF.INSERT k WINDOW 60 ITEMS a"), "*[:1]");
        assert_eq!(client.ask("BF.STATS k generations"), "*[$11 generations :2]");
    });
}

#[test]
fn the_default_layout_may_forbid_forgetting() {
    Setup::new().module_args("bf-layout redisbloom").on_each_server(|mut client, _| {
        for options in ["WINDOW 60", "LAST", "GENERATIONS 3 NOREFRESH"] {
            let reserve = format!("BF.RESERVE k 0.01 100 {options}");
            assert_eq!(client.ask(&reserve), LAYOUT);
            assert_eq!(client.ask(&format!("BF.INSERT k {options} ITEMS a")), LAYOUT);
            assert_eq!(client.ask("EXISTS k"), ":0");
            client.ok(&format!("{reserve} LAYOUT BLOOMLINE"));
            assert_eq!(stat(&mut client, "k", "layout"), "$9 bloomline");
            client.ok("FLUSHALL");
        }
        // A plain filter of this layout can expire.
        client.ok("BF.RESERVE k 0.01 100 TTL 60");
        assert_ne!(client.ask("TTL k"), ":-1");
    });
}

#[test]
fn rotate_refuses_what_it_cannot_rotate() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE window 0.01 100 WINDOW 60");
        client.ok("BF.RESERVE last 0.01 100 LAST");
        client.ok("BF.RESERVE hand 0.01 100 GENERATIONS 3");
        client.ok("BF.RESERVE plain 0.01 100");
        client.ok("BF.RESERVE foreign 0.01 100 LAYOUT REDISBLOOM");
        let keys = ["window", "last", "hand", "plain", "foreign"];
        let before = keys.map(|key| digest(&mut client, key));
        let by_itself =
            "-ERR the filter rotates by itself: only one with GENERATIONS alone is rotated by hand";
        let none = "-ERR the filter has no generations: create it with GENERATIONS, WINDOW or LAST";
        let future = "-ERR AT must not be in the future";
        let bad_time = "-ERR AT needs a Unix time in milliseconds";
        for (line, expected) in [
            ("BF.ROTATE window", by_itself),
            ("BF.ROTATE last", by_itself),
            ("BF.ROTATE plain", none),
            ("BF.ROTATE plain AT 5", none),
            ("BF.ROTATE foreign", none),
            ("BF.ROTATE hand NOW", "-Unknown argument received: 'NOW'"),
            ("BF.ROTATE hand IN 5", "-Unknown argument received: 'IN'"),
            ("BF.ROTATE hand AT x", bad_time),
            ("BF.ROTATE hand AT -1", bad_time),
            ("BF.ROTATE hand AT 1.5", bad_time),
            ("BF.ROTATE hand AT 18446744073709551615", bad_time),
            ("BF.ROTATE hand AT 9223372036854775807", future),
            ("BF.ROTATE window AT 9223372036854775807", future),
            ("BF.ROTATE last AT 99999999999999", future),
        ] {
            assert_eq!(client.ask(line), expected, "{line}");
        }
        assert_eq!(keys.map(|key| digest(&mut client, key)), before);
        assert_eq!(client.ask("DBSIZE"), ":5");
        assert_eq!(stat(&mut client, "hand", "layers"), ":1");
    });
}
