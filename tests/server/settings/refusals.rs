//! Values that are refused, with the error of each way, or replaced; and names.

use bloomline_harness::{Setup, for_each_server, matches, module_for, rows};

use super::table::{SETTINGS, defaults, read, setting};

/// Load arguments that are wrong whatever the setting, and the line in the log.
const WRONG: [(&str, &str); 6] = [
    ("ERROR_RATE 1", "'ERROR_RATE' must be in the range (0.000000, 1.000000)"),
    ("CF_MAX_EXPANSIONS 0", "'CF_MAX_EXPANSIONS' must be in the range [1, 65536]"),
    ("bf-initial-size 7 bf-colour blue", "Unrecognized option 'bf-colour'"),
    ("bf-initial-size", "Invalid number of arguments passed"),
    ("bf-initial-size 7 bf-error-rate", "Invalid number of arguments passed"),
    // Alone this value is valid.
    ("cf-initial-size 3", "'cf-initial-size' must be in the range [4, 1073741824]"),
];

#[test]
fn refused_values_change_nothing_and_name_the_range() {
    for_each_server(|kind| {
        let mut setup = Setup::new().bare();
        if !kind.is_before_7() {
            setup = setup.line("enable-module-command yes");
        }
        let server = setup.start(kind);
        let mut client = server.resp2();
        let load = format!("MODULE LOAD {}", module_for(kind).display());
        // Each refusal with its text after the name of the setting.
        let refusals = SETTINGS.iter().flat_map(|row| {
            let outside = row.outside.iter().map(|value| (row.name, value, Some(row.range)));
            outside.chain(row.unreadable.iter().map(|value| (row.name, value, None)))
        });
        let as_argument = refusals.clone().map(|(name, value, range)| {
            let line = match range {
                Some(range) => format!("'{name}' must be in the range {range}"),
                None => format!("Invalid argument for '{name}'"),
            };
            (format!("{name} {value}"), line)
        });
        for (args, line) in as_argument.chain(WRONG.map(|(args, line)| (args.into(), line.into())))
        {
            let before = server.log().len();
            let refused = client.ask(&format!("{load} {args}"));
            assert!(refused.starts_with("-ERR"), "{args}: {refused}");
            assert!(server.log()[before..].contains(&line), "{args}: no {line}");
        }
        assert!(client.ask("BF.ADD k a").starts_with("-ERR unknown command"));
        client.ok(&load);
        if kind.is_before_7() {
            let row = setting("bf-initial-size");
            row.assert_shows(&mut client, row.values[0]);
            return;
        }
        for (name, value, range) in refusals {
            let refused = client.ask(&format!("CONFIG SET {} {value}", kind.directive(name)));
            let why = match range {
                Some(range) => format!("Value for `<any>` must be in the range {range}"),
                None => "Invalid value for `<any>`".to_owned(),
            };
            let why =
                format!("-ERR CONFIG SET failed (possibly related to argument '<any>') - {why}");
            assert!(matches(&why, &refused), "{name} {value}: {refused}, not {why}");
        }
        assert_eq!(read(kind, &mut client), defaults());
    });
}

#[test]
fn a_refused_load_argument_ends_the_start() {
    for_each_server(|kind| {
        let log = Setup::new().module_args("bf-initial-size 0").try_start(kind).err();
        let log = log.expect("a refusal");
        assert!(log.contains("'bf-initial-size' must be in the range [1, 1073741824]"), "{log}");
    });
}

#[test]
fn older_names_of_load_arguments_work_in_any_case() {
    for_each_server(|kind| {
        for args in [
            "ERROR_RATE 0.004 INITIAL_SIZE 7 CF_MAX_EXPANSIONS 1",
            "initial_size 7 cf_max_expansions 1 BF-ERROR-RATE 0.004",
        ] {
            let server = Setup::new().module_args(args).start(kind);
            for name in ["bf-error-rate", "bf-initial-size", "cf-max-expansions"] {
                let row = setting(name);
                row.assert_shows(&mut server.resp2(), row.values[1]);
            }
        }
    });
}

#[test]
fn error_rates_above_a_quarter_become_a_quarter() {
    for_each_server(|kind| {
        let server = Setup::new().module_args("bf-error-rate 0.9 cf-error-rate 0.7").start(kind);
        for (name, given) in [("bf-error-rate", "0.9"), ("cf-error-rate", "0.7")] {
            let (row, mut client) = (setting(name), server.resp2());
            row.assert_shows(&mut client, row.values[2]);
            let listed = client.ask(&format!("CONFIG GET *{name}"));
            assert!(listed.ends_with(" $4 0.25]") || kind.is_before_7(), "{listed}");
            let line = format!("{name} is capped at 0.25, '{given}' was given");
            assert!(server.log().contains(&line), "{}", server.log());
        }
    });
}

/// Sizes that bound each other, in settings and in calls, and a limit that applies to filters that
/// are there already.
const BOUNDS: [(&str, &str); 17] = [
    ("CONFIG SET cf-initial-size 3", "<any>must be in the range [4, 1073741824]"),
    ("CONFIG SET cf-bucket-size 10", "+OK"),
    ("CONFIG SET cf-initial-size 19", "<any>must be in the range [20, 1073741824]"),
    ("CONFIG SET cf-initial-size 20", "+OK"),
    ("CONFIG SET cf-bucket-size 11", "<any>must be in the range [1, 10]"),
    ("CF.RESERVE k 1000 BUCKETSIZE 11", "-BUCKETSIZE: value must be in the range [1, 10]"),
    ("CF.INSERT k CAPACITY 19 ITEMS a", "-Capacity must be in the range<any>"),
    ("CF.RESERVE k 19", "-Capacity must be in the range<any>"),
    ("CF.RESERVE k 18 BUCKETSIZE 9", "+OK"),
    ("CF.INSERT other CAPACITY 20 ITEMS a", "*[:1]"),
    ("CF.RESERVE grown 4 BUCKETSIZE 2 LAYOUT REDISBLOOM", "+OK"),
    ("CONFIG SET cf-max-expansions 1", "+OK"),
    ("CF.ADD grown a", "-Maximum expansions reached"),
    ("CONFIG SET cf-max-expansions 2", "+OK"),
    ("CF.ADD grown a", ":1"),
    ("CONFIG SET cf-max-expansions 65536", "+OK"),
    ("CF.ADD grown a", ":1"),
];

#[test]
fn settings_that_change_apply_to_later_calls() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            return;
        }
        let server = Setup::new().start(kind);
        for (line, expected) in BOUNDS {
            let line = line.replace("SET cf-", &format!("SET {}", kind.directive("cf-")));
            let reply = server.resp2().ask(&line);
            assert!(matches(expected, &reply), "{line}: {reply}");
        }
    });
}

#[test]
fn expansion_factor_zero_makes_nonscaling_the_default() {
    Setup::new().module_args("bf-expansion-factor 0").check_rows(rows![
        "BF.RESERVE k 0.01 10 EXPANSION 2" => "-Nonscaling filters cannot expand";
        // An expansion in BF.INSERT does not override the setting.
        "BF.INSERT k EXPANSION 2 ITEMS a" => "*[:1]" | "*[#t]";
        "BF.INFO k EXPANSION" => "*[_]" | "%{+Expansion rate _}";
        // The only layer gets the whole rate.
        "BF.DEBUG k" => "<any> ratio:0.01]";
    ]);
}

#[test]
fn logs_one_line_per_feature_that_the_server_lacks() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let log = server.log();
        for (line, is_lacking) in [
            ("takes no settings from modules", kind.is_before_7()),
            ("takes no descriptions of commands", kind.is_before_7()),
            ("takes no ACL categories", !kind.has_acl_categories()),
        ] {
            assert_eq!(log.matches(line).count(), usize::from(is_lacking), "{log}");
        }
        assert_eq!(server.resp2().ask("BF.ADD k a"), ":1");
    });
}
