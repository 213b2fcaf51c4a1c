//! CONFIG GET, SET and REWRITE of the module's settings.

use bloomline_harness::{Client, Setup, Stop, for_each_server, matches};

use super::{created, for_each_server_with_settings, get, parameters, set};

/// The settings, and values that are not their defaults.
const SETTINGS: [(&str, &str); 4] = [
    ("bf-error-rate", "0.004"),
    ("bf-initial-size", "7"),
    ("bf-expansion-factor", "3"),
    ("bf-max-filter-bytes", "5mb"),
];

fn values(client: &mut Client) -> Vec<String> {
    SETTINGS.iter().map(|(setting, _)| get(client, setting).1).collect()
}

#[test]
fn names_are_bare_where_the_server_allows_it() {
    for_each_server_with_settings(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (setting, _) in SETTINGS {
            assert_eq!(get(&mut client, setting).0, kind.directive(setting));
        }
    });
}

#[test]
fn settings_change_while_the_server_runs() {
    for_each_server_with_settings(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        assert_eq!(get(&mut client, "bf-error-rate").1, "0.01");
        assert_eq!(get(&mut client, "bf-initial-size").1, "100");
        assert_eq!(get(&mut client, "bf-expansion-factor").1, "2");
        assert_eq!(set(&mut client, "bf-error-rate", "0.004"), "+OK");
        assert_eq!(set(&mut client, "bf-initial-size", "7"), "+OK");
        assert_eq!(set(&mut client, "bf-expansion-factor", "3"), "+OK");
        assert_eq!(created(&mut client), parameters(":7", ":3", "0.002"));
        assert_eq!(get(&mut client, "bf-error-rate").1, "0.004");
        assert_eq!(get(&mut client, "bf-initial-size").1, "7");
        assert_eq!(get(&mut client, "bf-expansion-factor").1, "3");
        assert_eq!(set(&mut client, "bf-error-rate", "0.7"), "+OK");
        assert_eq!(get(&mut client, "bf-error-rate").1, "0.25");
        let line = "bf-error-rate is capped at 0.25, '0.7' was given";
        assert!(server.log().contains(line), "{}", server.log());
    });
}

#[test]
fn values_out_of_range_are_refused_with_the_range() {
    for_each_server_with_settings(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (name, value, expected) in [
            ("bf-error-rate", "0", "Value for `<any>` must be in the range (0.000000, 1.000000)"),
            ("bf-error-rate", "1", "Value for `<any>` must be in the range (0.000000, 1.000000)"),
            ("bf-error-rate", "abc", "Invalid value for `<any>`"),
            ("bf-initial-size", "0", "Value for `<any>` must be in the range [1, <n>]"),
            ("bf-initial-size", "1099511627777", "Value for `<any>` must be in the range [1, <n>]"),
            ("bf-initial-size", "1.5", "Invalid value for `<any>`"),
            ("bf-expansion-factor", "-1", "Value for `<any>` must be in the range [0, 32768]"),
            ("bf-expansion-factor", "32769", "Value for `<any>` must be in the range [0, 32768]"),
            ("bf-expansion-factor", "x", "Invalid value for `<any>`"),
        ] {
            let got = set(&mut client, name, value);
            let expected = format!(
                "-ERR CONFIG SET failed (possibly related to argument '<any>') - {expected}"
            );
            assert!(
                matches(&expected, &got),
                "{name} {value}\n  expected {expected}\n  got      {got}"
            );
        }
        assert_eq!(created(&mut client), parameters(":100", ":2", "0.005"));
    });
}

#[test]
fn settings_take_the_same_numbers() {
    for_each_server_with_settings(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for name in ["bf-error-rate", "cf-error-rate"] {
            assert_eq!(set(&mut client, name, "+78125e-7"), "+OK");
            assert_eq!(get(&mut client, name).1, "+78125e-7");
            let refused = set(&mut client, name, "0x1p-7");
            assert!(refused.contains("Invalid value for"), "{refused}");
        }
        client.call("BF.ADD b a");
        client.call("CF.ADD c a");
        assert_eq!(client.ask("BF.STATS b error_rate"), "*[$10 error_rate $9 0.0078125]");
        assert_eq!(client.ask("CF.INFO c ERROR"), "*[$9 0.0078125]");
    });
}

#[test]
fn the_memory_limit_takes_units() {
    for_each_server_with_settings(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        assert_eq!(set(&mut client, "bf-max-filter-bytes", "1mb"), "+OK");
        let refused = client.ask("BF.RESERVE k 0.01 1000000");
        assert!(refused.starts_with("-ERR"), "{refused}");
        assert_eq!(set(&mut client, "bf-max-filter-bytes", "2mb"), "+OK");
        client.ok("BF.RESERVE k 0.01 1000000");
        assert_eq!(set(&mut client, "bf-max-filter-bytes", "0"), "+OK");
        client.ok("BF.RESERVE larger 0.01 2000000");
    });
}

#[test]
fn a_call_with_several_settings_takes_all_or_none() {
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
        assert_eq!(client.ask("BF.STATS k error_rate"), "*[$10 error_rate $4 0.01]");
        client.ok(&format!("CONFIG SET {rate} 0.004 {size} 7"));
        client.call("BF.ADD other a");
        assert_eq!(client.ask("BF.STATS other error_rate"), "*[$10 error_rate $5 0.004]");
        assert_eq!(client.ask("BF.INFO other CAPACITY"), "*[:7]");
    });
}

#[test]
fn config_rewrite_keeps_load_arguments() {
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
