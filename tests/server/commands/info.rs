//! BF.INFO, BF.DEBUG: exactly the fields that client libraries read.

use bloomline_harness::{Setup, matches, rows};

#[test]
fn info_has_five_fields_in_a_fixed_order() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.001 2000" => "+OK";
        "BF.INFO k" => "*[+Capacity :2000 +Size :<n> +Number of filters :1 +Number of items inserted :0 +Expansion rate :2]" | "%{+Capacity :2000 +Size :<n> +Number of filters :1 +Number of items inserted :0 +Expansion rate :2}";
        "BF.RESERVE ns 0.001 2000 NONSCALING" => "+OK";
        "BF.INFO ns" => "*[+Capacity :2000 +Size :<n> +Number of filters :1 +Number of items inserted :0 +Expansion rate _]" | "%{+Capacity :2000 +Size :<n> +Number of filters :1 +Number of items inserted :0 +Expansion rate _}";
    ]);
}

#[test]
fn one_field_is_returned_under_its_long_name() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.001 2000" => "+OK";
        "BF.MADD k a b c" => "*[:1 :1 :1]" | "*[#t #t #t]";
        "BF.INFO k CAPACITY" => "*[:2000]" | "%{+Capacity :2000}";
        "BF.INFO k SIZE" => "*[:<n>]" | "%{+Size :<n>}";
        "BF.INFO k FILTERS" => "*[:1]" | "%{+Number of filters :1}";
        "BF.INFO k ITEMS" => "*[:3]" | "%{+Number of items inserted :3}";
        "BF.INFO k EXPANSION" => "*[:2]" | "%{+Expansion rate :2}";
        "bf.info k cApacity" => "*[:2000]" | "%{+Capacity :2000}";
        "BF.INFO k CAP" => "-Invalid information value";
        "BF.INFO k CAPACITYX" => "-Invalid information value";
        r#"BF.INFO k """# => "-Invalid information value";
    ]);
}

#[test]
fn debug_shows_the_layers_oldest_first() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.001 3 EXPANSION 4" => "+OK";
        "BF.MADD k a b c d" => "*[:1 :1 :1 :1]" | "*[#t #t #t #t]";
        "BF.DEBUG k" => "*[$6 size:4 $<n> bytes:<n> bits:<n> hashes:<n> hashwidth:64 capacity:3 size:3 ratio:0.0005 $<n> bytes:<n> bits:<n> hashes:<n> hashwidth:64 capacity:12 size:1 ratio:<any>]";
    ]);
}

#[test]
fn size_is_equal_for_equal_filters() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE one 0.01 100000");
        client.ok("BF.RESERVE another 0.01 100000");
        let size = client.ask("BF.INFO one SIZE");
        assert_eq!(size, client.ask("BF.INFO another SIZE"));
        // At an error rate of 0.5 %, 100,000 items take 11 to 12 bits each.
        let bytes: u64 = size.trim_matches(['*', '[', ']', ':']).parse().expect("a number");
        assert!((137_000..152_000).contains(&bytes), "{bytes}");
    });
}

#[test]
fn valkey_blooms_fields_are_returned_by_name() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.01 100 LAYOUT valkey-bloom" => "+OK";
        "BF.INFO k ERROR" => "*[$4 0.01]" | "%{+Error rate $4 0.01}";
        "BF.INFO k tightening" => "*[$3 0.5]" | "%{+Tightening ratio $3 0.5}";
        "BF.INFO k MAXSCALEDCAPACITY" => "*[:<n>]" | "%{+Max scaled capacity :<n>}";
        "BF.RESERVE fixed 0.01 100 NONSCALING LAYOUT valkey-bloom" => "+OK";
        "BF.INFO fixed MAXSCALEDCAPACITY" => "-Invalid information value";
    ]);
}

/// Clients fail at other fields, so only BF.STATS has them. Those of valkey-bloom are fields of its
/// layout.
#[test]
fn other_fields_are_unknown() {
    Setup::new().on_each_server(|mut client, _| {
        for options in ["", "LAYOUT REDISBLOOM", "WINDOW 60", "LAYOUT valkey-bloom"] {
            client.ok(&format!("BF.RESERVE k 0.01 100 {options}"));
            for (field, value) in [
                ("ERROR", Some("$4 0.01")),
                ("tightening", Some("$3 0.5")),
                ("MAXSCALEDCAPACITY", Some(":<n>")),
                ("LAYOUT", None),
                ("FILL", None),
                ("FPRATE", None),
                ("WINDOW", None),
                ("GENERATIONS", None),
                ("OLDEST", None),
                ("NEWEST", None),
                ("ESTIMATE", None),
                ("FILTER", None),
            ] {
                let value = value.filter(|_| options == "LAYOUT valkey-bloom");
                let expected = value
                    .map_or("-Invalid information value".to_owned(), |value| format!("*[{value}]"));
                let reply = client.ask(&format!("BF.INFO k {field}"));
                assert!(matches(&expected, &reply), "{options}, {field}: {reply}");
            }
            client.ok("FLUSHALL");
        }
    });
}
