//! BF.STATS: its fields in both protocols, and whether they agree with BF.INFO and the bits.

use bloomline_harness::{Client, Setup, for_each_server, numbered, rows, show};
use redis::Value;

use crate::inspect::stat;
use crate::overlapping::add;
use crate::windowed::age;

/// The fields that BF.STATS returns, in RESP2.
fn stats(client: &mut Client, line: &str) -> Vec<(String, String)> {
    let Value::Array(parts) = client.call(line) else { panic!("{line}: no array") };
    assert!(parts.len().is_multiple_of(2), "{line}: {} elements", parts.len());
    let name = |value: &Value| show(value).split_once(' ').expect("a name").1.to_owned();
    parts.chunks(2).map(|pair| (name(&pair[0]), show(&pair[1]))).collect()
}

#[test]
fn all_fields_are_returned_in_order() {
    const PLAIN: &str = "$6 layout $9 bloomline $4 seed $20 18446744073709551615 \
        $10 error_rate $4 0.01 $8 capacity :100 $9 expansion :2 $5 items :0 $8 estimate :0 \
        $14 estimate_error :0 $6 layers :1 $4 size :<n> $7 fp_rate $1 0 $6 window _ \
        $11 generations _ $9 norefresh _ $9 rotations _ $6 oldest _ $6 newest _ \
        $11 layer_fills *[$1 0] $14 layer_fp_rates *[$1 0]";
    const WINDOW: &str = "$6 layout $9 bloomline $4 seed $1 0 \
        $10 error_rate $4 0.01 $8 capacity :100 $9 expansion _ $5 items :0 $8 estimate :0 \
        $14 estimate_error :0 $6 layers :1 $4 size :<n> $7 fp_rate $1 0 $6 window :60 \
        $11 generations :8 $9 norefresh :1 $9 rotations :0 $6 oldest :<n> $6 newest :<n> \
        $11 layer_fills *[$1 0] $14 layer_fp_rates *[$1 0]";
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        for (mut client, open, close) in [
            (server.resp2(), "*[", "]"),
            (server.resp3(), if kind.is_before_7() { "*[" } else { "%{" }, "}"),
        ] {
            let close = if open == "*[" { "]" } else { close };
            client.ok("FLUSHALL");
            client.ok("BF.RESERVE k 0.01 100 SEED 18446744073709551615");
            client.ok("BF.RESERVE w 0.01 100 SEED 0 WINDOW 60 GENERATIONS 8 NOREFRESH NONSCALING");
            for (key, fields) in [("k", PLAIN), ("w", WINDOW)] {
                let (reply, expected) =
                    (client.ask(&format!("BF.STATS {key}")), format!("{open}{fields}{close}"));
                assert!(bloomline_harness::matches(&expected, &reply), "{reply}\n{expected}");
            }
        }
    });
}

#[test]
fn named_fields_are_returned_once_in_order() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.01 100" => "+OK";
        "BF.STATS k items" => "*[$5 items :0]" | "%{$5 items :0}";
        "bf.stats k Items CAPACITY items" => "*[$8 capacity :100 $5 items :0]" | "%{$8 capacity :100 $5 items :0}";
        "BF.STATS k fill" => "-Unknown argument received: 'fill'";
        "BF.STATS k items fill" => "-Unknown argument received: 'fill'";
        r#"BF.STATS k """# => "-Unknown argument received: ''";
        "BF.STATS k" => "<any>";
        "BF.RESERVE b 0.01 100 LAYOUT REDISBLOOM NONSCALING" => "+OK";
        "BF.STATS b layout seed expansion" => "*[$6 layout $10 redisbloom $4 seed _ $9 expansion _]" | "%{$6 layout $10 redisbloom $4 seed _ $9 expansion _}";
        "BF.RESERVE l 0.01 100 LAST GENERATIONS 4" => "+OK";
        "BF.STATS l window generations norefresh" => "*[$6 window $4 LAST $11 generations :4 $9 norefresh :0]" | "%{$6 window $4 LAST $11 generations :4 $9 norefresh :0}";
        "BF.RESERVE m 0.01 100 GENERATIONS 4" => "+OK";
        "BF.ROTATE m" => "+OK";
        "BF.STATS m window rotations layers" => "*[$6 layers :2 $6 window $6 MANUAL $9 rotations :1]" | "%{$6 layers :2 $6 window $6 MANUAL $9 rotations :1}";
    ]);
}

#[test]
fn fields_are_those_of_info_in_every_kind_of_filter() {
    Setup::new().on_shared_servers(|mut client, _| {
        for options in
            ["", "NONSCALING", "LAYOUT REDISBLOOM", "WINDOW 8000000", "LAST", "GENERATIONS 2"]
        {
            client.ok(&format!("BF.RESERVE k 0.01 200 {options}"));
            client.items("BF.MADD", "k", &numbered("item", 150));
            if options.starts_with("WINDOW") {
                age(&mut client, "k", 2_000_000_000);
                client.items("BF.MADD", "k", &numbered("other", 10));
            }
            let all = stats(&mut client, "BF.STATS k");
            let value = |name: &str| {
                let field = all.iter().find(|(other, _)| other == name);
                field.unwrap_or_else(|| panic!("no {name}")).1.clone()
            };
            for (field, token) in [
                ("capacity", "CAPACITY"),
                ("expansion", "EXPANSION"),
                ("items", "ITEMS"),
                ("layers", "FILTERS"),
                ("size", "SIZE"),
            ] {
                let expected = client.ask(&format!("BF.INFO k {token}"));
                assert_eq!(format!("*[{}]", value(field)), expected, "{options}: {field}");
            }
            // The rate of the filter is that of an item which any layer contains by mistake.
            let numbers = |text: &str| -> Vec<f64> {
                let words = text.trim_start_matches("*[").trim_end_matches(']').split(' ');
                words.filter_map(|word| word.parse().ok()).collect()
            };
            let rejected: f64 =
                numbers(&value("layer_fp_rates")).iter().map(|rate| 1.0 - rate).product();
            let rate = numbers(&value("fp_rate"))[0];
            assert!((rate - (1.0 - rejected)).abs() < 1e-5, "{options}: {rate}, {rejected}");
            for (name, expected) in &all {
                let one = stats(&mut client, &format!("BF.STATS k {name}"));
                assert_eq!(one, [(name.clone(), expected.clone())], "{options}");
            }
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn seed_is_the_one_that_makes_filters_equal() {
    Setup::new().on_shared_servers(|mut client, _| {
        for options in ["", "GENERATIONS 2"] {
            client.ok(&format!("BF.RESERVE a 0.01 100 {options}"));
            assert_eq!(client.ask("BF.ADD a x"), ":1");
            let seed =
                stats(&mut client, "BF.STATS a seed")[0].1.split(' ').nth(1).map(str::to_owned);
            let seed = seed.expect("a seed");
            client.ok(&format!("BF.RESERVE b 0.01 100 {options} SEED {seed}"));
            assert_eq!(
                stats(&mut client, "BF.STATS b seed"),
                stats(&mut client, "BF.STATS a seed")
            );
            if options.is_empty() {
                client.ok("BF.MERGE b a");
                assert_eq!(client.ask("BF.EXISTS b x"), ":1");
            }
            client.ok("FLUSHALL");
        }
    });
}

/// Asserts that the estimate is within five standard errors of the truth.
fn assert_near(client: &mut Client, truth: i64) {
    let [items, error] = ["estimate", "estimate_error"].map(|name| -> i64 {
        stat(client, "k", name).trim_start_matches(':').parse().expect("a number")
    });
    assert!((items - truth).abs() <= 5 * error, "{items} with {error}, not {truth}");
    assert!(error <= 1 + truth / 20, "{items} with {error}");
}

#[test]
fn an_item_that_was_refreshed_is_estimated_once() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE k 0.000001 3000 SEED 7 GENERATIONS 3");
        for _ in 0..3 {
            add(&mut client, "k", 0..500);
            assert_near(&mut client, 500);
            client.ok("BF.ROTATE k");
            assert_near(&mut client, 500);
        }
    });
}
