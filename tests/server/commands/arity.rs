//! Wrong numbers of arguments: refused with the server's own text.

use bloomline_harness::{Row, Setup, check_rows, for_each_server, rows};

/// The commands, and the arguments of calls that have too few or too many.
///
/// The names are in lower case, because Redis 6.2 repeats the name as the client wrote it. Later
/// servers repeat the registered name.
const CALLS: &[(&str, &[&str])] = &[
    (
        "bf.reserve",
        &[
            "",
            "k 0.01",
            "k 0.01 100 EXPANSION 2 NONSCALING x",
            "k 0.01 100 WINDOW",
            "k 0.01 100 LAST GENERATIONS",
            "k 0.01 100 LAST NONSCALING x x x x",
            "k 0.01 100 TTL",
            "k 0.01 100 NONSCALING WINDOW 5 TTL",
            "k 0.01 100 SEED",
            "k 0.01 100 SEED 7 EXPANSION 2 NONSCALING bogus",
        ],
    ),
    ("bf.add", &["k", "k a b"]),
    ("bf.madd", &["k"]),
    (
        "bf.insert",
        &[
            "k",
            "k ITEMS",
            "k CAPACITY 10",
            "k CAPACITY 10 ITEMS",
            "k NOCREATE CAPACITY",
            "k NOCREATE NONSCALING",
            "k CAPACITY 100 WINDOW",
            "k WINDOW 5 GENERATIONS",
            "k TTL 5",
            "k LAST ITEMS",
            "k NOREFRESH LAST",
            "k SEED",
            "k SEED 7",
        ],
    ),
    (
        "bf.bulkadd",
        &[
            "k LINES",
            "k COUNT LINES",
            "k FIXED 1",
            "k LINES a COUNT x",
            "k FIXED 1 a COUNT x",
            "k COUNT FIXED 1 a COUNT x",
        ],
    ),
    ("bf.bulkexists", &["k LINES", "k FIXED 1", "k LINES a COUNT x"]),
    ("bf.rotate", &["", "k AT", "k AT 1 2"]),
    ("bf.merge", &["", "k"]),
    ("bf.compact", &["", "k 2"]),
    ("bf.exists", &["k", "k a b"]),
    ("bf.mexists", &["k"]),
    ("bf.info", &["", "k CAPACITY SIZE"]),
    ("bf.stats", &[""]),
    ("bf.card", &["", "k k"]),
    ("bf.debug", &["", "k k"]),
    ("bf.scandump", &["k", "k 0 0"]),
    ("bf.loadchunk", &["k 1", "k 1 x y"]),
    ("bf.help", &["k"]),
    ("cf.reserve", &["", "k", "k 100 BUCKETSIZE", "k 100 BUCKETSIZE 2 EXPANSION", "k 100 LAYOUT"]),
    ("cf.add", &["", "k", "k a b"]),
    ("cf.addnx", &["", "k", "k a b"]),
    (
        "cf.insert",
        &[
            "",
            "k",
            "k a",
            "k ITEMS",
            "k CAPACITY 8",
            "k CAPACITY 8 ITEMS",
            "k n NOCREATE",
            "k TTL",
            "k ERROR",
            "k ERROR 0.1",
        ],
    ),
    ("cf.insertnx", &["", "k", "k a", "k ITEMS", "k NOCREATE ITEMS", "k NOCREATE CAPACITY"]),
    ("cf.exists", &["", "k", "k a b"]),
    ("cf.mexists", &["", "k"]),
    ("cf.count", &["", "k", "k a b"]),
    ("cf.del", &["", "k", "k a b"]),
    ("cf.mdel", &["", "k"]),
    ("cf.compact", &["", "k k"]),
    ("cf.info", &["", "k bogus", "k SIZE ITEMS"]),
    ("cf.debug", &["", "k k"]),
    ("cf.scandump", &["", "k", "k 0 0"]),
    ("cf.loadchunk", &["", "k", "k 1", "k 1 x y"]),
    ("cf.help", &["k"]),
];

#[test]
fn wrong_numbers_of_arguments_are_refused() {
    for layout in ["bloomline", "redisbloom"] {
        Setup::new().module_args(&format!("cf-layout {layout}")).on_each_server(|mut client, _| {
            let calls =
                CALLS.iter().flat_map(|(name, calls)| calls.iter().map(move |call| (name, call)));
            for (name, call) in calls {
                let expected = format!("-ERR wrong number of arguments for '{name}' command");
                assert_eq!(client.ask(&format!("{name} {call}")), expected, "{call}");
            }
            assert_eq!(client.ask("DBSIZE"), ":0");
        });
    }
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
