//! Settings for good: kept by CONFIG REWRITE, refused with the range, left out on servers without
//! them.

use redis::Value;

use crate::harness::{Client, Kind, Setup, Stop, for_each_server, module, show};

/// The settings, and values that are not their defaults.
const SETTINGS: [(&str, &str); 4] = [
    ("bf-error-rate", "0.004"),
    ("bf-initial-size", "7"),
    ("bf-expansion-factor", "3"),
    ("bf-max-filter-bytes", "5mb"),
];

/// Runs the test where modules can register settings, which Redis 6.2 does not know.
fn for_each_server_with_settings(test: impl Fn(&Kind) + Sync) {
    for_each_server(|kind| {
        if !kind.is_before_7() {
            test(kind);
        }
    });
}

/// The name that CONFIG knows a setting by, with its value.
fn get(client: &mut Client, setting: &str) -> (String, String) {
    let reply = client.call(&format!("CONFIG GET *{setting}"));
    let text = |value: &Value| match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => panic!("expected a text, got {}", show(other)),
    };
    match &reply {
        Value::Array(pair) if pair.len() == 2 => (text(&pair[0]), text(&pair[1])),
        other => panic!("CONFIG GET *{setting} answered {}", show(other)),
    }
}

fn set(client: &mut Client, setting: &str, value: &str) -> String {
    let name = get(client, setting).0;
    client.ask(&format!("CONFIG SET {name} {value}"))
}

fn values(client: &mut Client) -> Vec<String> {
    SETTINGS.iter().map(|(setting, _)| get(client, setting).1).collect()
}

#[test]
fn names_are_bare_where_the_server_allows_it() {
    for_each_server_with_settings(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (setting, _) in SETTINGS {
            let prefix = if kind.name.starts_with("redis-8") { "" } else { "bf." };
            assert_eq!(get(&mut client, setting).0, format!("{prefix}{setting}"));
        }
    });
}

#[test]
fn a_rewritten_configuration_keeps_the_settings() {
    for_each_server_with_settings(|kind| {
        for args in ["", "bf-error-rate 0.02 bf-initial-size 1000"] {
            let mut server = Setup::new().module_args(args).start(kind);
            let mut client = server.resp2();
            for (setting, value) in SETTINGS {
                assert_eq!(set(&mut client, setting, value), "+OK", "{setting}");
            }
            let before = values(&mut client);
            client.ok("CONFIG REWRITE");
            // Twice: what a rewritten file said must stand in the next one.
            for _ in 0..2 {
                server.restart(Stop::NoSave);
                let mut client = server.resp2();
                assert_eq!(values(&mut client), before, "{args}");
                client.call("BF.ADD k a");
                assert_eq!(client.ask("BF.INFO k CAPACITY"), "*[:7]");
                assert_eq!(client.ask("BF.INFO k EXPANSION"), "*[:3]");
                assert_eq!(client.ask("BF.INFO k ERROR"), "*[$5 0.004]");
                let refused = client.ask("BF.RESERVE large 0.01 10000000");
                assert!(refused.contains("bf-max-filter-bytes allows 5242880"), "{refused}");
                client.ok("CONFIG REWRITE");
            }
        }
    });
}

#[test]
fn a_rewritten_configuration_keeps_load_arguments() {
    for_each_server(|kind| {
        let mut server =
            Setup::new().module_args("bf-initial-size 1000 bf-expansion-factor 4").start(kind);
        server.resp2().ok("CONFIG REWRITE");
        server.restart(Stop::NoSave);
        let mut client = server.resp2();
        client.call("BF.ADD k a");
        assert_eq!(client.ask("BF.INFO k CAPACITY"), "*[:1000]");
        assert_eq!(client.ask("BF.INFO k EXPANSION"), "*[:4]");
    });
}

#[test]
fn of_several_settings_all_are_taken_or_none() {
    for_each_server_with_settings(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        let before = values(&mut client);
        let (rate, size) =
            (get(&mut client, "bf-error-rate").0, get(&mut client, "bf-initial-size").0);
        let refused = client.ask(&format!("CONFIG SET {rate} 0.004 {size} 0"));
        assert!(refused.contains("must be in the range [1, 1073741824]"), "{refused}");
        assert_eq!(values(&mut client), before);
        client.call("BF.ADD k a");
        assert_eq!(client.ask("BF.INFO k ERROR"), "*[$4 0.01]");
        client.ok(&format!("CONFIG SET {rate} 0.004 {size} 7"));
        client.call("BF.ADD other a");
        assert_eq!(client.ask("BF.INFO other ERROR"), "*[$5 0.004]");
        assert_eq!(client.ask("BF.INFO other CAPACITY"), "*[:7]");
    });
}

#[test]
fn a_refused_load_argument_is_logged_with_its_range() {
    for_each_server(|kind| {
        for (args, line) in [
            ("bf-error-rate 2", "'bf-error-rate' must be in the range (0.000000, 1.000000)"),
            ("bf-error-rate 0", "'bf-error-rate' must be in the range (0.000000, 1.000000)"),
            ("ERROR_RATE 1", "'ERROR_RATE' must be in the range (0.000000, 1.000000)"),
            ("bf-error-rate nan", "Invalid argument for 'bf-error-rate'"),
            ("bf-initial-size 0", "'bf-initial-size' must be in the range [1, 1073741824]"),
            (
                "bf-initial-size 1073741825",
                "'bf-initial-size' must be in the range [1, 1073741824]",
            ),
            ("bf-initial-size 1.5", "Invalid argument for 'bf-initial-size'"),
            ("bf-expansion-factor -1", "'bf-expansion-factor' must be in the range [0, 32768]"),
            ("bf-expansion-factor 32769", "'bf-expansion-factor' must be in the range [0, 32768]"),
            ("bf-max-filter-bytes -1", "Invalid argument for 'bf-max-filter-bytes'"),
            ("bf-max-filter-bytes 1zb", "Invalid argument for 'bf-max-filter-bytes'"),
            ("bf-initial-size 7 bf-colour blue", "Unrecognized option 'bf-colour'"),
            ("bf-initial-size 7 bf-error-rate", "Invalid number of arguments passed"),
        ] {
            let log = Setup::new().module_args(args).try_start(kind).err();
            let log = log.unwrap_or_else(|| panic!("{args} was accepted"));
            assert!(log.contains(line), "{args}: no {line} in\n{log}");
        }
    });
}

#[test]
fn a_refused_load_argument_leaves_a_running_server_running() {
    for_each_server(|kind| {
        let setup = Setup::new().bare();
        let setup =
            if kind.is_before_7() { setup } else { setup.line("enable-module-command yes") };
        let server = setup.start(kind);
        let mut client = server.resp2();
        let module = module().display().to_string();
        let refused = client.ask(&format!("MODULE LOAD {module} bf-initial-size 0"));
        assert!(refused.starts_with("-ERR"), "{refused}");
        assert!(server.log().contains("'bf-initial-size' must be in the range [1, 1073741824]"));
        assert!(client.ask("BF.ADD k a").starts_with("-ERR unknown command"));
        client.assert_answers_ping("the refused load");
        // A right one works afterwards.
        client.ok(&format!("MODULE LOAD {module} bf-initial-size 7"));
        assert_eq!(client.ask("BF.ADD k a"), ":1");
        assert_eq!(client.ask("BF.INFO k CAPACITY"), "*[:7]");
    });
}

#[test]
fn what_a_server_lacks_is_left_out_with_one_line_each() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let log = server.log();
        let lines = |text: &str| log.matches(text).count();
        let is_old = usize::from(kind.is_before_7());
        assert_eq!(lines("takes no settings from modules"), is_old, "{log}");
        assert_eq!(lines("takes no descriptions of commands"), is_old, "{log}");
        assert_eq!(
            lines("takes no ACL categories"),
            usize::from(!kind.has_acl_categories()),
            "{log}"
        );
        assert_eq!(server.resp2().ask("BF.ADD k a"), ":1");
    });
}
