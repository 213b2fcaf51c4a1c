//! Shapes of replies, in both protocols, and keys that hold no filter.

use bloomline_harness::{Setup, rows};

#[test]
fn replies_are_the_same_in_both_protocols() {
    with_small_rate().check_rows(rows![
        "BF.BULKADD k FIXED 1 abcdefghi" => "*[:9 $2 \\xff\\x80]";
        "BF.BULKADD k LINES \"a\\nnew\\nb\"" => "*[:3 $1 @]";
        "BF.BULKADD k FIXED 1 abc COUNT" => "*[:3 :0]";
        "BF.BULKADD k PREFIXED \"\\x01\\x00\\x00\\x00x\" COUNT" => "*[:1 :1]";
        "BF.BULKADD k COUNT PREFIXED \"\\x01\\x00\\x00\\x00y\"" => "*[:1 :1]";
        "BF.BULKADD k PREFIXED \"\\x00\\x00\\x00\\x00\"" => "*[:1 $1 \\x80]";
        "BF.BULKADD k PREFIXED \"\\x00\\x00\\x00\\x00\"" => "*[:1 $1 \\x00]";
        "BF.BULKEXISTS k FIXED 1 aXbYcZaX" => "*[:8 $1 \\xaa]";
        "BF.BULKEXISTS k FIXED 1 aXbYcZaXX" => "*[:9 $2 \\xaa\\x00]";
        "BF.BULKEXISTS k LINES \"new\\nold\" COUNT" => "*[:2 :1]";
        "BF.BULKEXISTS k COUNT LINES \"new\\nold\"" => "*[:2 :1]";
        "BF.BULKEXISTS k COUNT FIXED 3 newold" => "*[:2 :1]";
        "BF.BULKEXISTS k PREFIXED \"\\x00\\x00\\x00\\x00\"" => "*[:1 $1 \\x80]";
        "BF.CARD k" => ":13";
    ]);
}

/// A rate at which no reply of these tests is a false positive.
fn with_small_rate() -> Setup {
    Setup::new().module_args("bf-error-rate 0.0000001")
}

#[test]
fn case_of_words_does_not_matter() {
    with_small_rate().check_rows(rows![
        "bf.bulkadd k fixed 1 ab" => "*[:2 $1 \\xc0]";
        "Bf.BulkAdd k Lines c count" => "*[:1 :1]";
        "BF.BULKADD k cOuNt pReFiXeD \"\\x01\\x00\\x00\\x00d\"" => "*[:1 :1]";
        "bf.bulkexists k count lines \"a\\nd\\nA\"" => "*[:3 :2]";
        "bf.bulkexists k Fixed 1 abcdA" => "*[:5 $1 \\xf0]";
        "BF.BULKEXISTS K FIXED 1 a" => "*[:1 $1 \\x00]";
    ]);
}

#[test]
fn data_may_be_a_word_of_the_syntax() {
    with_small_rate().check_rows(rows![
        "BF.BULKADD COUNT LINES COUNT" => "*[:1 $1 \\x80]";
        "BF.BULKADD COUNT COUNT LINES LINES COUNT" => "-Unknown argument received: 'COUNT'";
        "BF.BULKADD COUNT COUNT LINES LINES" => "*[:1 :1]";
        "BF.BULKADD COUNT LINES FIXED COUNT" => "*[:1 :1]";
        "BF.MEXISTS COUNT COUNT LINES FIXED" => "*[:1 :1 :1]" | "*[#t #t #t]";
    ]);
}

#[test]
fn other_types_are_refused_and_hold_no_items() {
    Setup::new().check_rows(rows![
        "SET text a" => "+OK";
        "BF.BULKADD text FIXED 1 a" => "-WRONGTYPE <any>";
        "BF.BULKADD text LINES a COUNT" => "-WRONGTYPE <any>";
        "BF.BULKADD text PREFIXED \"\\x01\\x00\\x00\\x00a\"" => "-WRONGTYPE <any>";
        "BF.BULKEXISTS text FIXED 1 aaaaaaaaa" => "*[:9 $2 \\x00\\x00]";
        "BF.BULKEXISTS text LINES a COUNT" => "*[:1 :0]";
        "BF.BULKEXISTS missing FIXED 1 aaaaaaaaa" => "*[:9 $2 \\x00\\x00]";
        "BF.BULKEXISTS missing LINES a COUNT" => "*[:1 :0]";
        "EXISTS missing" => ":0";
        "GET text" => "$1 a";
    ]);
}
