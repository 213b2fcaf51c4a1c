//! CF.*: what each command replies, in both protocols.

use bloomline_harness::{Row, check_rows, for_each_server, rows};

use crate::filters::classic_cuckoo as classic;

#[test]
fn each_copy_of_an_item_is_added_and_deleted() {
    classic().check_rows(rows![
        "CF.RESERVE k 100" => "+OK";
        "TYPE k" => "+MBbloomCF";
        "CF.ADD k a" => ":1" | "#t";
        "CF.ADD k a" => ":1" | "#t";
        "CF.ADDNX k a" => ":0" | "#f";
        "CF.ADDNX k b" => ":1" | "#t";
        "CF.ADD k \"\"" => ":1" | "#t";
        "CF.COUNT k a" => ":2";
        "CF.COUNT k b" => ":1";
        "CF.COUNT k x" => ":0";
        "CF.EXISTS k a" => ":1" | "#t";
        "CF.EXISTS k \"\"" => ":1" | "#t";
        "CF.EXISTS k x" => ":0" | "#f";
        "CF.EXISTS missing a" => ":0" | "#f";
        "CF.MEXISTS missing a b" => "*[:0 :0]" | "*[#f #f]";
        "CF.MEXISTS k a x b" => "*[:1 :0 :1]" | "*[#t #f #t]";
        "CF.MEXISTS k x" => "*[:0]" | "*[#f]";
        "CF.DEL k a" => ":1" | "#t";
        "CF.EXISTS k a" => ":1" | "#t";
        "CF.DEL k a" => ":1" | "#t";
        "CF.DEL k a" => ":0" | "#f";
        "CF.EXISTS k a" => ":0" | "#f";
        "CF.MDEL k b b x \"\"" => "*[:1 :0 :0 :1]" | "*[#t #f #f #t]";
        "CF.DEBUG k" => "$<n> bktsize:2 buckets:64 items:0 deletes:4 filters:1 max_iterations:20 expansion:1";
        "CF.COMPACT k" => "+OK";
        "CF.DEBUG k" => "$<n> bktsize:2 buckets:64 items:0 deletes:0 filters:1 max_iterations:20 expansion:1";
    ]);
}

#[test]
fn insertions_answer_for_each_item() {
    classic().check_rows(rows![
        "CF.INSERT k ITEMS a b a" => "*[:1 :1 :1]" | "*[#t #t #t]";
        "CF.INSERTNX k ITEMS a c c" => "*[:0 :1 :0]";
        "CF.INSERT k CAPACITY 8 ITEMS d" => "*[:1]" | "*[#t]";
        "CF.INSERT k NOCREATE ITEMS d" => "*[:1]" | "*[#t]";
        // Names are read by their first letter, and ITEMS ends the options.
        "CF.INSERT k cap 8 nope item NOCREATE CAPACITY" => "*[:1 :1]" | "*[#t #t]";
        "CF.MEXISTS k NOCREATE CAPACITY item" => "*[:1 :1 :0]" | "*[#t #t #f]";
        // The last capacity counts.
        "CF.INSERT other CAPACITY 8 CAPACITY 100 ITEMS a" => "*[:1]" | "*[#t]";
        "CF.DEBUG other" => "$<n> bktsize:2 buckets:64 items:1 deletes:0 filters:1 max_iterations:20 expansion:1";
        "CF.INSERTNX nx CAPACITY 100 ITEMS a a" => "*[:1 :0]";
        // A full filter refuses items, and goes on with the next.
        "CF.RESERVE full 2 BUCKETSIZE 1 MAXITERATIONS 1 EXPANSION 0" => "+OK";
        "CF.INSERT full ITEMS a a b c" => "*[:1 :-1 :-1 :1]" | "*[#t #f #f #t]";
        "CF.INSERTNX full ITEMS a b" => "*[:0 :-1]";
        "CF.ADD full a" => "-Filter is full";
        "CF.ADDNX full b" => "-Filter is full";
        "CF.ADDNX full a" => ":0" | "#f";
    ]);
}

#[test]
fn parameters_are_shown_as_they_are_stored() {
    classic().check_rows(rows![
        "CF.RESERVE k 1000 BUCKETSIZE 3 MAXITERATIONS 65535 EXPANSION 3" => "+OK";
        "CF.INFO k" => "*[+Size :1592 +Number of buckets :512 +Number of filters :1 +Number of items inserted :0 +Number of items deleted :0 +Bucket size :3 +Expansion rate :4 +Max iterations :65535]"
            | "%{+Size :1592 +Number of buckets :512 +Number of filters :1 +Number of items inserted :0 +Number of items deleted :0 +Bucket size :3 +Expansion rate :4 +Max iterations :65535}";
        // The next power of two above the capacity by the size of a bucket, rounded down.
        "CF.RESERVE a 50 BUCKETSIZE 3" => "+OK";
        "CF.DEBUG a" => "$<n> bktsize:3 buckets:16 items:0 deletes:0 filters:1 max_iterations:20 expansion:1";
        "CF.RESERVE b 1000 BUCKETSIZE 255" => "+OK";
        "CF.DEBUG b" => "$<n> bktsize:255 buckets:4 items:0 deletes:0 filters:1 max_iterations:20 expansion:1";
        "CF.ADD c x" => ":1" | "#t";
        "CF.DEBUG c" => "$<n> bktsize:2 buckets:512 items:1 deletes:0 filters:1 max_iterations:20 expansion:1";
        // The first of two options counts, and unknown ones are refused.
        "CF.RESERVE d 8 EXPANSION 32768 expansion 2 BUCKETSIZE 1" => "+OK";
        "CF.DEBUG d" => "$<n> bktsize:1 buckets:8 items:0 deletes:0 filters:1 max_iterations:20 expansion:32768";
        "CF.RESERVE e 8 FOO 1 expansion 0" => "-Unknown argument received: 'FOO'";
        "CF.RESERVE e 8 expansion 0 EROR 0.0001" => "-Unknown argument received: 'EROR'";
        "CF.DEBUG e" => "-ERR not found";
        // Options are looked for in the whole call, the key included.
        "CF.RESERVE EXPANSION 8" => "+OK";
        "CF.DEBUG EXPANSION" => "$<n> bktsize:2 buckets:4 items:0 deletes:0 filters:1 max_iterations:20 expansion:8";
    ]);
}

#[test]
fn iterators_are_offsets_of_tables() {
    classic().check_rows(rows![
        "CF.RESERVE k 4" => "+OK";
        // An empty filter is dumped as well.
        "CF.SCANDUMP k 0" => "*[:1 $38 \\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00\\x14\\x00\\x01\\x00]";
        "CF.SCANDUMP k 1" => "*[:5 $4 \\x00\\x00\\x00\\x00]";
        "CF.SCANDUMP k 5" => "*[:0 _]";
        "CF.SCANDUMP k 9223372036854775807" => "*[:0 _]";
        "CF.LOADCHUNK k 5 abcd" => "+OK";
        "CF.SCANDUMP k 1" => "*[:5 $4 abcd]";
        "CF.LOADCHUNK k 4 xy" => "+OK";
        "CF.SCANDUMP k 1" => "*[:5 $4 axyd]";
        "CF.LOADCHUNK k 2 z" => "+OK";
        "CF.SCANDUMP k 1" => "*[:5 $4 zxyd]";
    ]);
}

#[test]
fn a_filter_grows_and_shrinks_by_tables() {
    classic().check_rows(rows![
        "CF.RESERVE k 4 EXPANSION 2" => "+OK";
        "CF.INSERT k ITEMS 0 1 2 3 4 5 6 7 8 9" => "*[:1 :1 :1 :1 :1 :1 :1 :1 :1 :1]" | "*[#t #t #t #t #t #t #t #t #t #t]";
        "CF.DEBUG k" => "$<n> bktsize:2 buckets:2 items:10 deletes:0 filters:2 max_iterations:20 expansion:2";
        // More than a tenth is deleted: the tables are compacted, and deletions counted anew.
        "CF.MDEL k 0 1 2 3 4 5 6 7" => "*[:1 :1 :1 :1 :1 :1 :1 :1]" | "*[#t #t #t #t #t #t #t #t]";
        "CF.DEBUG k" => "$<n> bktsize:2 buckets:2 items:2 deletes:<n> filters:1 max_iterations:20 expansion:2";
        "CF.MEXISTS k 8 9" => "*[:1 :1]" | "*[#t #t]";
    ]);
}

#[test]
fn expansions_are_limited_once_per_call() {
    const ROWS: &[Row] = rows![
        "CF.RESERVE k 4" => "+OK";
        "CF.INSERT k ITEMS a a a a a a a a a a a a" => "*[:1 :1 :1 :1 :1 :1 :1 :1 :1 :1 :1 :1]" | "*[#t #t #t #t #t #t #t #t #t #t #t #t]";
        "CF.ADD k b" => "-Maximum expansions reached";
        // Also for an item that exists.
        "CF.ADDNX k a" => "-Maximum expansions reached";
        "CF.INSERT k ITEMS b" => "-Maximum expansions reached";
        "CF.INSERTNX k NOCREATE ITEMS a" => "-Maximum expansions reached";
        // The item has only one bucket, which is counted twice.
        "CF.COUNT k a" => ":24";
        "CF.DEL k a" => ":1" | "#t";
    ];
    for_each_server(|kind| {
        for args in ["cf-max-expansions 2", "CF_MAX_EXPANSIONS 2"] {
            check_rows(kind, classic().module_args(args), ROWS);
        }
    });
}

#[test]
fn no_key_is_left_where_no_expansion_is_allowed() {
    classic().module_args("cf-max-expansions 1").check_rows(rows![
        "CF.ADD k a" => "-Maximum expansions reached";
        "CF.ADDNX k a" => "-Maximum expansions reached";
        "CF.INSERT k ITEMS a b" => "-Maximum expansions reached";
        "CF.INSERTNX k CAPACITY 7 ITEMS a b" => "-Maximum expansions reached";
        "EXISTS k" => ":0";
        "CF.RESERVE k 4" => "+OK";
        "CF.ADD k a" => "-Maximum expansions reached";
    ]);
}

#[test]
fn scripts_add_and_delete() {
    classic().check_rows(rows![
        "EVAL \"return redis.call('CF.ADD', KEYS[1], 'a')\" 1 k" => ":1";
        "EVAL \"return redis.call('CF.INSERTNX', KEYS[1], 'ITEMS', 'a', 'b')\" 1 k" => "*[:0 :1]";
        "EVAL \"return redis.call('CF.COUNT', KEYS[1], 'a')\" 1 k" => ":1";
        "EVAL \"return redis.call('CF.MDEL', KEYS[1], 'a', 'x')\" 1 k" => "*[:1 :0]";
        "EVAL \"return redis.pcall('CF.DEL', 'missing', 'a').err\" 0" => "$<n> <any>Not found";
    ]);
}
