//! The settings of cuckoo filters: their defaults, ranges, and bounds that follow another setting.

use bloomline_harness::{Client, Setup, Stop, for_each_server};

use super::{for_each_server_with_settings, get, set};

/// The settings with their defaults, and other values.
const SETTINGS: [(&str, &str, &str); 7] = [
    ("cf-layout", "bloomline", "redisbloom"),
    ("cf-error-rate", "0.01", "0.002"),
    ("cf-initial-size", "1024", "500"),
    ("cf-bucket-size", "2", "3"),
    ("cf-max-iterations", "20", "7"),
    ("cf-expansion-factor", "1", "3"),
    ("cf-max-expansions", "32", "9"),
];

/// The parameters of a filter that is created by an addition, which are the same by each command.
fn created(client: &mut Client) -> String {
    let commands =
        ["ADD", "ADDNX", "INSERT made ITEMS", "INSERTNX made ITEMS", "BULKADD made LINES"];
    let debugs = commands.map(|command| {
        client.call("DEL made");
        let (name, rest) = command.split_once(' ').unwrap_or((command, "made"));
        client.call(&format!("CF.{name} {rest} item"));
        client.ask("CF.DEBUG made")
    });
    assert!(debugs.iter().all(|debug| *debug == debugs[0]), "{debugs:?}");
    debugs[0].split_once(' ').map_or_else(|| debugs[0].clone(), |(_, numbers)| numbers.to_owned())
}

const DEFAULT: &str =
    "bktsize:2 buckets:1132 items:1 deletes:0 filters:1 max_iterations:20 expansion:1";
const OTHER: &str =
    "bktsize:3 buckets:256 items:1 deletes:0 filters:1 max_iterations:7 expansion:4";

#[test]
fn settings_make_the_filters_of_additions() {
    for_each_server_with_settings(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        assert_eq!(created(&mut client), DEFAULT);
        for (name, default, other) in SETTINGS {
            assert_eq!(get(&mut client, name).1, default, "{name}");
            assert_eq!(set(&mut client, name, other), "+OK", "{name}");
            // As it was given: the filter stores 4 for an expansion of 3.
            assert_eq!(get(&mut client, name).1, other, "{name}");
        }
        assert_eq!(created(&mut client), OTHER);
    });
}

#[test]
fn load_arguments_make_the_filters_of_additions() {
    for_each_server(|kind| {
        let args = SETTINGS.map(|(name, _, value)| format!("{name} {value}")).join(" ");
        let server = Setup::new().module_args(&args).start(kind);
        assert_eq!(created(&mut server.resp2()), OTHER);
        for (args, line) in [
            ("cf-initial-size 3", "'cf-initial-size' must be in the range [4, 1073741824]"),
            ("cf-bucket-size 0", "'cf-bucket-size' must be in the range [1, 255]"),
            ("cf-max-iterations 65536", "'cf-max-iterations' must be in the range [1, 65535]"),
            ("cf-expansion-factor -1", "'cf-expansion-factor' must be in the range [0, 32768]"),
            ("cf-max-expansions 65537", "'cf-max-expansions' must be in the range [1, 65536]"),
            ("CF_MAX_EXPANSIONS 0", "'CF_MAX_EXPANSIONS' must be in the range [1, 65536]"),
            ("cf-layout other", "'cf-layout' must be in the range {bloomline, redisbloom}"),
            ("cf-error-rate 1", "'cf-error-rate' must be in the range (0.000000, 1.000000)"),
            ("cf-max-expansions x", "Invalid argument for 'cf-max-expansions'"),
        ] {
            let log = Setup::new().module_args(args).try_start(kind).err();
            let log = log.unwrap_or_else(|| panic!("{args} was accepted"));
            assert!(log.contains(line), "{args}: no {line} in\n{log}");
        }
    });
}

#[test]
fn bounds_of_sizes_follow_each_other() {
    for_each_server_with_settings(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        let range = |client: &mut Client, name: &str, value: &str, range: &str| {
            let refused = set(client, name, value);
            assert!(refused.contains(&format!("must be in the range {range}")), "{refused}");
        };
        range(&mut client, "cf-bucket-size", "256", "[1, 255]");
        range(&mut client, "cf-initial-size", "3", "[4, 1073741824]");
        assert_eq!(set(&mut client, "cf-bucket-size", "10"), "+OK");
        range(&mut client, "cf-initial-size", "19", "[20, 1073741824]");
        assert_eq!(set(&mut client, "cf-initial-size", "20"), "+OK");
        range(&mut client, "cf-bucket-size", "11", "[1, 10]");
        // The bounds apply to calls as well.
        assert_eq!(
            client.ask("CF.RESERVE k 1000 BUCKETSIZE 11"),
            "-BUCKETSIZE: value must be in the range [1, 10]"
        );
        let refused = client.ask("CF.INSERT k CAPACITY 19 ITEMS a");
        assert!(refused.starts_with("-Capacity must be in the range"), "{refused}");
        let refused = client.ask("CF.RESERVE k 19");
        assert!(refused.starts_with("-Capacity must be in the range"), "{refused}");
        client.ok("CF.RESERVE k 18 BUCKETSIZE 9");
        assert_eq!(client.ask("CF.INSERT other CAPACITY 20 ITEMS a"), "*[:1]");
    });
}

#[test]
fn a_rewritten_file_loads_whatever_the_bounds() {
    for_each_server_with_settings(|kind| {
        for (bucket, capacity) in [("1", "2"), ("255", "510"), ("10", "20")] {
            let mut server = Setup::new().start(kind);
            let mut client = server.resp2();
            assert_eq!(set(&mut client, "cf-bucket-size", bucket), "+OK");
            assert_eq!(set(&mut client, "cf-initial-size", capacity), "+OK");
            client.ok("CONFIG REWRITE");
            server.restart(Stop::NoSave);
            let mut client = server.resp2();
            assert_eq!(get(&mut client, "cf-bucket-size").1, bucket);
            assert_eq!(get(&mut client, "cf-initial-size").1, capacity);
        }
    });
}

#[test]
fn the_number_of_tables_is_limited_while_the_server_runs() {
    for_each_server_with_settings(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.ok("CF.RESERVE k 4 LAYOUT REDISBLOOM");
        for (value, reply) in [("1", "-Maximum expansions reached"), ("2", ":1"), ("65536", ":1")] {
            assert_eq!(set(&mut client, "cf-max-expansions", value), "+OK");
            assert_eq!(client.ask("CF.ADD k a"), reply);
        }
    });
}
