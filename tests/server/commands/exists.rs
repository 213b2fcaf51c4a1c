//! BF.EXISTS, BF.MEXISTS: replies, and no errors about keys.

use bloomline_harness::{Setup, rows};

#[test]
fn items_are_present_or_absent() {
    Setup::new().check_rows(rows![
        "BF.MADD k a b" => "*[:1 :1]" | "*[#t #t]";
        "BF.EXISTS k a" => ":1" | "#t";
        "BF.EXISTS k z" => ":0" | "#f";
        "BF.MEXISTS k a z b z" => "*[:1 :0 :1 :0]" | "*[#t #f #t #f]";
        "BF.MEXISTS k z" => "*[:0]" | "*[#f]";
    ]);
}

#[test]
fn missing_keys_and_other_types_hold_no_items() {
    Setup::new().check_rows(rows![
        "SET text a" => "+OK";
        "BF.EXISTS absent a" => ":0" | "#f";
        "BF.MEXISTS absent a b" => "*[:0 :0]" | "*[#f #f]";
        "BF.EXISTS text a" => ":0" | "#f";
        "BF.MEXISTS text a b c" => "*[:0 :0 :0]" | "*[#f #f #f]";
        "EXISTS absent" => ":0";
    ]);
}
