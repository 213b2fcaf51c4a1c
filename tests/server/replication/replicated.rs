//! Commands from an append-only file run as they were logged: no limit and no default of this
//! server changes them.

use bloomline_harness::{Setup, Stop, append_only_file, arguments, for_each_server};

fn file_of(lines: &[&str]) -> Vec<u8> {
    append_only_file(&lines.iter().map(|line| arguments(line)).collect::<Vec<_>>())
}

#[test]
fn logged_creations_run_with_their_own_parameters() {
    for_each_server(|kind| {
        let commands = file_of(&[
            "SELECT 0",
            "BF.ADD added a",
            "BF.MADD many a b a",
            "BF.RESERVE reserved 0.001 500 EXPANSION 3",
            "BF.MADD reserved x y",
            "BF.INSERT inserted CAPACITY 10 ERROR 0.0001 NONSCALING ITEMS a b",
        ]);
        let mut server = Setup::new().append_file(commands).start(kind);
        for _ in 0..2 {
            let mut client = server.resp2();
            assert_eq!(client.ask("BF.EXISTS added a"), ":1");
            assert_eq!(client.ask("BF.MEXISTS many a b c"), "*[:1 :1 :0]");
            assert_eq!(client.ask("BF.CARD many"), ":2");
            assert_eq!(client.ask("BF.INFO reserved CAPACITY"), "*[:500]");
            assert_eq!(client.ask("BF.INFO reserved EXPANSION"), "*[:3]");
            assert_eq!(client.ask("BF.CARD reserved"), ":2");
            assert_eq!(client.ask("BF.INFO inserted CAPACITY"), "*[:10]");
            assert_eq!(client.ask("BF.INFO inserted EXPANSION"), "*[_]");
            assert_eq!(client.ask("BF.MEXISTS inserted a b c"), "*[:1 :1 :0]");
            server.restart(Stop::NoSave);
        }
    });
}

#[test]
fn items_beyond_a_full_filter_do_not_stop_the_load() {
    for_each_server(|kind| {
        let commands = file_of(&[
            "SELECT 0",
            "BF.RESERVE ns 0.0001 2 NONSCALING",
            "BF.MADD ns a b c d",
            "BF.ADD ns e",
            "BF.INSERT ns ITEMS f",
            "SET last 1",
        ]);
        let server = Setup::new().append_file(commands).start(kind);
        let mut client = server.resp2();
        assert_eq!(client.ask("GET last"), "$1 1");
        assert_eq!(client.ask("BF.CARD ns"), ":2");
        assert_eq!(client.ask("BF.MEXISTS ns a b c"), "*[:1 :1 :0]");
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
