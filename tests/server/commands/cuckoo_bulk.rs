//! CF.BULKADD, CF.BULKEXISTS and CF.BULKDEL: their replies, which are the same in both protocols.
//!
//! Their arguments are parsed as those of BF.BULKADD.

use bloomline_harness::{Setup, rows};

#[test]
fn each_copy_is_added_and_deleted() {
    Setup::new().module_args("cf-error-rate 0.00001").check_rows(rows![
        "CF.BULKADD k LINES \"a\\nb\\na\"" => "*[:3 $1 \\xe0]";
        "CF.BULKADD k FIXED 1 abcdefghi" => "*[:9 $2 \\xff\\x80]";
        "CF.BULKADD k PREFIXED \"\\x01\\x00\\x00\\x00x\" COUNT" => "*[:1 :1]";
        "CF.COUNT k a" => ":3";
        "CF.BULKEXISTS k FIXED 1 aXbYcZaX" => "*[:8 $1 \\xaa]";
        "CF.BULKEXISTS k COUNT LINES \"a\\n\\nold\"" => "*[:3 :1]";
        "CF.BULKDEL k LINES \"a\\nX\\n\\na\\na\\na\"" => "*[:6 $1 \\x98]";
        "CF.BULKDEL k FIXED 1 bbb COUNT" => "*[:3 :2]";
        "CF.BULKDEL k LINES \"\"" => "*[:0 $0 ]";
        "CF.MEXISTS k a b c" => "*[:0 :0 :1]" | "*[#f #f #t]";
        "CF.BULKDEL nothing LINES a" => "-Not found";
        "CF.BULKEXISTS nothing LINES a" => "*[:1 $1 \\x00]";
        "CF.BULKADD new LINES \"\"" => "*[:0 $0 ]";
        "EXISTS new" => ":0";
        "CF.BULKADD k FIXED 2 abc" => "-ERR the data has 3 bytes, which is no multiple of 2";
        "CF.BULKADD k WORDS a" => "-ERR items must be packed as FIXED width, PREFIXED or LINES";
        "SET text value" => "+OK";
        "CF.BULKADD text LINES a" => "-WRONGTYPE <any>";
        "CF.BULKDEL text LINES a" => "-Not found";
        "CF.BULKEXISTS text LINES a" => "*[:1 $1 \\x00]";
    ]);
}

#[test]
fn items_without_room_are_named_and_the_next_are_tried() {
    Setup::new().check_rows(rows![
        "CF.RESERVE full 2 BUCKETSIZE 1 MAXITERATIONS 1 EXPANSION 0 LAYOUT REDISBLOOM" => "+OK";
        "CF.BULKADD full LINES \"a\\na\\nb\\nc\"" => "*[:4 $1 \\x90 -Filter is full]";
        "CF.BULKADD full LINES \"a\\nb\" COUNT" => "-Filter is full: 0 of 2 lines were added";
    ]);
}
