//! redis-rs: the reply of every command as the Rust type that a program requests, in both
//! protocols, in Bloomline's and RedisBloom's layout.

use std::collections::HashMap;

use bloomline_harness::{DEADLINE, Kind, Setup, for_each_server};
use redis::{Client, Commands, Connection, ErrorKind, RedisResult, cmd, pipe};

/// Runs `test` on every server with an empty server of each layout and one connection per protocol.
fn for_each_connection(test: impl Fn(&mut Connection, &Kind, &str) + Sync) {
    for_each_server(|kind| {
        for layout in ["bloomline", "redisbloom"] {
            let server = Setup::new().module_args(&format!("bf-layout {layout}")).start(kind);
            for protocol in ["resp2", "resp3"] {
                let url = format!("unix://{}?protocol={protocol}", server.socket().display());
                let client = Client::open(url).expect("a URL");
                let mut connection =
                    client.get_connection_with_timeout(DEADLINE).expect("a connection");
                connection.set_read_timeout(Some(DEADLINE)).expect("a deadline");
                connection.set_write_timeout(Some(DEADLINE)).expect("a deadline");
                cmd("FLUSHALL").exec(&mut connection).expect("an empty server");
                test(&mut connection, kind, layout);
            }
        }
    });
}

#[test]
fn one_reply_is_a_bool_and_several_are_a_vec() {
    for_each_connection(|connection, _, _| {
        let add = |connection: &mut Connection, item| -> RedisResult<bool> {
            cmd("BF.ADD").arg("bloom").arg(item).query(connection)
        };
        assert!(add(connection, "foo").unwrap());
        assert!(!add(connection, "foo").unwrap());
        let many: Vec<bool> =
            cmd("BF.MADD").arg("bloom").arg(&["foo", "bar"]).query(connection).unwrap();
        assert_eq!(many, [false, true]);
        let inserted: Vec<bool> = cmd("BF.INSERT")
            .arg("new")
            .arg("CAPACITY")
            .arg(10)
            .arg("ITEMS")
            .arg(&["a", "a"])
            .query(connection)
            .unwrap();
        assert_eq!(inserted, [true, false]);
        let found: bool = cmd("BF.EXISTS").arg("bloom").arg(b"foo").query(connection).unwrap();
        assert!(found);
        let found: Vec<bool> =
            cmd("BF.MEXISTS").arg("bloom").arg(&["foo", "absent"]).query(connection).unwrap();
        assert_eq!(found, [true, false]);
        let (first, second): (bool, u64) = pipe()
            .cmd("BF.ADD")
            .arg("bloom")
            .arg("foo")
            .cmd("BF.CARD")
            .arg("bloom")
            .query(connection)
            .unwrap();
        assert_eq!((first, second), (false, 2));
    });
}

#[test]
fn info_is_a_map() {
    for_each_connection(|connection, _, layout| {
        cmd("BF.RESERVE")
            .arg("fixed")
            .arg(0.001)
            .arg(2000)
            .arg("NONSCALING")
            .exec(connection)
            .unwrap();
        let info: HashMap<String, Option<u64>> =
            cmd("BF.INFO").arg("fixed").query(connection).unwrap();
        assert_eq!(info.len(), 5);
        assert_eq!(info["Capacity"], Some(2000));
        assert_eq!(info["Number of filters"], Some(1));
        assert_eq!(info["Number of items inserted"], Some(0));
        assert_eq!(info["Expansion rate"], None);
        assert!(info["Size"] > Some(2000));
        let shown: HashMap<String, String> =
            cmd("BF.STATS").arg("fixed").arg("layout").query(connection).unwrap();
        assert_eq!(shown["layout"], layout);
        let lines: Vec<String> = cmd("BF.DEBUG").arg("fixed").query(connection).unwrap();
        assert_eq!(lines[0], "size:0");
    });
}

#[test]
fn chunks_are_pairs_of_a_number_and_bytes() {
    for_each_connection(|connection, _, _| {
        let items: Vec<String> = (0..3000).map(|i| format!("item:{i}")).collect();
        cmd("BF.MADD").arg("first").arg(&items).exec(connection).unwrap();
        let mut iterator = 0;
        loop {
            let (next, data): (i64, Vec<u8>) =
                cmd("BF.SCANDUMP").arg("first").arg(iterator).query(connection).unwrap();
            if next == 0 {
                break;
            }
            cmd("BF.LOADCHUNK").arg("second").arg(next).arg(data).exec(connection).unwrap();
            iterator = next;
        }
        let [first, second] = ["first", "second"]
            .map(|key| cmd("BF.DEBUG").arg(key).query::<Vec<String>>(connection).unwrap());
        assert_eq!(first, second);
        let found: Vec<bool> =
            cmd("BF.MEXISTS").arg("second").arg(&items).query(connection).unwrap();
        assert!(found.into_iter().all(|found| found));
    });
}

#[test]
fn transactions_and_scripts_reply_in_order() {
    for_each_connection(|connection, _, _| {
        let (added, count): (Vec<bool>, u64) = pipe()
            .atomic()
            .cmd("BF.MADD")
            .arg("bloom")
            .arg(&["foo", "foo"])
            .cmd("BF.CARD")
            .arg("bloom")
            .query(connection)
            .unwrap();
        assert_eq!((added, count), (vec![true, false], 1));
        let script = "return {redis.call('BF.ADD', KEYS[1], ARGV[1]), redis.call('BF.EXISTS', KEYS[1], ARGV[1])}";
        let answers: Vec<u8> =
            cmd("EVAL").arg(script).arg(1).arg("scripted").arg("foo").query(connection).unwrap();
        assert_eq!(answers, [1, 1]);
    });
}

#[test]
fn errors_keep_their_text() {
    for_each_connection(|connection, _, _| {
        let fails = |connection: &mut Connection, arguments: &[&str]| {
            cmd(arguments[0]).arg(&arguments[1..]).exec(connection).unwrap_err()
        };
        let missing = fails(connection, &["BF.INFO", "absent"]);
        assert_eq!(
            (missing.kind(), missing.detail()),
            (ErrorKind::Server(redis::ServerErrorKind::ResponseError), Some("not found"))
        );
        cmd("BF.RESERVE").arg("fixed").arg(0.01).arg(1).arg("NONSCALING").exec(connection).unwrap();
        assert_eq!(
            fails(connection, &["BF.RESERVE", "fixed", "0.01", "1"]).detail(),
            Some("item exists")
        );
        // redis-rs returns an error inside an array as the error of the call. The connection stays
        // usable.
        let full = fails(connection, &["BF.MADD", "fixed", "a", "b", "c"]);
        assert!(full.to_string().contains("non scaling filter is full"), "{full}");
        let found: bool = cmd("BF.EXISTS").arg("fixed").arg("a").query(connection).unwrap();
        assert!(found);
        let _: () = connection.set("text", "value").unwrap();
        assert_eq!(fails(connection, &["BF.ADD", "text", "a"]).code(), Some("WRONGTYPE"));
    });
}
