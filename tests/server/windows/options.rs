//! The options of BF.RESERVE and BF.INSERT: in any order, in any case, repeated, and their defaults.

use bloomline_harness::{Client, Setup, for_each_build, for_each_server, int};

use super::fixture::{REFRESHES, header, info};

/// Every order of the options.
fn orders(options: &[&str]) -> Vec<String> {
    let [first, rest @ ..] = options else { return vec![String::new()] };
    let mut all = Vec::new();
    for order in orders(rest) {
        let others: Vec<&str> = order.split('|').filter(|option| !option.is_empty()).collect();
        for at in 0..=others.len() {
            all.push([&others[..at], &[first], &others[at..]].concat().join("|"));
        }
    }
    all
}

/// What BF.INFO and the header show of the options.
fn seen(client: &mut Client, key: &str) -> [String; 6] {
    let refreshes = header(client, key)[REFRESHES];
    // Rounded up to 1000 seconds, because some may have passed.
    let ttl = match int(&client.call(&format!("PTTL {key}"))) {
        -1 => "none".to_owned(),
        left => format!("{} s", (left as u64).div_ceil(1_000_000) * 1000),
    };
    [
        info(client, key, "WINDOW"),
        info(client, key, "GENERATIONS"),
        info(client, key, "EXPANSION"),
        info(client, key, "CAPACITY"),
        format!("refreshes {refreshes}"),
        ttl,
    ]
}

#[test]
fn options_have_any_order_and_case() {
    for_each_build(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        let options = ["window 3600", "GENERATIONS 4", "NoRefresh", "TTL 7000", "Expansion 3"];
        let expected = [":3600", ":4", ":3", ":1000", "refreshes 0", "7000 s"];
        for order in orders(&options) {
            let order = order.replace('|', " ");
            for line in [
                format!("BF.RESERVE k 0.01 1000 {order}"),
                format!("BF.RESERVE k 0.01 1000 LAYOUT bloomline {order}"),
                format!("BF.INSERT k capacity 1000 {order} ITEMS a"),
                format!("BF.INSERT k {order} LAYOUT BLOOMLINE Capacity 1000 items a"),
            ] {
                let reply = client.ask(&line);
                assert!(["+OK", "*[:1]"].contains(&reply.as_str()), "{line}: {reply}");
                assert_eq!(seen(&mut client, "k"), expected, "{line}");
                client.ok("FLUSHALL");
            }
        }
    });
}

#[test]
fn the_last_of_repeated_options_counts() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        let options = "WINDOW 5 GENERATIONS 3 WINDOW 60 NOREFRESH NOREFRESH GENERATIONS 5";
        client.ok(&format!("BF.RESERVE k 0.01 1000 {options}"));
        let line = format!("BF.INSERT l CAPACITY 10 {options} CAPACITY 1000 ITEMS WINDOW LAST");
        assert_eq!(client.ask(&line), "*[:1 :1]");
        for key in ["k", "l"] {
            let expected = [":60", ":5", ":2", ":1000", "refreshes 0", "none"];
            assert_eq!(seen(&mut client, key), expected);
        }
        assert_eq!(client.ask("BF.INSERT m LAST LAST CAPACITY 50 ITEMS a"), "*[:1]");
        assert_eq!(info(&mut client, "m", "WINDOW"), "$4 LAST");
    });
}

#[test]
fn option_names_after_items_are_items() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        let line = "BF.INSERT k ITEMS WINDOW LAST GENERATIONS NOREFRESH TTL";
        assert_eq!(client.ask(line), "*[:1 :1 :1 :1 :1]");
        assert_eq!(info(&mut client, "k", "WINDOW"), "_");
        assert_eq!(client.ask("BF.EXISTS k TTL"), ":1");
        assert_eq!(client.ask("PTTL k"), ":-1");
    });
}

#[test]
fn each_window_has_its_defaults() {
    for_each_build(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (options, window, generations, expansion) in [
            ("WINDOW 1", ":1", ":8", ":2"),
            ("WINDOW 9007199254740 GENERATIONS 64", ":9007199254740", ":64", ":2"),
            ("WINDOW 60 NONSCALING", ":60", ":8", "_"),
            ("WINDOW 60 EXPANSION 0", ":60", ":8", "_"),
            ("WINDOW 60 EXPANSION 32768", ":60", ":8", ":32768"),
            ("LAST", "$4 LAST", ":8", ":2"),
            ("LAST GENERATIONS 2", "$4 LAST", ":2", ":2"),
            ("GENERATIONS 2", "$6 MANUAL", ":2", ":2"),
            ("GENERATIONS 64 NONSCALING", "$6 MANUAL", ":64", "_"),
            ("TTL 60", "_", "_", ":2"),
        ] {
            client.ok(&format!("BF.RESERVE k 0.01 64 {options}"));
            let line = format!("BF.INSERT l CAPACITY 64 {options} ITEMS a");
            assert_eq!(client.ask(&line), "*[:1]", "{line}");
            for key in ["k", "l"] {
                let found = &seen(&mut client, key)[..4];
                assert_eq!(found, [window, generations, expansion, ":64"], "{options}");
                assert_eq!(info(&mut client, key, "FILTERS"), ":1");
            }
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn settings_are_the_defaults_of_insert() {
    for_each_server(|kind| {
        let settings = "bf-initial-size 500 bf-error-rate 0.001 bf-expansion-factor 0";
        let server = Setup::new().module_args(settings).start(kind);
        let mut client = server.resp2();
        for (options, window, expansion) in [
            ("WINDOW 60", ":60", "_"),
            ("GENERATIONS 8", "$6 MANUAL", "_"),
            // It never refuses items.
            ("LAST", "$4 LAST", ":2"),
        ] {
            let line = format!("BF.INSERT {window} {options} ITEMS a");
            assert_eq!(client.ask(&line.replacen(window, "k", 1)), "*[:1]");
            assert_eq!(seen(&mut client, "k")[..4], [window, ":8", expansion, ":500"]);
            assert_eq!(info(&mut client, "k", "ERROR"), "$5 0.001");
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn insert_into_an_existing_key_ignores_options() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.01 100 WINDOW 60 TTL 500");
        let before = seen(&mut client, "k");
        let line = "BF.INSERT k CAPACITY 7 LAST GENERATIONS 3 NOREFRESH TTL 9 ITEMS a b";
        assert_eq!(client.ask(line), "*[:1 :1]");
        assert_eq!(seen(&mut client, "k")[..5], before[..5]);
        assert!(int(&client.call("PTTL k")) > 400_000);
        // A plain filter stays one.
        assert_eq!(client.ask("BF.ADD plain a"), ":1");
        assert_eq!(client.ask("BF.INSERT plain WINDOW 5 TTL 5 ITEMS a b"), "*[:0 :1]");
        assert_eq!(info(&mut client, "plain", "WINDOW"), "_");
        assert_eq!(client.ask("TTL plain"), ":-1");
    });
}

#[test]
fn plain_filters_keep_version_1() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE plain 0.01 100");
        client.ok("BF.RESERVE expiring 0.01 100 TTL 100");
        client.ok("BF.RESERVE window 0.01 100 WINDOW 100");
        for key in ["plain", "expiring"] {
            let header = header(&mut client, key);
            assert_eq!((header.len(), header[8], header[9]), (64, 1, 0), "{key}");
        }
        let header = header(&mut client, "window");
        assert_eq!((header.len() % 64, header.len() >= 128, header[8]), (0, true, 2));
    });
}
