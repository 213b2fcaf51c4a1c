//! BF.INSERT: options for a filter that may not exist yet.

use bloomline_harness::{Setup, for_each_server, rows};

#[test]
fn a_missing_filter_is_created_with_the_options() {
    Setup::new().check_rows(rows![
        "BF.INSERT plain ITEMS a b a" => "*[:1 :1 :0]" | "*[#t #t #f]";
        "BF.INFO plain CAPACITY" => "*[:100]" | "%{+Capacity :100}";
        "BF.INSERT k CAPACITY 7 ERROR 0.1 EXPANSION 3 ITEMS a" => "*[:1]" | "*[#t]";
        "BF.DEBUG k" => "*[$6 size:1 $<n> bytes:<n> bits:<n> hashes:<n> hashwidth:64 capacity:7 size:1 ratio:0.05]";
        "BF.INFO k EXPANSION" => "*[:3]" | "%{+Expansion rate :3}";
        // Any order, any case, the last of repeated options.
        "bf.insert lower error 0.2 expansion 5 capacity 9 capacity 11 items a" => "*[:1]" | "*[#t]";
        "BF.INFO lower CAPACITY" => "*[:11]" | "%{+Capacity :11}";
        "BF.INSERT ns CAPACITY 2 NONSCALING ITEMS a b c d" => "*[:1 :1 -ERR non scaling filter is full]" | "*[#t #t -ERR non scaling filter is full]";
        "BF.INSERT zero EXPANSION 0 ITEMS a" => "*[:1]" | "*[#t]";
        "BF.INFO zero EXPANSION" => "*[_]" | "%{+Expansion rate _}";
        // The first of repeated layouts counts. The others are checked too.
        "BF.INSERT first LAYOUT redisbloom LAYOUT bloomline ITEMS a" => "*[:1]" | "*[#t]";
        "BF.STATS first layout" => "*[$6 layout $10 redisbloom]" | "%{$6 layout $10 redisbloom}";
        "BF.INSERT junk LAYOUT bloomline LAYOUT junk ITEMS a" => "-Unknown argument received: 'junk'";
        "BF.RESERVE junk 0.01 9 LAYOUT bloomline LAYOUT junk" => "-Unknown argument received: 'junk'";
        "CF.RESERVE junk 9 LAYOUT bloomline LAYOUT junk" => "-Unknown argument received: 'junk'";
        "EXISTS junk" => ":0";
        // Here NONSCALING overrides an expansion, unlike in BF.RESERVE.
        "BF.INSERT both NONSCALING EXPANSION 4 ITEMS a" => "*[:1]" | "*[#t]";
        "BF.INFO both EXPANSION" => "*[_]" | "%{+Expansion rate _}";
    ]);
}

#[test]
fn all_arguments_after_items_are_items() {
    Setup::new().check_rows(rows![
        "BF.INSERT k ITEMS ITEMS NOCREATE CAPACITY" => "*[:1 :1 :1]" | "*[#t #t #t]";
        "BF.MEXISTS k ITEMS NOCREATE CAPACITY" => "*[:1 :1 :1]" | "*[#t #t #t]";
        r#"BF.INSERT k ITEMS "" "\xff""# => "*[:1 :1]" | "*[#t #t]";
        "BF.INSERT window ITEMS WINDOW LAST GENERATIONS NOREFRESH TTL SEED 7" => "*[:1 :1 :1 :1 :1 :1 :1]" | "*[#t #t #t #t #t #t #t]";
        "BF.STATS window window" => "*[$6 window _]" | "%{$6 window _}";
        "TTL window" => ":-1";
        "BF.INSERT ITEMS ITEMS a" => "*[:1]" | "*[#t]";
        "BF.INSERT NOCREATE ITEMS a" => "*[:1]" | "*[#t]";
        "BF.EXISTS NOCREATE a" => ":1" | "#t";
    ]);
}

#[test]
fn an_existing_filter_keeps_its_parameters() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.01 50 EXPANSION 4" => "+OK";
        "BF.INSERT k CAPACITY 7 ERROR 0.1 EXPANSION 3 ITEMS a" => "*[:1]" | "*[#t]";
        "BF.INSERT k NOCREATE CAPACITY 7 NONSCALING ITEMS a b" => "*[:0 :1]" | "*[#f #t]";
        "BF.INFO k CAPACITY" => "*[:50]" | "%{+Capacity :50}";
        "BF.INFO k EXPANSION" => "*[:4]" | "%{+Expansion rate :4}";
    ]);
}

#[test]
fn nocreate_fails_on_a_missing_key() {
    Setup::new().check_rows(rows![
        "BF.INSERT k NOCREATE ITEMS a" => "-ERR not found";
        "BF.INSERT k nocreate CAPACITY 10 ERROR 0.01 ITEMS a" => "-ERR not found";
        "EXISTS k" => ":0";
    ]);
}

#[test]
fn unusable_numbers_are_refused_even_without_effect() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.01 50" => "+OK";
        "BF.INSERT k CAPACITY x ITEMS a" => "-Bad capacity";
        "BF.INSERT new CAPACITY -5 ITEMS a" => "-Bad capacity";
        "BF.INSERT new CAPACITY 1099511627777 ITEMS a" => "-Bad capacity";
        "BF.INSERT new CAPACITY 18446744073709551616 ITEMS a" => "-Bad capacity";
        "BF.INSERT new CAPACITY 1.5 ITEMS a" => "-Bad capacity";
        "BF.INSERT k ERROR x ITEMS a" => "-Bad error rate";
        "BF.INSERT k ERROR 0 ITEMS a" => "-Bad error rate";
        "BF.INSERT new ERROR 1 ITEMS a" => "-Bad error rate";
        "BF.INSERT new ERROR nan ITEMS a" => "-Bad error rate";
        "BF.INSERT new ERROR -0.1 ITEMS a" => "-Bad error rate";
        "BF.INSERT k EXPANSION x ITEMS a" => "-Bad expansion";
        "BF.INSERT new EXPANSION -1 ITEMS a" => "-Bad expansion";
        "BF.INSERT new EXPANSION 32769 ITEMS a" => "-Bad expansion";
        "BF.INSERT new NOCREATE CAPACITY x ITEMS a" => "-Bad capacity";
        "EXISTS new" => ":0";
        "BF.CARD k" => ":0";
    ]);
}

/// One item 17 times, more than a list of hashes has, and one item once.
#[test]
fn sizes_follow_from_the_items_and_not_the_arguments() {
    const SAME: &str = "a a a a a a a a a a a a a a a a a";
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for call in [
            "BF.ADD k a",
            &format!("BF.INSERT k ITEMS {SAME}"),
            &format!("BF.INSERT k NONSCALING ITEMS {SAME}"),
            &format!("BF.INSERT k CAPACITY 39 ITEMS {SAME}"),
            &format!("BF.MADD k {SAME}"),
            &format!("BF.BULKADD k FIXED 1 {}", SAME.replace(' ', "")),
            &format!("BF.BULKADD k FIXED 1 {}", "a".repeat(10_000)),
        ] {
            client.ask(call);
            for _ in 0..2 {
                assert_eq!(client.ask("BF.INFO k SIZE"), "*[:48]", "{call}");
                client.ask(&format!("BF.MADD k {SAME}"));
                assert_eq!(client.ask("COPY k copy"), ":1");
                client.ok("RENAME copy k");
            }
            assert_eq!(client.ask("BF.CARD k"), ":1");
            client.ask("DEL k");
        }
    });
}

#[test]
fn unknown_arguments_are_named() {
    Setup::new().check_rows(rows![
        "BF.INSERT k foo ITEMS a" => "-Unknown argument received: 'foo'";
        "BF.INSERT k CAP 7 ITEMS a" => "-Unknown argument received: 'CAP'";
        "BF.INSERT k ERR 0.1 ITEMS a" => "-Unknown argument received: 'ERR'";
        "BF.INSERT k NOSCALE ITEMS a" => "-Unknown argument received: 'NOSCALE'";
        "BF.INSERT k item a" => "-Unknown argument received: 'item'";
        r#"BF.INSERT k "" ITEMS a"# => "-Unknown argument received: ''";
        "EXISTS k" => ":0";
    ]);
}
