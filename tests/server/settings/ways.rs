//! Each setting by each way in: load argument, configuration file, the server's command line,
//! MODULE LOADEX, CONFIG SET, and a file that CONFIG REWRITE has written.
//!
//! The settings are those that a server with the module lists, so a new one is tested as well.
//! Redis 6.2 lists none, and takes load arguments only: `load_arguments` and `cuckoo` have those.

use std::collections::BTreeMap;

use bloomline_harness::{Client, Kind, Server, Setup, Stop, module_for};
use bloomline_reference::life::choices::Choices;
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
    try_start(kind, way, settings).unwrap_or_else(|refusal| panic!("{way}: {refusal}"))
}

/// The same, or why there is none.
fn try_start(kind: &Kind, way: &str, settings: &Settings) -> Result<Server, String> {
    let pairs = |name: fn(&Kind, &str) -> String, before: &str| {
        let words =
            settings.iter().map(|(key, value)| format!("{before}{} {value}", name(kind, key)));
        words.collect::<Vec<String>>()
    };
    let argument: fn(&Kind, &str) -> String = |_, name| name.to_owned();
    let directives = |before: &str| pairs(Kind::directive, before);
    match way {
        "load arguments" => {
            Setup::new().module_args(&pairs(argument, "").join(" ")).try_start(kind)
        }
        // The settings before the line that loads the module, and behind it.
        "file" => directives("").iter().fold(Setup::new(), Setup::line).try_start(kind),
        "file, behind the module" => {
            let setup =
                Setup::new().bare().line(format!("loadmodule {}", module_for(kind).display()));
            directives("").iter().fold(setup, Setup::line).try_start(kind)
        }
        "command line" => {
            let options = directives("--");
            options.iter().fold(Setup::new(), |setup, option| setup.option(option)).try_start(kind)
        }
        "LOADEX CONFIG" | "LOADEX ARGS" => {
            let server = Setup::new().bare().line("enable-module-command yes").start(kind);
            let words = match way {
                "LOADEX ARGS" => format!("ARGS {}", pairs(argument, "").join(" ")),
                _ => directives("CONFIG ").join(" "),
            };
            let load = format!("MODULE LOADEX {} {words}", module_for(kind).display());
            taken(server, &load)
        }
        "CONFIG SET" => {
            taken(Setup::new().start(kind), &format!("CONFIG SET {}", directives("").join(" ")))
        }
        other => panic!("no way {other}"),
    }
}

/// The server after a call, or the error reply and the log.
fn taken(server: Server, call: &str) -> Result<Server, String> {
    let reply = server.resp2().ask(call);
    if reply == "+OK" { Ok(server) } else { Err(format!("{reply}\n{}", server.log())) }
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

/// Values of a setting: those that are valid, whatever the others are, and those that never are.
fn values(name: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match name {
        "bf-error-rate" | "cf-error-rate" | "bloom-tightening-ratio" => {
            (&["0.25", "0.1", "0.001", "1e-5"], &["0", "1", "-0.1", "x"])
        }
        "bf-initial-size" => (&["1", "77", "1073741824"], &["0", "1073741825", "-1"]),
        "bf-expansion-factor" | "cf-expansion-factor" => {
            (&["0", "1", "4", "32768"], &["32769", "-1", "2x"])
        }
        "bf-max-filter-bytes" => (&["0", "1gb", "67108864", "3Mb"], &["-1", "1x", "gb"]),
        "bf-layout" => (&["bloomline", "redisbloom", "valkey-bloom"], &["other", "1"]),
        "cf-layout" => (&["bloomline", "redisbloom"], &["valkey-bloom", "x"]),
        "cf-initial-size" => {
            (&["2", "3", "4", "8", "20", "509", "510", "1024", "1073741824"], &["1", "0", "-8"])
        }
        "cf-bucket-size" => (&["1", "2", "3", "4", "10", "100", "254", "255"], &["0", "256", "-1"]),
        "cf-max-iterations" => (&["1", "65535"], &["0", "65536"]),
        "cf-max-expansions" => (&["1", "65536"], &["0", "65537"]),
        "bloom-use-random-seed" | "bloom-defrag-enabled" => (&["yes", "no"], &["maybe", "1"]),
        other => panic!("a setting that this test does not know: {other}"),
    }
}

/// Random values of up to `most` settings: each is valid alone, or one in eight is not.
fn any_settings(choices: &mut Choices, all: &Settings, most: u64, are_valid: bool) -> Settings {
    let names: Vec<&str> = all.keys().map(String::as_str).collect();
    let mut chosen = Settings::new();
    for _ in 0..choices.within(1..=most) {
        // Half of them are those that bound each other.
        let among =
            if choices.one_in(2) { &["cf-initial-size", "cf-bucket-size"] } else { &names[..] };
        let name = choices.of(among);
        let (valid, invalid) = values(name);
        let from = if !are_valid && choices.one_in(8) { invalid } else { valid };
        let value = choices.of(from);
        chosen.insert(name.to_owned(), value.to_owned());
    }
    chosen
}

/// What the settings are after a change; none if it must be refused.
fn after(before: &Settings, change: &Settings) -> Option<Settings> {
    let mut settings = before.clone();
    settings.extend(change.clone());
    let are_valid = change.iter().all(|(name, value)| values(name).0.contains(&value.as_str()));
    let number = |name: &str| settings[name].parse::<u64>().expect("a number");
    let are_in_range = || 2 * number("cf-bucket-size") <= number("cf-initial-size");
    (are_valid && are_in_range()).then_some(settings)
}

/// Random calls of CONFIG SET, with settings in any order. Returns what the settings are then, and
/// counts the refused calls, which change none, and the accepted ones.
fn set_some(
    kind: &Kind,
    client: &mut Client,
    choices: &mut Choices,
    mut settings: Settings,
    counts: &mut [u64; 2],
) -> Settings {
    for _ in 0..30 {
        let change = any_settings(choices, &settings, 4, false);
        let mut pairs: Vec<String> = change
            .iter()
            .map(|(name, value)| format!("{} {value}", kind.directive(name)))
            .collect();
        // The server sets them in this order.
        if choices.one_in(2) {
            pairs.reverse();
        }
        let reply = client.ask(&format!("CONFIG SET {}", pairs.join(" ")));
        let expected = after(&settings, &change);
        counts[usize::from(expected.is_some())] += 1;
        assert_eq!(reply == "+OK", expected.is_some(), "{pairs:?} in {settings:?}: {reply}");
        settings = expected.unwrap_or(settings);
        assert_eq!(read(client), settings, "{pairs:?}: {reply}");
    }
    settings
}

#[test]
fn what_config_set_accepts_a_restart_accepts() {
    for_each_server_with_settings(|kind| {
        let defaults = read(&mut Setup::new().start(kind).resp2());
        let (mut choices, mut counts) = (Choices::of_seed(62), [0; 2]);
        for way in WAYS {
            // Until the way has taken some.
            let (mut server, mut settings) = loop {
                let given = any_settings(&mut choices, &defaults, 6, true);
                match (try_start(kind, way, &given), after(&defaults, &given)) {
                    (Ok(server), Some(settings)) => break (server, settings),
                    (Err(refusal), None) => assert!(refusal.contains("in the range"), "{refusal}"),
                    (started, _) => panic!("{way}: {given:?}: {:?}", started.err()),
                }
            };
            for _ in 0..2 {
                assert_eq!(read(&mut server.resp2()), settings, "{way}");
                let mut client = server.resp2();
                settings = set_some(kind, &mut client, &mut choices, settings, &mut counts);
                client.ok("CONFIG REWRITE");
                server.restart(Stop::NoSave);
            }
            assert_eq!(read(&mut server.resp2()), settings, "{way}");
        }
        assert!(counts.iter().all(|&count| count > 50), "refused and accepted: {counts:?}");
    });
}
