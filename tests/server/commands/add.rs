//! BF.ADD, BF.MADD, BF.EXISTS, BF.MEXISTS, BF.CARD: which items are new and which are present, and
//! what happens when there is no room.

use bloomline_harness::{Setup, rows};

#[test]
fn an_item_is_new_once() {
    Setup::new().check_rows(rows![
        "BF.ADD k a" => ":1" | "#t";
        "BF.ADD k a" => ":0" | "#f";
        "BF.MADD k a b c" => "*[:0 :1 :1]" | "*[#f #t #t]";
        // An item twice in one call: new, then present.
        "BF.MADD k d d" => "*[:1 :0]" | "*[#t #f]";
        "BF.MADD k e" => "*[:1]" | "*[#t]";
        "BF.CARD k" => ":5";
        "BF.EXISTS k a" => ":1" | "#t";
        "BF.EXISTS k z" => ":0" | "#f";
        "BF.MEXISTS k a z b z" => "*[:1 :0 :1 :0]" | "*[#t #f #t #f]";
        "BF.MEXISTS k z" => "*[:0]" | "*[#f]";
        "BF.EXISTS absent a" => ":0" | "#f";
        "BF.MEXISTS absent a b" => "*[:0 :0]" | "*[#f #f]";
    ]);
}

#[test]
fn a_missing_key_gets_the_default_filter() {
    Setup::new().check_rows(rows![
        "BF.ADD k a" => ":1" | "#t";
        "BF.INFO k" => "*[+Capacity :100 +Size :<n> +Number of filters :1 +Number of items inserted :1 +Expansion rate :2]" | "%{+Capacity :100 +Size :<n> +Number of filters :1 +Number of items inserted :1 +Expansion rate :2}";
        "BF.DEBUG k" => "*[$6 size:1 $<n> bytes:<n> bits:<n> hashes:<n> hashwidth:64 capacity:100 size:1 ratio:0.005]";
    ]);
}

#[test]
fn items_are_bytes_and_may_be_empty() {
    Setup::new().check_rows(rows![
        r#"BF.ADD k """# => ":1" | "#t";
        r#"BF.ADD k """# => ":0" | "#f";
        r#"BF.MADD k "\x00" "\x00\x00" "\xff\xfe" " " "\r\n""# => "*[:1 :1 :1 :1 :1]" | "*[#t #t #t #t #t]";
        r#"BF.MEXISTS k "" "\x00" "\x00\x00" "\x00\x00\x00" "\xff\xfe" "\xff" " " "\r\n""# => "*[:1 :1 :1 :0 :1 :0 :1 :1]" | "*[#t #t #t #f #t #f #t #t]";
        "BF.CARD k" => ":6";
    ]);
}

#[test]
fn keys_are_bytes_and_may_be_empty() {
    Setup::new().check_rows(rows![
        r#"BF.ADD "\xff\x00\xfe" a"# => ":1" | "#t";
        r#"BF.EXISTS "\xff\x00\xfe" a"# => ":1" | "#t";
        r#"BF.CARD "\xff\x00\xff""# => ":0";
        r#"BF.ADD "" a"# => ":1" | "#t";
        r#"BF.CARD """# => ":1";
        r#"BF.INSERT "\xff\x01" NOCREATE ITEMS a"# => "-ERR not found";
        r#"BF.RESERVE "\xff\x01" 0.01 10"# => "+OK";
        "DBSIZE" => ":3";
    ]);
}

#[test]
fn a_full_nonscaling_filter_ends_the_array_with_an_error() {
    Setup::new().check_rows(rows![
        "BF.RESERVE ns 0.001 3 NONSCALING" => "+OK";
        "BF.MADD ns a b c d e f" => "*[:1 :1 :1 -ERR non scaling filter is full]" | "*[#t #t #t -ERR non scaling filter is full]";
        "BF.CARD ns" => ":3";
        // A present item needs no room.
        "BF.ADD ns a" => ":0" | "#f";
        "BF.MADD ns a b c" => "*[:0 :0 :0]" | "*[#f #f #f]";
        "BF.MADD ns c x a" => "*[:0 -ERR non scaling filter is full]" | "*[#f -ERR non scaling filter is full]";
        "BF.MADD ns x" => "*[-ERR non scaling filter is full]";
        "BF.ADD ns x" => "-ERR non scaling filter is full";
        "BF.INSERT ns ITEMS x" => "*[-ERR non scaling filter is full]";
        "BF.INSERT ns NOCREATE ITEMS b y z" => "*[:0 -ERR non scaling filter is full]" | "*[#f -ERR non scaling filter is full]";
        "BF.CARD ns" => ":3";
        "BF.MEXISTS ns a b c x" => "*[:1 :1 :1 :0]" | "*[#t #t #t #f]";
    ]);
}

#[test]
fn a_full_layer_is_followed_by_a_larger_one() {
    Setup::new().check_rows(rows![
        "BF.RESERVE k 0.0001 2 EXPANSION 3" => "+OK";
        "BF.MADD k a b" => "*[:1 :1]" | "*[#t #t]";
        "BF.INFO k FILTERS" => "*[:1]" | "%{+Number of filters :1}";
        // A duplicate does not add a layer.
        "BF.ADD k a" => ":0" | "#f";
        "BF.INFO k FILTERS" => "*[:1]" | "%{+Number of filters :1}";
        "BF.ADD k c" => ":1" | "#t";
        "BF.INFO k" => "*[+Capacity :8 +Size :<n> +Number of filters :2 +Number of items inserted :3 +Expansion rate :3]" | "%{+Capacity :8 +Size :<n> +Number of filters :2 +Number of items inserted :3 +Expansion rate :3}";
        "BF.MADD k d e f g h i" => "*[:1 :1 :1 :1 :1 :1]" | "*[#t #t #t #t #t #t]";
        "BF.INFO k CAPACITY" => "*[:26]" | "%{+Capacity :26}";
        "BF.INFO k FILTERS" => "*[:3]" | "%{+Number of filters :3}";
    ]);
}
