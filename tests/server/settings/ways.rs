//! Each setting by each way in: load argument, configuration file, the server's command line,
//! MODULE LOADEX, CONFIG SET, and a file that CONFIG REWRITE has written.
//!
//! Redis 6.2 has no settings of modules: it takes load arguments only.

use bloomline_harness::{Client, Kind, Server, Setup, Stop, for_each_server, module_for};
use bloomline_reference::life::choices::Choices;

use super::table::{SETTINGS, Settings, defaults, effects, read, setting};

/// The halves of the settings with other values, and all of them: a setting that is set must not
/// change one that is not. Among all, the sizes of cuckoo filters are valid only together.
fn selections() -> [Settings; 3] {
    let others = || SETTINGS.iter().map(|row| (row.name.to_owned(), row.values[1].0.to_owned()));
    let half = |part| others().skip(part).step_by(2).collect();
    let mut all: Settings = others().collect();
    all.extend(
        [("cf-bucket-size", "1"), ("cf-initial-size", "2")]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    [half(0), half(1), all]
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

/// The ways of a server. The first one is that of all servers.
fn ways(kind: &Kind) -> &'static [&'static str] {
    const WAYS: [&str; 7] = [
        "load arguments",
        "file",
        "file, behind the module",
        "command line",
        "LOADEX CONFIG",
        "LOADEX ARGS",
        "CONFIG SET",
    ];
    if kind.is_before_7() { &WAYS[..1] } else { &WAYS }
}

/// Asserts that a server has the settings, as far as it lists any, and that its filters show what
/// others with these settings do.
fn assert_set(server: &Server, expected: &Settings, made: &mut Option<Vec<String>>, way: &str) {
    let (kind, mut client) = (&server.kind, server.resp2());
    if !kind.is_before_7() {
        assert_eq!(read(kind, &mut client), *expected, "{way}");
    }
    let found = effects(&mut client);
    assert_eq!(*made.get_or_insert_with(|| found.clone()), found, "{way}");
}

#[test]
fn each_setting_counts_by_each_way_in() {
    for_each_server(|kind| {
        assert_set(&Setup::new().start(kind), &defaults(), &mut None, "no setting");
        for settings in selections() {
            let mut expected = defaults();
            expected.extend(settings.clone());
            let mut made = None;
            for way in ways(kind) {
                let mut server = start(kind, way, &settings);
                assert_set(&server, &expected, &mut made, way);
                // A file that the server has written itself, twice.
                for _ in 0..2 {
                    server.resp2().ok("CONFIG REWRITE");
                    server.restart(Stop::NoSave);
                    assert_set(&server, &expected, &mut made, &format!("{way}, rewritten"));
                }
            }
        }
    });
}

/// Random values of up to `most` settings: each is valid alone, or one in eight is not.
fn any_settings(choices: &mut Choices, most: u64, are_valid: bool) -> Settings {
    let names = SETTINGS.map(|row| row.name);
    let mut chosen = Settings::new();
    for _ in 0..choices.within(1..=most) {
        // Half of them are those that bound each other.
        let among =
            if choices.one_in(2) { &["cf-initial-size", "cf-bucket-size"] } else { &names[..] };
        let name = choices.of(among);
        let row = setting(name);
        let refused = [row.outside, row.unreadable].concat();
        let value = match !are_valid && choices.one_in(8) {
            true => choices.of(&refused),
            false => choices.of(row.values).0,
        };
        chosen.insert(name.to_owned(), value.to_owned());
    }
    chosen
}

/// What the settings are after a change; none if it must be refused.
fn after(before: &Settings, change: &Settings) -> Option<Settings> {
    let mut settings = before.clone();
    settings.extend(change.clone());
    let is_valid =
        |(name, value): (&String, &String)| setting(name).values.iter().any(|it| it.0 == value);
    let are_valid = change.iter().all(is_valid);
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
        let change = any_settings(choices, 4, false);
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
        assert_eq!(read(kind, client), settings, "{pairs:?}: {reply}");
    }
    settings
}

#[test]
fn what_config_set_accepts_a_restart_accepts() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            return;
        }
        let (mut choices, mut counts) = (Choices::of_seed(62), [0; 2]);
        for way in ways(kind) {
            // Until the way has taken some.
            let (mut server, mut settings) = loop {
                let given = any_settings(&mut choices, 6, true);
                match (try_start(kind, way, &given), after(&defaults(), &given)) {
                    (Ok(server), Some(settings)) => break (server, settings),
                    (Err(refusal), None) => assert!(refusal.contains("in the range"), "{refusal}"),
                    (started, _) => panic!("{way}: {given:?}: {:?}", started.err()),
                }
            };
            for _ in 0..2 {
                let mut client = server.resp2();
                settings = set_some(kind, &mut client, &mut choices, settings, &mut counts);
                // What refused calls have undone has no effect.
                let mut made = Some(effects(&mut client));
                client.ok("CONFIG REWRITE");
                server.restart(Stop::NoSave);
                assert_set(&server, &settings, &mut made, way);
            }
        }
        assert!(counts.iter().all(|&count| count > 50), "refused and accepted: {counts:?}");
    });
}
