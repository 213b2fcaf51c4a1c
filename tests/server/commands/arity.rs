//! Wrong numbers of arguments, refused with the server's own text.

use crate::harness::{Row, Setup, check_rows, for_each_server, rows};

#[test]
fn a_wrong_number_of_arguments_is_refused() {
    const ROWS: &[Row] = rows![
        "BF.RESERVE" => "-ERR wrong number of arguments for 'bf.reserve' command";
        "BF.RESERVE k 0.01" => "-ERR wrong number of arguments for 'bf.reserve' command";
        "BF.RESERVE k 0.01 100 EXPANSION 2 NONSCALING x" => "-ERR wrong number of arguments for 'bf.reserve' command";
        "BF.ADD k" => "-ERR wrong number of arguments for 'bf.add' command";
        "BF.ADD k a b" => "-ERR wrong number of arguments for 'bf.add' command";
        "BF.MADD k" => "-ERR wrong number of arguments for 'bf.madd' command";
        "BF.INSERT k ITEMS" => "-ERR wrong number of arguments for 'bf.insert' command";
        "BF.INSERT k" => "-ERR wrong number of arguments for 'bf.insert' command";
        "BF.EXISTS k" => "-ERR wrong number of arguments for 'bf.exists' command";
        "BF.EXISTS k a b" => "-ERR wrong number of arguments for 'bf.exists' command";
        "BF.MEXISTS k" => "-ERR wrong number of arguments for 'bf.mexists' command";
        "BF.INFO" => "-ERR wrong number of arguments for 'bf.info' command";
        "BF.INFO k CAPACITY SIZE" => "-ERR wrong number of arguments for 'bf.info' command";
        "BF.CARD" => "-ERR wrong number of arguments for 'bf.card' command";
        "BF.CARD k k" => "-ERR wrong number of arguments for 'bf.card' command";
        "BF.DEBUG" => "-ERR wrong number of arguments for 'bf.debug' command";
        "BF.DEBUG k k" => "-ERR wrong number of arguments for 'bf.debug' command";
        "BF.SCANDUMP k" => "-ERR wrong number of arguments for 'bf.scandump' command";
        "BF.SCANDUMP k 0 0" => "-ERR wrong number of arguments for 'bf.scandump' command";
        "BF.LOADCHUNK k 1" => "-ERR wrong number of arguments for 'bf.loadchunk' command";
        "BF.LOADCHUNK k 1 x y" => "-ERR wrong number of arguments for 'bf.loadchunk' command";
        "DBSIZE" => ":0";
    ];
    for_each_server(|kind| check_rows(kind, Setup::new(), ROWS));
}

#[test]
fn a_transaction_with_a_wrong_number_of_arguments_is_refused_whole() {
    // Only where the arity is registered can the server refuse it before EXEC, which 6.2 has no means for.
    const ROWS: &[Row] = rows![
        "MULTI" => "+OK";
        "BF.ADD k" => "-ERR wrong number of arguments for 'bf.add' command";
        "EXEC" => "-EXECABORT Transaction discarded because of previous errors.";
    ];
    for_each_server(|kind| {
        if !kind.is_before_7() {
            check_rows(kind, Setup::new(), ROWS);
        }
    });
}
