//! Packed items: BF.BULKADD, BF.BULKEXISTS, CF.BULKADD, CF.BULKEXISTS and CF.BULKDEL. Their replies
//! are the same in both protocols.
//!
//! Calls of random items in all forms are compared with filters in this process by `life`.

use bloomline_harness::{Setup, matches, rows};

use crate::inspect::totals;

/// Rates at which no reply of these tests is a false positive.
fn with_small_rates() -> Setup {
    Setup::new().module_args("bf-error-rate 0.0000001 cf-error-rate 0.00001")
}

#[test]
fn each_new_item_has_its_bit_or_is_counted() {
    with_small_rates().check_rows(rows![
        r"BF.BULKADD k FIXED 1 abcdefghi" => r"*[:9 $2 \xff\x80]";
        r#"BF.BULKADD k LINES "a\nnew\nb""# => "*[:3 $1 @]";
        r"BF.BULKADD k FIXED 1 abc COUNT" => "*[:3 :0]";
        r#"BF.BULKADD k PREFIXED "\x01\x00\x00\x00x" COUNT"# => "*[:1 :1]";
        r#"BF.BULKADD k COUNT PREFIXED "\x01\x00\x00\x00y""# => "*[:1 :1]";
        r#"BF.BULKADD k PREFIXED "\x00\x00\x00\x00""# => r"*[:1 $1 \x80]";
        r#"BF.BULKADD k PREFIXED "\x00\x00\x00\x00""# => r"*[:1 $1 \x00]";
        r"BF.BULKEXISTS k FIXED 1 aXbYcZaX" => r"*[:8 $1 \xaa]";
        r"BF.BULKEXISTS k FIXED 1 aXbYcZaXX" => r"*[:9 $2 \xaa\x00]";
        r#"BF.BULKEXISTS k LINES "new\nold" COUNT"# => "*[:2 :1]";
        r#"BF.BULKEXISTS k COUNT LINES "new\nold""# => "*[:2 :1]";
        r"BF.BULKEXISTS k COUNT FIXED 3 newold" => "*[:2 :1]";
        r#"BF.BULKEXISTS k PREFIXED "\x00\x00\x00\x00""# => r"*[:1 $1 \x80]";
        r"BF.CARD k" => ":13";
        // Packed and plain items are the same items.
        r"BF.MEXISTS k a new x z" => "*[:1 :1 :1 :0]" | "*[#t #t #t #f]";
        // Names have any case.
        r"Bf.BulkAdd K Lines c count" => "*[:1 :1]";
        r#"BF.BULKADD K cOuNt pReFiXeD "\x01\x00\x00\x00d""# => "*[:1 :1]";
        r#"bf.bulkexists K count lines "c\nd\nA""# => "*[:3 :2]";
        // The data may be a name, too.
        r"BF.BULKADD COUNT LINES COUNT" => r"*[:1 $1 \x80]";
        r"BF.BULKADD COUNT COUNT LINES LINES" => "*[:1 :1]";
        r"BF.BULKADD COUNT LINES FIXED COUNT" => "*[:1 :1]";
        r"BF.MEXISTS COUNT COUNT LINES FIXED" => "*[:1 :1 :1]" | "*[#t #t #t]";
    ]);
}

#[test]
fn empty_lines_answer_0_and_are_no_items() {
    with_small_rates().check_rows(rows![
        r#"BF.BULKADD k LINES "a\r\nb\r\n\r\nc""# => r"*[:4 $1 \xd0]";
        r#"BF.BULKADD k LINES "\n\na\n\nd\n\n\ne\r\r\n\n""# => r"*[:9 $2 \t\x00]";
        r#"BF.BULKEXISTS k LINES "\n\na\n\nd\n\n\ne\r\r\n\n""# => r"*[:9 $2 )\x00]";
        r#"BF.BULKEXISTS k LINES "\n\na\n\nd\n\n\ne\r\r\n\n" COUNT"# => "*[:9 :3]";
        r#"BF.MEXISTS k "a" "e\r" "e" """# => "*[:1 :1 :0 :0]" | "*[#t #t #f #f]";
        // Empty lines and no data create no filter.
        r#"BF.BULKADD missing LINES "\r\n\n\r""# => r"*[:3 $1 \x00]";
        r#"BF.BULKADD missing LINES """# => "*[:0 $0 ]";
        r#"BF.BULKADD missing PREFIXED "" COUNT"# => "*[:0 :0]";
        r#"BF.BULKEXISTS missing COUNT FIXED 8 """# => "*[:0 :0]";
        r#"CF.BULKADD missing FIXED 8 """# => "*[:0 $0 ]";
        "EXISTS missing" => ":0";
        // No data is no item of any type.
        "SET text value" => "+OK";
        r#"BF.BULKADD text FIXED 8 """# => "*[:0 $0 ]";
        r#"BF.BULKADD text LINES "" COUNT"# => "*[:0 :0]";
        r#"BF.BULKEXISTS text COUNT PREFIXED """# => "*[:0 :0]";
    ]);
}

#[test]
fn a_bloom_filter_without_room_ends_the_call() {
    with_small_rates().check_rows(rows![
        "BF.RESERVE full 0.0000001 2 NONSCALING" => "+OK";
        r#"BF.BULKADD full LINES "\na\n\r\nb\n\na\n\nc\n\nd\n""# => "*[:7 $1 P -ERR non scaling filter is full]";
        r#"BF.BULKADD full COUNT LINES "\na\n\r\nb\n\na\n\nc\n\nd\n""# => "-ERR non scaling filter is full: line 8 of 10 was refused, 0 of the 7 before it were new";
        // A call with the rest begins with the line that was refused.
        r#"BF.BULKADD full LINES "c\n\nd\n""# => "*[:0 $0  -ERR non scaling filter is full]";
        // Items behind it are not tested.
        "BF.BULKADD full FIXED 1 abxa" => r"*[:2 $1 \x00 -ERR non scaling filter is full]";
        "BF.BULKADD full FIXED 1 abxa COUNT" => "-ERR non scaling filter is full: item 3 of 4 was refused, 0 of the 2 before it were new";
        "BF.BULKADD full FIXED 1 ba" => r"*[:2 $1 \x00]";
        "BF.CARD full" => ":2";
    ]);
}

#[test]
fn each_copy_in_a_cuckoo_filter_is_added_and_deleted() {
    with_small_rates().check_rows(rows![
        r#"CF.BULKADD k LINES "a\nb\na""# => r"*[:3 $1 \xe0]";
        r"CF.BULKADD k FIXED 1 abcdefghi" => r"*[:9 $2 \xff\x80]";
        r#"CF.BULKADD k PREFIXED "\x01\x00\x00\x00x" COUNT"# => "*[:1 :1]";
        "CF.COUNT k a" => ":3";
        "CF.BULKEXISTS k FIXED 1 aXbYcZaX" => r"*[:8 $1 \xaa]";
        r#"CF.BULKEXISTS k COUNT LINES "a\n\nold""# => "*[:3 :1]";
        r#"CF.BULKDEL k LINES "a\nX\n\na\na\na""# => r"*[:6 $1 \x98]";
        "CF.BULKDEL k FIXED 1 bbb COUNT" => "*[:3 :2]";
        r#"CF.BULKDEL k LINES """# => "*[:0 $0 ]";
        "CF.MEXISTS k a b c" => "*[:0 :0 :1]" | "*[#f #f #t]";
        // Items without room are named, and the next ones are tried.
        "CF.RESERVE full 2 BUCKETSIZE 1 MAXITERATIONS 1 EXPANSION 0 LAYOUT REDISBLOOM" => "+OK";
        r#"CF.BULKADD full LINES "a\na\nb\nc""# => r"*[:4 $1 \x90 -Filter is full]";
        r#"CF.BULKADD full LINES "a\nb" COUNT"# => "-Filter is full: 0 of 2 lines were added";
    ]);
}

const WIDTH: &str = "-ERR width must be a positive integer";
const FORM: &str = "-ERR items must be packed as FIXED width, PREFIXED or LINES";
const MISPLACED: &str = "-ERR COUNT must come before the form or after the data: COUNT LINES data";

/// The arguments after the key, and the error.
const ERRORS: &[(&str, &str)] = &[
    ("FIXED 0 data", WIDTH),
    ("FIXED -1 data", WIDTH),
    ("FIXED four data", WIDTH),
    (r#"FIXED "4\x00" data"#, WIDTH),
    ("FIXED 18446744073709551616 data", WIDTH),
    (
        "FIXED 18446744073709551615 data",
        "-ERR the data has 4 bytes, which is no multiple of 18446744073709551615",
    ),
    ("FIXED 5 data", "-ERR the data has 4 bytes, which is no multiple of 5"),
    ("FIXED 4 datadata1", "-ERR the data has 9 bytes, which is no multiple of 4"),
    ("PACKED data", FORM),
    (r#""LINES\x00" data"#, FORM),
    ("COUNT COUNT data", FORM),
    ("data COUNT", FORM),
    ("4 FIXED data", FORM),
    ("PREFIXED data", "-ERR item 1 does not fit the 4 bytes that are left"),
    ("PREFIXED abc", "-ERR item 1 does not fit the 3 bytes that are left"),
    (r#"PREFIXED "\x01\x00\x00\x00ab""#, "-ERR item 2 does not fit the 1 bytes that are left"),
    (
        r#"PREFIXED "\x01\x00\x00\x00a\x02\x00\x00\x00b""#,
        "-ERR item 2 does not fit the 5 bytes that are left",
    ),
    // The length is little-endian, and may be any number of 32 bits.
    (r#"PREFIXED "\x00\x00\x00\x01a""#, "-ERR item 1 does not fit the 5 bytes that are left"),
    (
        r#"PREFIXED "\x01\x00\x00\x00a\xff\xff\xff\x7fb""#,
        "-ERR item 2 does not fit the 5 bytes that are left",
    ),
    (
        r#"PREFIXED "\x01\x00\x00\x00a\xfc\xff\xff\xffb""#,
        "-ERR item 2 does not fit the 5 bytes that are left",
    ),
    (
        r#"PREFIXED "\x01\x00\x00\x00a\xff\xff\xff\xffb""#,
        "-ERR item 2 does not fit the 5 bytes that are left",
    ),
    ("LINES data ALL", "-Unknown argument received: 'ALL'"),
    ("FIXED 4 data LINES", "-Unknown argument received: 'LINES'"),
    ("COUNT LINES data COUNT", "-Unknown argument received: 'COUNT'"),
    ("COUNT FIXED 4 data COUNT", "-Unknown argument received: 'COUNT'"),
    (r#"LINES data """#, "-Unknown argument received: ''"),
    // What `redis-cli -x` sends for `LINES COUNT`: the file is not shown.
    (r#"LINES COUNT "1\n2\n3""#, MISPLACED),
    ("FIXED 4 count datadata", MISPLACED),
    (r#"LINES data "1\n2\n3""#, "-Unknown argument received: '1...'"),
    (
        "LINES data https://example.org/a/page/that/is/long",
        "-Unknown argument received: 'https://example.org/a/page/that/...'",
    ),
    // The form is checked first, then the width, COUNT and the data.
    ("FIXED 0 data ALL", WIDTH),
    ("FIXED 3 data ALL", "-Unknown argument received: 'ALL'"),
    ("PREFIXED data ALL", "-Unknown argument received: 'ALL'"),
];

#[test]
fn every_error_changes_nothing() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        assert_eq!(client.ask("BF.ADD k old"), ":1");
        client.ok("SET text value");
        let before = (client.ask("DEBUG DIGEST"), totals(&mut client));
        for (args, error) in ERRORS {
            for command in
                ["BF.BULKADD", "BF.BULKEXISTS", "CF.BULKADD", "CF.BULKEXISTS", "CF.BULKDEL"]
            {
                // The arguments are checked before the key.
                for key in ["k", "missing", "text"] {
                    let line = format!("{command} {key} {args}");
                    let reply = client.ask(&line);
                    assert!(matches(error, &reply), "{line}: {reply}, not {error}");
                }
            }
        }
        assert_eq!((client.ask("DEBUG DIGEST"), totals(&mut client)), before);
        client.assert_answers_ping("the last error");
    });
}
