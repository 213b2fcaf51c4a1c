//! CF.*: the texts of all errors, and the order of the checks.

use bloomline_harness::rows;

use crate::filters::classic_cuckoo as classic;

#[test]
fn reserve_refuses_bad_numbers_in_order() {
    classic().check_rows(rows![
        "CF.RESERVE k x" => "-Bad capacity";
        "CF.RESERVE k 1.5" => "-Bad capacity";
        "CF.RESERVE k \" 5\"" => "-Bad capacity";
        "CF.RESERVE k \"\"" => "-Bad capacity";
        "CF.RESERVE k 9223372036854775808" => "-Bad capacity";
        "CF.RESERVE k x EXPANSION x" => "-Bad capacity";
        "CF.RESERVE k 1 EXPANSION x BUCKETSIZE x MAXITERATIONS x" => "-Couldn't parse MAXITERATIONS";
        "CF.RESERVE k 1 EXPANSION x BUCKETSIZE x MAXITERATIONS 0" => "-MAXITERATIONS: value must be in the range [1, 65535]";
        "CF.RESERVE k 1 MAXITERATIONS 65536" => "-MAXITERATIONS: value must be in the range [1, 65535]";
        "CF.RESERVE k 1 EXPANSION x BUCKETSIZE x MAXITERATIONS 1" => "-Couldn't parse BUCKETSIZE";
        "CF.RESERVE k 1 EXPANSION x BUCKETSIZE 0" => "-BUCKETSIZE: value must be in the range [1, 255]";
        "CF.RESERVE k 1 BUCKETSIZE 256" => "-BUCKETSIZE: value must be in the range [1, 255]";
        "CF.RESERVE k 1 BUCKETSIZE -1" => "-BUCKETSIZE: value must be in the range [1, 255]";
        "CF.RESERVE k 1 EXPANSION x BUCKETSIZE 4" => "-Couldn't parse EXPANSION";
        "CF.RESERVE k 1 EXPANSION 32769" => "-EXPANSION: value must be in the range [0, 32768]";
        "CF.RESERVE k 1 EXPANSION -1" => "-EXPANSION: value must be in the range [0, 32768]";
        // A name at the end has no value.
        "CF.RESERVE k 100 8 BUCKETSIZE" => "-Couldn't parse BUCKETSIZE";
        "CF.RESERVE BUCKETSIZE x" => "-Bad capacity";
        "CF.RESERVE k 3" => "-Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
        "CF.RESERVE k 0" => "-Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
        "CF.RESERVE k -5" => "-Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
        "CF.RESERVE k 1073741825" => "-Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
        "CF.RESERVE k 19 BUCKETSIZE 10" => "-Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
        "DBSIZE" => ":0";
        "CF.RESERVE k 20 BUCKETSIZE 10" => "+OK";
        "CF.RESERVE k 20" => "-ERR item exists";
        "CF.RESERVE k 3" => "-Capacity must be in the range [2 * BUCKETSIZE, 1073741824]";
    ]);
}

#[test]
fn insertions_refuse_the_first_wrong_word() {
    classic().check_rows(rows![
        "CF.INSERT k FOO ITEMS a" => "-Unknown argument received";
        "CF.INSERT k \"\" ITEMS a" => "-Unknown argument received";
        "CF.INSERTNX k FOO CAPACITY 1" => "-Unknown argument received";
        "CF.INSERT k CAPACITY 1 FOO" => "-Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
        "CF.INSERT k CAPACITY 1 ITEMS" => "-Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
        "CF.INSERT k CAPACITY 1 CAPACITY 8 ITEMS a" => "-Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
        "CF.INSERT k CAPACITY 1073741825 ITEMS a" => "-Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
        "CF.INSERT k CAPACITY x ITEMS a" => "-Bad capacity";
        "CF.INSERT k CAPACITY ITEMS a" => "-Bad capacity";
        "CF.INSERT k CAPACITY 3 ITEMS a" => "-Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
        "CF.INSERT k NOCREATE CAPACITY 1 ITEMS a" => "-Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
        "DBSIZE" => ":0";
        "BF.ADD bloom a" => ":1" | "#t";
        // The options are checked first, also for a filter that exists.
        "CF.INSERT bloom CAPACITY 1 ITEMS a" => "-Capacity must be in the range [cf-bucket-size * 2, 1073741824]";
    ]);
}

#[test]
fn chunks_that_fit_nowhere_are_refused() {
    classic().check_rows(rows![
        "CF.RESERVE k 4" => "+OK";
        "CF.SCANDUMP k x" => "-Invalid position";
        "CF.SCANDUMP k -1" => "-Invalid position";
        "CF.SCANDUMP k 9223372036854775808" => "-Invalid position";
        "CF.LOADCHUNK k x data" => "-Invalid position";
        "CF.LOADCHUNK k 0 data" => "-Invalid position";
        "CF.LOADCHUNK k 1 x" => "-ERR item exists";
        "CF.LOADCHUNK new 1 \"\"" => "-Invalid header";
        "CF.LOADCHUNK k -1 x" => "-Couldn't load chunk!";
        "CF.LOADCHUNK k 5 \"\"" => "-Couldn't load chunk!";
        "CF.LOADCHUNK k 2 xy" => "-Couldn't load chunk!";
        "CF.LOADCHUNK k 6 abcde" => "-Couldn't load chunk!";
        "CF.LOADCHUNK k -9223372036854775808 x" => "-Couldn't load chunk!";
        "CF.SCANDUMP k 1" => "*[:5 $4 \\x00\\x00\\x00\\x00]";
        "EXISTS new" => ":0";
    ]);
}

#[test]
fn a_ttl_needs_seconds() {
    classic().check_rows(rows![
        "CF.RESERVE k 100 TTL 0" => "-ERR TTL must be in the range [1, <n>] seconds";
        "CF.RESERVE k 100 TTL x" => "-ERR TTL must be in the range [1, <n>] seconds";
        "CF.INSERT k TTL -1 ITEMS a" => "-ERR TTL must be in the range [1, <n>] seconds";
        "CF.INSERTNX k TTL 1.5 ITEMS a" => "-ERR TTL must be in the range [1, <n>] seconds";
        "CF.INSERT k TT 5 ITEMS a" => "-Unknown argument received";
        "DBSIZE" => ":0";
    ]);
}
