//! Settings: load arguments on every server, CONFIG where modules may have settings.

use crate::harness::{Client, Kind, Setup, for_each_server, matches, show};
use redis::Value;

/// The parameters of a filter made by BF.ADD: capacity, growth, error rate of the first layer.
fn defaults(client: &mut Client) -> (String, String, String) {
    client.call("DEL made");
    client.call("BF.ADD made item");
    let debug = client.ask("BF.DEBUG made");
    let rate = debug.split("ratio:").nth(1).unwrap_or_default().trim_end_matches(']').to_owned();
    (client.ask("BF.INFO made CAPACITY"), client.ask("BF.INFO made EXPANSION"), rate)
}

fn parameters(capacity: &str, expansion: &str, rate: &str) -> (String, String, String) {
    (format!("*[{capacity}]"), format!("*[{expansion}]"), rate.to_owned())
}

/// Runs the test where modules can register settings, which Redis 6.2 does not know.
fn for_each_server_with_settings(test: impl Fn(&Kind) + Sync) {
    for_each_server(|kind| {
        if !kind.is_before_7() {
            test(kind);
        }
    });
}

/// The name CONFIG knows a setting by: bare where the server allows it, else behind `bf.`.
fn config_name(client: &mut Client, name: &str) -> String {
    match client.call(&format!("CONFIG GET *{name}")) {
        Value::Array(pair) if pair.len() == 2 => match &pair[0] {
            Value::BulkString(found) => String::from_utf8(found.clone()).expect("text"),
            other => panic!("{}", show(other)),
        },
        other => panic!("CONFIG GET *{name} answered {}", show(&other)),
    }
}

fn get(client: &mut Client, name: &str) -> String {
    let name = config_name(client, name);
    match client.call(&format!("CONFIG GET {name}")) {
        Value::Array(pair) if pair.len() == 2 => {
            show(&pair[1]).split_once(' ').expect("a bulk string").1.to_owned()
        }
        other => panic!("CONFIG GET {name} answered {}", show(&other)),
    }
}

fn set(client: &mut Client, name: &str, value: &str) -> String {
    let name = config_name(client, name);
    client.ask(&format!("CONFIG SET {name} {value}"))
}

#[test]
fn without_load_arguments_the_defaults_are_those_of_the_documentation() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        assert_eq!(defaults(&mut server.resp2()), parameters(":100", ":2", "0.005"));
    });
}

#[test]
fn load_arguments_set_the_defaults_of_new_filters() {
    for_each_server(|kind| {
        let args = "bf-error-rate 0.02 bf-initial-size 1000 bf-expansion-factor 4 bf-max-filter-bytes 64mb";
        let server = Setup::new().module_args(args).start(kind);
        let mut client = server.resp2();
        assert_eq!(defaults(&mut client), parameters(":1000", ":4", "0.01"));
        if !kind.is_before_7() {
            assert_eq!(get(&mut client, "bf-error-rate"), "0.02");
            assert_eq!(get(&mut client, "bf-initial-size"), "1000");
            assert_eq!(get(&mut client, "bf-expansion-factor"), "4");
        }
        let refused = client.ask("BF.RESERVE large 0.01 1000000000");
        assert!(refused.starts_with("-ERR"), "{refused}");
    });
}

#[test]
fn the_older_names_of_load_arguments_work_in_any_case() {
    for_each_server(|kind| {
        for args in ["ERROR_RATE 0.02 INITIAL_SIZE 1000", "initial_size 1000 BF-ERROR-RATE 0.02"] {
            let server = Setup::new().module_args(args).start(kind);
            assert_eq!(defaults(&mut server.resp2()), parameters(":1000", ":2", "0.01"));
        }
    });
}

#[test]
fn a_load_argument_that_makes_no_sense_stops_the_server_with_its_name_in_the_log() {
    for_each_server(|kind| {
        for (args, named) in [
            ("bf-error-rate 2", "bf-error-rate"),
            ("bf-error-rate abc", "bf-error-rate"),
            ("bf-initial-size 0", "bf-initial-size"),
            ("bf-initial-size 1mb", "bf-initial-size"),
            ("INITIAL_SIZE -1", "INITIAL_SIZE"),
            ("bf-expansion-factor 32769", "bf-expansion-factor"),
            ("bf-max-filter-bytes lots", "bf-max-filter-bytes"),
            ("bf-no-such-setting 1", "bf-no-such-setting"),
            ("bf-initial-size", "rguments"),
        ] {
            let log = Setup::new().module_args(args).try_start(kind).err();
            let log = log.unwrap_or_else(|| panic!("{args} was accepted"));
            assert!(
                log.to_lowercase().contains(&named.to_lowercase()),
                "{args}: no {named} in\n{log}"
            );
        }
    });
}

#[test]
fn an_expansion_factor_of_zero_makes_nonscaling_the_default() {
    for_each_server(|kind| {
        let server = Setup::new().module_args("bf-expansion-factor 0").start(kind);
        let mut client = server.resp2();
        assert_eq!(defaults(&mut client), parameters(":100", "_", "0.01"));
        assert_eq!(
            client.ask("BF.RESERVE k 0.01 10 EXPANSION 2"),
            "-Nonscaling filters cannot expand"
        );
        // An expansion asked for in BF.INSERT does not undo it.
        assert_eq!(client.ask("BF.INSERT k EXPANSION 2 ITEMS a"), "*[:1]");
        assert_eq!(client.ask("BF.INFO k EXPANSION"), "*[_]");
    });
}

#[test]
fn an_error_rate_above_a_quarter_is_stored_as_a_quarter() {
    for_each_server(|kind| {
        let server =
            Setup::new().module_args("bf-error-rate 0.9 bf-expansion-factor 0").start(kind);
        assert_eq!(defaults(&mut server.resp2()).2, "0.25");
    });
}

#[test]
fn settings_change_while_the_server_runs() {
    for_each_server_with_settings(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        assert_eq!(get(&mut client, "bf-error-rate"), "0.01");
        assert_eq!(get(&mut client, "bf-initial-size"), "100");
        assert_eq!(get(&mut client, "bf-expansion-factor"), "2");
        assert_eq!(set(&mut client, "bf-error-rate", "0.004"), "+OK");
        assert_eq!(set(&mut client, "bf-initial-size", "7"), "+OK");
        assert_eq!(set(&mut client, "bf-expansion-factor", "3"), "+OK");
        assert_eq!(defaults(&mut client), parameters(":7", ":3", "0.002"));
        assert_eq!(get(&mut client, "bf-error-rate"), "0.004");
        assert_eq!(get(&mut client, "bf-initial-size"), "7");
        assert_eq!(get(&mut client, "bf-expansion-factor"), "3");
        assert_eq!(set(&mut client, "bf-error-rate", "0.7"), "+OK");
        assert_eq!(get(&mut client, "bf-error-rate"), "0.25");
    });
}

#[test]
fn settings_out_of_range_are_refused_with_the_range() {
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
        assert_eq!(defaults(&mut client), parameters(":100", ":2", "0.005"));
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
