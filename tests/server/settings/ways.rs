//! Each setting by each way in: load argument, configuration file, the server's command line,
//! MODULE LOADEX, CONFIG SET, and a file that CONFIG REWRITE has written.
//!
//! The settings are those that a server with the module lists, so a new one is tested as well.
//! Redis 6.2 lists none, and takes load arguments only: `load_arguments` and `cuckoo` have those.

use std::collections::BTreeMap;

use bloomline_harness::{Client, Kind, Server, Setup, Stop, module_for};
use redis::Value;

use super::for_each_server_with_settings;
use crate::inspect::text;

/// Names, without the prefix of the server, and values.
type Settings = BTreeMap<String, String>;

/// All settings of the module with their values.
fn read(client: &mut Client) -> Settings {
    let Value::Array(reply) = client.call("CONFIG GET *") else { panic!("no array") };
    let texts: Vec<String> = reply.iter().map(text).collect();
    let (pairs, rest) = texts.as_chunks::<2>();
    assert!(rest.is_empty());
    let bare = |name: &str| name.strip_prefix("bf.").unwrap_or(name).to_owned();
    let own = |name: &str| ["bf-", "cf-", "bloom-"].iter().any(|start| name.starts_with(start));
    let pairs = pairs.iter().map(|[name, value]| (bare(name), value.clone()));
    pairs.filter(|(name, _)| own(name)).collect()
}

/// Another valid value of a setting with this default.
fn other(default: &str) -> String {
    match (default, default.parse::<u64>(), default.parse::<f64>()) {
        ("yes", ..) => "no".to_owned(),
        ("no", ..) => "yes".to_owned(),
        ("bloomline", ..) => "redisbloom".to_owned(),
        // A number of bytes.
        (_, Ok(0), _) => "67108864".to_owned(),
        (_, Ok(number), _) => (2 * number + 2).to_string(),
        (_, _, Ok(number)) => (number / 2.0).to_string(),
        _ => panic!("a kind of setting that this test does not know: {default}"),
    }
}

/// The halves of the settings with other values, and all of them: a setting that is set must not
/// change one that is not.
fn selections(defaults: &Settings) -> Vec<Settings> {
    let of = |part: usize| {
        let pairs = defaults.iter().enumerate().filter(|(index, _)| part == 2 || index % 2 == part);
        pairs.map(|(_, (name, default))| (name.clone(), other(default))).collect()
    };
    vec![of(0), of(1), of(2)]
}

/// Filters that depend on the settings, as replies that show them.
fn effects(client: &mut Client) -> Vec<String> {
    client.call("FLUSHALL");
    let calls = [
        "BF.ADD bloom item",
        "CF.ADD cuckoo item",
        "BF.INSERT fixed TIGHTENING 0.5 ITEMS item",
        "BF.RESERVE large 0.01 1000000000",
        "BF.INFO bloom",
        "BF.DEBUG bloom",
        "CF.INFO cuckoo",
        "CF.DEBUG cuckoo",
        "BF.INFO fixed",
    ];
    // The largest filter is that of the machine's memory, which is not the same from call to call.
    calls.map(|call| client.ask(call).chars().take(200).collect()).to_vec()
}

/// A server that got the settings, by one of the ways.
fn start(kind: &Kind, way: &str, settings: &Settings) -> Server {
    let pairs = |name: fn(&Kind, &str) -> String, before: &str| {
        let words =
            settings.iter().map(|(key, value)| format!("{before}{} {value}", name(kind, key)));
        words.collect::<Vec<String>>()
    };
    let argument: fn(&Kind, &str) -> String = |_, name| name.to_owned();
    let directives = |before: &str| pairs(Kind::directive, before);
    match way {
        "load arguments" => Setup::new().module_args(&pairs(argument, "").join(" ")).start(kind),
        // The settings before the line that loads the module, and behind it.
        "file" => directives("").iter().fold(Setup::new(), Setup::line).start(kind),
        "file, behind the module" => {
            let setup =
                Setup::new().bare().line(format!("loadmodule {}", module_for(kind).display()));
            directives("").iter().fold(setup, Setup::line).start(kind)
        }
        "command line" => {
            let options = directives("--");
            options.iter().fold(Setup::new(), |setup, option| setup.option(option)).start(kind)
        }
        "LOADEX CONFIG" | "LOADEX ARGS" => {
            let server = Setup::new().bare().line("enable-module-command yes").start(kind);
            let words = match way {
                "LOADEX ARGS" => format!("ARGS {}", pairs(argument, "").join(" ")),
                _ => directives("CONFIG ").join(" "),
            };
            server.resp2().ok(&format!("MODULE LOADEX {} {words}", module_for(kind).display()));
            server
        }
        "CONFIG SET" => {
            let server = Setup::new().start(kind);
            server.resp2().ok(&format!("CONFIG SET {}", directives("").join(" ")));
            server
        }
        other => panic!("no way {other}"),
    }
}

/// The ways of servers from 7.0 on.
const WAYS: [&str; 7] = [
    "load arguments",
    "file",
    "file, behind the module",
    "command line",
    "LOADEX CONFIG",
    "LOADEX ARGS",
    "CONFIG SET",
];

#[test]
fn each_setting_counts_by_each_way_in() {
    for_each_server_with_settings(|kind| {
        let defaults = read(&mut Setup::new().start(kind).resp2());
        assert!(defaults.len() > 10, "{defaults:?}");
        for settings in selections(&defaults) {
            let mut expected = defaults.clone();
            expected.extend(settings.clone());
            let mut made = None;
            for way in WAYS {
                let mut server = start(kind, way, &settings);
                let mut client = server.resp2();
                assert_eq!(read(&mut client), expected, "{way}");
                let found = effects(&mut client);
                assert_eq!(*made.get_or_insert(found.clone()), found, "{way}");
                // A file that the server has written itself, twice.
                for _ in 0..2 {
                    server.resp2().ok("CONFIG REWRITE");
                    server.restart(Stop::NoSave);
                    let mut client = server.resp2();
                    assert_eq!(read(&mut client), expected, "{way}, rewritten");
                    assert_eq!(effects(&mut client), found, "{way}, rewritten");
                }
            }
        }
    });
}
