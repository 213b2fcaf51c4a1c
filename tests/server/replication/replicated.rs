//! Commands from an append-only file run as they were logged: no limit and no default of this
//! server changes them, and a full filter does not stop the load.

use bloomline_harness::{Setup, Stop, append_only_file, arguments, for_each_server};

/// Commands of a file.
const LOGGED: [&str; 20] = [
    "SELECT 0",
    "BF.ADD added a",
    "BF.MADD many a b a",
    "BF.RESERVE reserved 0.001 500 EXPANSION 3",
    "BF.MADD reserved x y",
    "BF.INSERT inserted CAPACITY 10 ERROR 0.0001 NONSCALING ITEMS a b",
    "BF.RESERVE fixed 0.0001 2 NONSCALING",
    "BF.MADD fixed a b c d",
    "BF.ADD fixed e",
    "BF.INSERT fixed ITEMS f",
    "CF.RESERVE slots 300 BUCKETSIZE 200 EXPANSION 3",
    "CF.INSERT k CAPACITY 100 ITEMS a b a",
    "CF.DEL k a",
    "CF.DEL k absent",
    "CF.ADDNX k a",
    "CF.COMPACT k",
    "CF.RESERVE full 4 EXPANSION 0",
    "CF.INSERT full ITEMS 0 1 2 3 4 5 6 7 8",
    "CF.ADD full 9",
    "SET last 1",
];

/// What a client finds after they were loaded.
const FOUND: [(&str, &str); 14] = [
    ("GET last", "$1 1"),
    ("BF.EXISTS added a", ":1"),
    ("BF.MEXISTS many a b c", "*[:1 :1 :0]"),
    ("BF.CARD many", ":2"),
    ("BF.INFO reserved CAPACITY", "*[:500]"),
    ("BF.INFO reserved EXPANSION", "*[:3]"),
    ("BF.CARD reserved", ":2"),
    ("BF.INFO inserted CAPACITY", "*[:10]"),
    ("BF.INFO inserted EXPANSION", "*[_]"),
    ("BF.MEXISTS inserted a b c", "*[:1 :1 :0]"),
    ("BF.CARD fixed", ":2"),
    ("BF.MEXISTS fixed a b c", "*[:1 :1 :0]"),
    ("CF.MEXISTS k a b c", "*[:1 :1 :0]"),
    ("CF.COUNT k a", ":1"),
];

#[test]
fn logged_commands_run_without_limits_and_settings_of_their_own() {
    for_each_server(|kind| {
        let file = append_only_file(&LOGGED.map(arguments));
        let args = "cf-max-expansions 1 bf-max-filter-bytes 1";
        let mut server = Setup::new().module_args(args).append_file(file).start(kind);
        for _ in 0..2 {
            let mut client = server.resp2();
            for (question, answer) in FOUND {
                assert_eq!(client.ask(question), answer, "{question}");
            }
            let debug = client.ask("CF.DEBUG slots");
            assert!(debug.contains("bktsize:200 buckets:1 items:0"), "{debug}");
            server.restart(Stop::NoSave);
        }
    });
}

#[test]
fn a_header_replaces_what_the_key_held() {
    for_each_server(|kind| {
        let origin = Setup::new().start(kind);
        let mut client = origin.resp2();
        client.ok("BF.RESERVE k 0.001 1234");
        let (_, dumped) = client.scandump("k", 0);
        let header =
            |key: &str| vec![b"BF.LOADCHUNK".to_vec(), key.into(), b"1".to_vec(), dumped.clone()];
        let commands = append_only_file(&[
            arguments("SELECT 0"),
            arguments("SET text value"),
            header("text"),
            header("twice"),
            arguments("BF.ADD twice a"),
            header("twice"),
        ]);
        let server = Setup::new().append_file(commands).start(kind);
        let mut client = server.resp2();
        assert_eq!(client.ask("BF.INFO text CAPACITY"), "*[:1234]");
        assert_eq!(client.ask("BF.INFO twice CAPACITY"), "*[:1234]");
        assert_eq!(client.ask("BF.CARD twice"), ":0");
    });
}
