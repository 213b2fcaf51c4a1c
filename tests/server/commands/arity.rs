//! Wrong numbers of arguments: refused with the server's own text.
//!
//! The calls are in lower case, because Redis 6.2 repeats the name as the client wrote it. Later
//! servers repeat the registered name.

use bloomline_harness::{Row, Setup, check_rows, for_each_server, rows};

#[test]
fn wrong_numbers_of_arguments_are_refused() {
    Setup::new().check_rows(rows![
        "bf.reserve" => "-ERR wrong number of arguments for 'bf.reserve' command";
        "bf.reserve k 0.01" => "-ERR wrong number of arguments for 'bf.reserve' command";
        "bf.reserve k 0.01 100 EXPANSION 2 NONSCALING x" => "-ERR wrong number of arguments for 'bf.reserve' command";
        "bf.add k" => "-ERR wrong number of arguments for 'bf.add' command";
        "bf.add k a b" => "-ERR wrong number of arguments for 'bf.add' command";
        "bf.madd k" => "-ERR wrong number of arguments for 'bf.madd' command";
        "bf.insert k ITEMS" => "-ERR wrong number of arguments for 'bf.insert' command";
        "bf.insert k" => "-ERR wrong number of arguments for 'bf.insert' command";
        "bf.bulkadd k LINES" => "-ERR wrong number of arguments for 'bf.bulkadd' command";
        "bf.bulkadd k COUNT LINES" => "-ERR wrong number of arguments for 'bf.bulkadd' command";
        "bf.bulkadd k FIXED 1" => "-ERR wrong number of arguments for 'bf.bulkadd' command";
        "bf.bulkadd k LINES a COUNT x" => "-ERR wrong number of arguments for 'bf.bulkadd' command";
        "bf.bulkadd k FIXED 1 a COUNT x" => "-ERR wrong number of arguments for 'bf.bulkadd' command";
        "bf.bulkadd k COUNT FIXED 1 a COUNT x" => "-ERR wrong number of arguments for 'bf.bulkadd' command";
        "bf.bulkexists k LINES" => "-ERR wrong number of arguments for 'bf.bulkexists' command";
        "bf.bulkexists k FIXED 1" => "-ERR wrong number of arguments for 'bf.bulkexists' command";
        "bf.bulkexists k LINES a COUNT x" => "-ERR wrong number of arguments for 'bf.bulkexists' command";
        "bf.exists k" => "-ERR wrong number of arguments for 'bf.exists' command";
        "bf.exists k a b" => "-ERR wrong number of arguments for 'bf.exists' command";
        "bf.mexists k" => "-ERR wrong number of arguments for 'bf.mexists' command";
        "bf.info" => "-ERR wrong number of arguments for 'bf.info' command";
        "bf.info k CAPACITY SIZE" => "-ERR wrong number of arguments for 'bf.info' command";
        "bf.card" => "-ERR wrong number of arguments for 'bf.card' command";
        "bf.card k k" => "-ERR wrong number of arguments for 'bf.card' command";
        "bf.debug" => "-ERR wrong number of arguments for 'bf.debug' command";
        "bf.debug k k" => "-ERR wrong number of arguments for 'bf.debug' command";
        "bf.scandump k" => "-ERR wrong number of arguments for 'bf.scandump' command";
        "bf.scandump k 0 0" => "-ERR wrong number of arguments for 'bf.scandump' command";
        "bf.loadchunk k 1" => "-ERR wrong number of arguments for 'bf.loadchunk' command";
        "bf.loadchunk k 1 x y" => "-ERR wrong number of arguments for 'bf.loadchunk' command";
        "bf.rotate" => "-ERR wrong number of arguments for 'bf.rotate' command";
        "bf.rotate k AT" => "-ERR wrong number of arguments for 'bf.rotate' command";
        "bf.rotate k AT 1 2" => "-ERR wrong number of arguments for 'bf.rotate' command";
        "bf.reserve k 0.01 100 WINDOW" => "-ERR wrong number of arguments for 'bf.reserve' command";
        "bf.reserve k 0.01 100 LAST NONSCALING x x x x" => "-ERR wrong number of arguments for 'bf.reserve' command";
        "DBSIZE" => ":0";
    ]);
}

#[test]
fn a_wrong_number_of_arguments_aborts_the_transaction() {
    // The server refuses the call before EXEC only if it knows the arity of the command. Redis 6.2
    // does not know that of modules.
    const ROWS: &[Row] = rows![
        "MULTI" => "+OK";
        "bf.add k" => "-ERR wrong number of arguments for 'bf.add' command";
        "EXEC" => "-EXECABORT Transaction discarded because of previous errors.";
    ];
    for_each_server(|kind| {
        if !kind.is_before_7() {
            check_rows(kind, Setup::new(), ROWS);
        }
    });
}
