//! Load arguments: the defaults, every setting, and arguments that the module refuses.

use bloomline_harness::{Setup, for_each_server, module};

use super::{created, get, parameters};

#[test]
fn defaults_are_those_of_the_documentation() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        assert_eq!(created(&mut server.resp2()), parameters(":100", ":2", "0.005"));
    });
}

#[test]
fn load_arguments_set_the_defaults_of_new_filters() {
    for_each_server(|kind| {
        let args = "bf-error-rate 0.02 bf-initial-size 1000 bf-expansion-factor 4 \
                    bf-max-filter-bytes 64mb";
        let server = Setup::new().module_args(args).start(kind);
        let mut client = server.resp2();
        assert_eq!(created(&mut client), parameters(":1000", ":4", "0.01"));
        if !kind.is_before_7() {
            assert_eq!(get(&mut client, "bf-error-rate").1, "0.02");
            assert_eq!(get(&mut client, "bf-initial-size").1, "1000");
            assert_eq!(get(&mut client, "bf-expansion-factor").1, "4");
        }
        let refused = client.ask("BF.RESERVE large 0.01 1000000000");
        assert!(refused.starts_with("-ERR"), "{refused}");
    });
}

#[test]
fn older_names_of_load_arguments_work_in_any_case() {
    for_each_server(|kind| {
        for args in ["ERROR_RATE 0.02 INITIAL_SIZE 1000", "initial_size 1000 BF-ERROR-RATE 0.02"] {
            let server = Setup::new().module_args(args).start(kind);
            assert_eq!(created(&mut server.resp2()), parameters(":1000", ":2", "0.01"));
        }
    });
}

#[test]
fn expansion_factor_zero_makes_nonscaling_the_default() {
    Setup::new().module_args("bf-expansion-factor 0").on_each_server(|mut client, _| {
        assert_eq!(created(&mut client), parameters(":100", "_", "0.01"));
        assert_eq!(
            client.ask("BF.RESERVE k 0.01 10 EXPANSION 2"),
            "-Nonscaling filters cannot expand"
        );
        // An expansion in BF.INSERT does not override the setting.
        assert_eq!(client.ask("BF.INSERT k EXPANSION 2 ITEMS a"), "*[:1]");
        assert_eq!(client.ask("BF.INFO k EXPANSION"), "*[_]");
    });
}

#[test]
fn error_rates_above_a_quarter_become_a_quarter() {
    for_each_server(|kind| {
        let server =
            Setup::new().module_args("bf-error-rate 0.9 bf-expansion-factor 0").start(kind);
        assert_eq!(created(&mut server.resp2()).2, "0.25");
    });
}

#[test]
fn refused_arguments_end_the_start_and_are_logged() {
    for_each_server(|kind| {
        for (args, line) in [
            ("bf-error-rate 2", "'bf-error-rate' must be in the range (0.000000, 1.000000)"),
            ("bf-error-rate 0", "'bf-error-rate' must be in the range (0.000000, 1.000000)"),
            ("ERROR_RATE 1", "'ERROR_RATE' must be in the range (0.000000, 1.000000)"),
            ("bf-error-rate nan", "Invalid argument for 'bf-error-rate'"),
            ("bf-error-rate abc", "Invalid argument for 'bf-error-rate'"),
            ("bf-initial-size 0", "'bf-initial-size' must be in the range [1, 1073741824]"),
            (
                "bf-initial-size 1073741825",
                "'bf-initial-size' must be in the range [1, 1073741824]",
            ),
            ("INITIAL_SIZE -1", "'INITIAL_SIZE' must be in the range [1, 1073741824]"),
            ("bf-initial-size 1.5", "Invalid argument for 'bf-initial-size'"),
            ("bf-initial-size 1mb", "Invalid argument for 'bf-initial-size'"),
            ("bf-expansion-factor -1", "'bf-expansion-factor' must be in the range [0, 32768]"),
            ("bf-expansion-factor 32769", "'bf-expansion-factor' must be in the range [0, 32768]"),
            ("bf-max-filter-bytes -1", "Invalid argument for 'bf-max-filter-bytes'"),
            ("bf-max-filter-bytes 1zb", "Invalid argument for 'bf-max-filter-bytes'"),
            ("bf-max-filter-bytes lots", "Invalid argument for 'bf-max-filter-bytes'"),
            ("bf-no-such-setting 1", "Unrecognized option 'bf-no-such-setting'"),
            ("bf-initial-size 7 bf-colour blue", "Unrecognized option 'bf-colour'"),
            ("bf-initial-size", "Invalid number of arguments passed"),
            ("bf-initial-size 7 bf-error-rate", "Invalid number of arguments passed"),
        ] {
            let log = Setup::new().module_args(args).try_start(kind).err();
            let log = log.unwrap_or_else(|| panic!("{args} was accepted"));
            assert!(log.contains(line), "{args}: no {line} in\n{log}");
        }
    });
}

#[test]
fn refused_arguments_do_not_stop_a_running_server() {
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
        // Valid arguments work afterwards.
        client.ok(&format!("MODULE LOAD {module} bf-initial-size 7"));
        assert_eq!(client.ask("BF.ADD k a"), ":1");
        assert_eq!(client.ask("BF.INFO k CAPACITY"), "*[:7]");
    });
}

#[test]
fn logs_one_line_per_feature_that_the_server_lacks() {
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
