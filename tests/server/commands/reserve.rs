//! BF.RESERVE: parameters, their limits, and the order of the checks.

use bloomline_harness::{Setup, for_each_server, matches, rows};

#[test]
fn a_filter_is_reserved_with_the_given_parameters() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.01 100" => "+OK";
        "TYPE k" => "+MBbloom--";
        "BF.INFO k EXPANSION" => "*[:2]" | "%{+Expansion rate :2}";
        "BF.RESERVE expanding 0.01 100 EXPANSION 4" => "+OK";
        "BF.INFO expanding EXPANSION" => "*[:4]" | "%{+Expansion rate :4}";
        // A non-scaling filter, by either option or by both.
        "BF.RESERVE ns 0.01 100 NONSCALING" => "+OK";
        "BF.INFO ns EXPANSION" => "*[_]" | "%{+Expansion rate _}";
        "BF.RESERVE zero 0.01 100 EXPANSION 0" => "+OK";
        "BF.INFO zero EXPANSION" => "*[_]" | "%{+Expansion rate _}";
        "BF.RESERVE both 0.01 100 EXPANSION 0 NONSCALING" => "+OK";
        "BF.RESERVE turned 0.01 100 NONSCALING EXPANSION 0" => "+OK";
        // Names of options are not abbreviated, and their case does not matter.
        "bf.reserve lower 0.01 100 expansion 8" => "+OK";
        "BF.INFO lower EXPANSION" => "*[:8]" | "%{+Expansion rate :8}";
        "BF.RESERVE mixed 0.01 100 nonScaling" => "+OK";
        "BF.INFO mixed EXPANSION" => "*[_]" | "%{+Expansion rate _}";
        // Numbers in the forms that the server accepts.
        "BF.RESERVE sign +0.01 100" => "+OK";
        "BF.RESERVE dot .01 100" => "+OK";
        "BF.RESERVE power 1e-2 100" => "+OK";
        // The limits themselves.
        "BF.RESERVE least 0.01 1" => "+OK";
        "BF.RESERVE fastest 0.01 1 EXPANSION 32768" => "+OK";
        "BF.RESERVE finest 1e-15 1 NONSCALING" => "+OK";
    ]);
}

#[test]
fn an_error_rate_above_a_quarter_becomes_a_quarter() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.9 100 NONSCALING" => "+OK";
        "BF.DEBUG k" => "*[$6 size:0 $<n> bytes:<n> bits:<n> hashes:<n> hashwidth:64 capacity:100 size:0 ratio:0.25]";
        "BF.RESERVE almost 0.999999 100" => "+OK";
    ]);
}

#[test]
fn unusable_numbers_are_refused() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k abc 100" => "-ERR bad error rate";
        r#"BF.RESERVE k "" 100"# => "-ERR bad error rate";
        "BF.RESERVE k nan 100" => "-ERR bad error rate";
        r#"BF.RESERVE k " 0.01" 100"# => "-ERR bad error rate";
        "BF.RESERVE k 0.01x 100" => "-ERR bad error rate";
        "BF.RESERVE k 0 100" => "-ERR error rate must be in the range (0.000000, 1.000000)";
        "BF.RESERVE k 1 100" => "-ERR error rate must be in the range (0.000000, 1.000000)";
        "BF.RESERVE k -0.01 100" => "-ERR error rate must be in the range (0.000000, 1.000000)";
        "BF.RESERVE k 1.5 100" => "-ERR error rate must be in the range (0.000000, 1.000000)";
        "BF.RESERVE k inf 100" => "-ERR error rate must be in the range (0.000000, 1.000000)";
        "BF.RESERVE k 0.01 abc" => "-ERR bad capacity";
        r#"BF.RESERVE k 0.01 """# => "-ERR bad capacity";
        "BF.RESERVE k 0.01 1.5" => "-ERR bad capacity";
        "BF.RESERVE k 0.01 9223372036854775808" => "-ERR bad capacity";
        "BF.RESERVE k 0.01 18446744073709551616" => "-ERR bad capacity";
        "BF.RESERVE k 0.01 0" => "-ERR capacity must be in the range [1, 1099511627776]";
        "BF.RESERVE k 0.01 -1" => "-ERR capacity must be in the range [1, 1099511627776]";
        "BF.RESERVE k 0.01 1099511627777" => "-ERR capacity must be in the range [1, 1099511627776]";
        "BF.RESERVE k 0.01 9223372036854775807" => "-ERR capacity must be in the range [1, 1099511627776]";
        "BF.RESERVE k 0.01 100 EXPANSION abc" => "-ERR bad expansion";
        "BF.RESERVE k 0.01 100 EXPANSION 1.5" => "-ERR bad expansion";
        "BF.RESERVE k 0.01 100 EXPANSION -1" => "-ERR expansion must be in the range [0, 32768]";
        "BF.RESERVE k 0.01 100 EXPANSION 32769" => "-ERR expansion must be in the range [0, 32768]";
        "BF.RESERVE k 0.01 100 EXPANSION" => "-ERR no expansion";
        "BF.RESERVE k 0.01 100 NONSCALING EXPANSION" => "-ERR no expansion";
        "EXISTS k" => ":0";
    ]);
}

#[test]
fn error_rates_below_the_minimum_of_the_layout_are_refused() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 9e-16 100 NONSCALING" => "-ERR error rate is too small for this layout: a layer would need 9.0e-16, below 1e-15 or capacity / 2^64";
        "BF.RESERVE k 1e-16 100" => "-ERR error rate is too small for this layout: a layer would need 5.0e-17, below 1e-15 or capacity / 2^64";
        "BF.RESERVE k 1e-300 1073741824" => "-ERR error rate is too small for this layout: a layer would need 5.0e-301, below 1e-15 or capacity / 2^64";
        // The first layer of a scaling filter gets half of the rate.
        "BF.RESERVE k 1e-15 100" => "-ERR error rate is too small for this layout: a layer would need 5.0e-16, below 1e-15 or capacity / 2^64";
        "BF.INSERT k ERROR 1e-16 ITEMS a" => "-ERR error rate is too small for this layout: a layer would need 5.0e-17, below 1e-15 or capacity / 2^64";
        "EXISTS k" => ":0";
        "BF.RESERVE k 2e-15 100" => "+OK";
    ]);
}

/// The least numbers of all: a part of them is 0. RedisBloom's layout has RedisBloom's reply, and
/// that of valkey-bloom has these rates.
#[test]
fn least_error_rates_are_refused_with_the_minimum() {
    const REPLY: &str = "-ERR error rate is too small for this layout: a layer would need <any>, \
        below 1e-15 or capacity / 2^64";
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for rate in ["4.9E-324", "1e-323", "9e-323", "1e-310", "1e-300", "9e-16"] {
            for options in [
                "",
                " EXPANSION 1",
                " NONSCALING",
                " WINDOW 60",
                " WINDOW 60 NONSCALING",
                " LAST",
                " LAST NOREFRESH",
                " GENERATIONS 64",
                " GENERATIONS 64 NONSCALING",
            ] {
                for call in [
                    format!("BF.RESERVE k {rate} 100{options}"),
                    format!("BF.INSERT k ERROR {rate}{options} ITEMS a"),
                ] {
                    let found = client.ask(&call);
                    assert!(matches(REPLY, &found) && !found.contains("0.0e0"), "{call}: {found}");
                }
            }
            let found = client.ask(&format!("CF.RESERVE k 100 ERROR {rate}"));
            assert!(found.contains("out of range: 5e-7 or above, below 1"), "{rate}: {found}");
        }
        assert_eq!(
            client.ask("BF.RESERVE k 4.9E-324 100 LAYOUT REDISBLOOM"),
            "-ERR could not create filter"
        );
        assert_eq!(client.ask("BF.RESERVE k 4.9E-324 100 LAYOUT VALKEY-BLOOM"), "+OK");

        let server = Setup::new().module_args("bf-error-rate 4.9E-324").start(kind);
        let mut client = server.resp2();
        for call in ["BF.ADD k a", "BF.MADD k a b", "BF.INSERT k ITEMS a", "BF.BULKADD k LINES a"] {
            let found = client.ask(call);
            assert!(matches(REPLY, &found), "{call}: {found}");
        }
    });
}

#[test]
fn a_nonscaling_filter_takes_no_expansion() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.01 100 EXPANSION 2 NONSCALING" => "-Nonscaling filters cannot expand";
        "BF.RESERVE k 0.01 100 NONSCALING EXPANSION 2" => "-Nonscaling filters cannot expand";
        // This check precedes that of the range.
        "BF.RESERVE k 0.01 100 EXPANSION 32769 NONSCALING" => "-Nonscaling filters cannot expand";
        "EXISTS k" => ":0";
    ]);
}

#[test]
fn unknown_arguments_are_named() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.01 100 bogus" => "-Unknown argument received: 'bogus'";
        "BF.RESERVE k 0.01 100 EXP 2" => "-Unknown argument received: 'EXP'";
        "BF.RESERVE k 0.01 100 NOSCALE" => "-Unknown argument received: 'NOSCALE'";
        "BF.RESERVE k 0.01 100 EXPANSION 2 NONSCALINGS" => "-Unknown argument received: 'NONSCALINGS'";
        r#"BF.RESERVE k 0.01 100 """# => "-Unknown argument received: ''";
        "EXISTS k" => ":0";
    ]);
}

#[test]
fn option_names_are_not_recognised_as_keys_or_numbers() {
    Setup::new().check_rows(rows![
        "BF.RESERVE NONSCALING 0.01 100" => "+OK";
        "BF.INFO NONSCALING EXPANSION" => "*[:2]" | "%{+Expansion rate :2}";
        "BF.RESERVE EXPANSION 0.01 100" => "+OK";
        "BF.RESERVE k NONSCALING 100" => "-ERR bad error rate";
        "BF.RESERVE k 0.01 EXPANSION" => "-ERR bad capacity";
        "BF.RESERVE k 0.01 100 EXPANSION NONSCALING" => "-ERR bad expansion";
    ]);
}

#[test]
fn arguments_are_checked_before_the_key() {
    Setup::new().check_rows(rows![
        "SET text value" => "+OK";
        "BF.RESERVE k 0.01 100" => "+OK";
        "BF.RESERVE k 0.01 100" => "-ERR item exists";
        "BF.RESERVE text 0.01 100" => "-WRONGTYPE Operation against a key holding the wrong kind of value";
        "BF.RESERVE k x y EXPANSION z" => "-ERR bad error rate";
        "BF.RESERVE k 2 y EXPANSION z" => "-ERR error rate must be in the range (0.000000, 1.000000)";
        "BF.RESERVE k 0.01 y EXPANSION z" => "-ERR bad capacity";
        "BF.RESERVE k 0.01 0 EXPANSION z" => "-ERR capacity must be in the range [1, 1099511627776]";
        "BF.RESERVE k 0.01 100 EXPANSION z" => "-ERR bad expansion";
        "BF.RESERVE text 0.01 100 EXPANSION 5 NONSCALING" => "-Nonscaling filters cannot expand";
        "GET text" => "$5 value";
    ]);
}
