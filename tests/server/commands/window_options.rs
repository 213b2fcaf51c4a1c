//! The options of BF.RESERVE and BF.INSERT: in any order, in any case, repeated, and their
//! defaults.

use bloomline_harness::{Client, Clock, Replica, Setup, for_each_server, int};

use crate::inspect::{digest, stat};
use crate::windowed::{RATE, REFRESHES, header};

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
        stat(client, key, "window"),
        stat(client, key, "generations"),
        stat(client, key, "expansion"),
        stat(client, key, "capacity"),
        format!("refreshes {refreshes}"),
        ttl,
    ]
}

#[test]
fn options_have_any_order_and_case() {
    Setup::new().on_shared_servers(|mut client, _| {
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
    Setup::new().on_shared_servers(|mut client, _| {
        let options = "WINDOW 5 GENERATIONS 3 WINDOW 60 NOREFRESH NOREFRESH GENERATIONS 5";
        client.ok(&format!("BF.RESERVE k 0.01 1000 {options}"));
        let line = format!("BF.INSERT l CAPACITY 10 {options} CAPACITY 1000 ITEMS WINDOW LAST");
        assert_eq!(client.ask(&line), "*[:1 :1]");
        for key in ["k", "l"] {
            let expected = [":60", ":5", ":2", ":1000", "refreshes 0", "none"];
            assert_eq!(seen(&mut client, key), expected);
        }
        assert_eq!(client.ask("BF.INSERT m LAST LAST CAPACITY 50 ITEMS a"), "*[:1]");
        assert_eq!(stat(&mut client, "m", "window"), "$4 LAST");
    });
}

#[test]
fn each_window_has_its_defaults() {
    Setup::new().on_shared_servers(|mut client, _| {
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
            client.ok(&format!("BF.RESERVE k 0.01 10000 {options}"));
            let line = format!("BF.INSERT l CAPACITY 10000 {options} ITEMS a");
            assert_eq!(client.ask(&line), "*[:1]", "{line}");
            for key in ["k", "l"] {
                let found = &seen(&mut client, key)[..4];
                assert_eq!(found, [window, generations, expansion, ":10000"], "{options}");
                assert_eq!(stat(&mut client, key, "layers"), ":1");
            }
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn settings_are_the_defaults_of_insert() {
    for_each_server(|kind| {
        let settings = "bf-initial-size 5000 bf-error-rate 0.001 bf-expansion-factor 0";
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
            assert_eq!(seen(&mut client, "k")[..4], [window, ":8", expansion, ":5000"]);
            assert_eq!(stat(&mut client, "k", "error_rate"), "$5 0.001");
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn insert_into_an_existing_key_keeps_its_options() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE k 0.01 100 WINDOW 60 GENERATIONS 4 TTL 500");
        let before = seen(&mut client, "k");
        let line = "BF.INSERT k CAPACITY 9 WINDOW 60 GENERATIONS 4 TTL 9 ITEMS a b";
        assert_eq!(client.ask(line), "*[:1 :1]");
        assert_eq!(seen(&mut client, "k")[..5], before[..5]);
        assert!(int(&client.call("PTTL k")) > 400_000);
        assert_eq!(client.ask("BF.ADD plain a"), ":1");
        assert_eq!(client.ask("BF.INSERT plain TTL 5 ITEMS a b"), "*[:0 :1]");
        assert_eq!(client.ask("TTL plain"), ":-1");
    });
}

#[test]
fn insert_accepts_the_window_of_an_existing_filter() {
    Setup::new().on_shared_servers(|mut client, _| {
        // How the filter is created, and the options of calls that find it.
        for (options, calls) in [
            ("WINDOW 60", ["WINDOW 60", "WINDOW 60 GENERATIONS 8", ""]),
            ("WINDOW 60 GENERATIONS 4", ["WINDOW 60", "WINDOW 60 GENERATIONS 4", ""]),
            ("WINDOW 60 NOREFRESH", ["WINDOW 60", "WINDOW 60 NOREFRESH", ""]),
            ("LAST", ["LAST", "LAST GENERATIONS 8", ""]),
            ("GENERATIONS 4", ["GENERATIONS 4", "GENERATIONS 4 TTL 5", ""]),
        ] {
            // A call that creates the filter is accepted again.
            for call in [options].iter().chain(&calls) {
                let line = format!("BF.INSERT k CAPACITY 10000 ERROR {RATE} {options} ITEMS a");
                assert_eq!(client.ask(&line), "*[:1]", "{options}");
                assert_eq!(client.ask(&format!("BF.INSERT k {call} ITEMS a b")), "*[:0 :1]");
                let nocreate = format!("BF.INSERT k NOCREATE {call} ITEMS b");
                assert_eq!(client.ask(&nocreate), "*[:0]", "{options}: {call}");
                client.ok("FLUSHALL");
            }
        }
    });
}

#[test]
fn insert_refuses_another_window_than_the_filters() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        // How the filter is created, the options of a call, and both in its error.
        for (options, call, has, requested) in [
            ("", "WINDOW 60", "without a window", "WINDOW 60"),
            ("", "LAST", "without a window", "LAST"),
            ("", "GENERATIONS 8", "without a window", "GENERATIONS alone"),
            ("LAYOUT REDISBLOOM", "WINDOW 60", "without a window", "WINDOW 60"),
            ("WINDOW 60", "WINDOW 61", "with WINDOW 60", "WINDOW 61"),
            ("WINDOW 60", "LAST", "with WINDOW 60", "LAST"),
            ("WINDOW 60", "GENERATIONS 8", "with WINDOW 60", "GENERATIONS alone"),
            ("WINDOW 60", "WINDOW 60 GENERATIONS 4", "with GENERATIONS 8", "GENERATIONS 4"),
            ("WINDOW 60", "WINDOW 60 NOREFRESH", "without NOREFRESH", "NOREFRESH"),
            ("LAST", "WINDOW 60", "with LAST", "WINDOW 60"),
            ("LAST GENERATIONS 2", "LAST GENERATIONS 3", "with GENERATIONS 2", "GENERATIONS 3"),
            ("GENERATIONS 4", "WINDOW 60 GENERATIONS 4", "with GENERATIONS alone", "WINDOW 60"),
            ("GENERATIONS 4", "GENERATIONS 5", "with GENERATIONS 4", "GENERATIONS 5"),
        ] {
            client.ok(&format!("BF.RESERVE k {RATE} 10000 {options}"));
            assert_eq!(client.ask("BF.ADD k a"), ":1");
            let before = digest(&mut client, "k");
            let error = format!(
                "-ERR the filter exists {has}, but the call has {requested}: use the options of \
                 the filter, or another key"
            );
            for create in ["", "NOCREATE"] {
                let layout = "LAYOUT BLOOMLINE";
                let line = format!("BF.INSERT k {create} {layout} {call} TTL 5 ITEMS a b");
                assert_eq!(client.ask(&line), error, "{options}: {line}");
            }
            assert_eq!(digest(&mut client, "k"), before, "{options}: {call}");
            assert_eq!(client.ask("TTL k"), ":-1");
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn refused_window_neither_rotates_nor_replicates() {
    for_each_server(|kind| {
        let clock = Clock::new();
        let setup = Setup::new().debug();
        let server = setup.clock(&clock).start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.01 64 WINDOW 8000");
        let mut replica = Replica::attach(&server);
        // A rotation is due.
        clock.advance(1100);
        let before = digest(&mut client, "k");
        assert!(client.ask("BF.INSERT k WINDOW 60 ITEMS a").starts_with("-ERR the filter exists"));
        assert_eq!(digest(&mut client, "k"), before);
        assert_eq!(replica.lines(&server), [""; 0]);
    });
}
