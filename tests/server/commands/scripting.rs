//! Scripts and functions: reading commands work in all of them, writing commands where writes are
//! allowed.

use bloomline_harness::{Client, Setup, for_each_server};

use crate::inspect::stat;
use crate::windowed::{RATE, age};

/// A library with a function that may write, one that may not, and one that tries although it may
/// not.
const LIBRARY: &str = "#!lua name=seen
redis.register_function('add', function(keys, args) return redis.call('BF.ADD', keys[1], args[1]) end)
redis.register_function('load', function(keys, args) return redis.call('BF.BULKADD', keys[1], 'LINES', args[1]) end)
redis.register_function{
    function_name = 'has',
    callback = function(keys, args) return redis.call('BF.EXISTS', keys[1], args[1]) end,
    flags = {'no-writes'}
}
redis.register_function{
    function_name = 'cheat',
    callback = function(keys, args) return redis.call('BF.ADD', keys[1], args[1]) end,
    flags = {'no-writes'}
}";

fn assert_write_refused(client: &mut Client, line: &str) {
    let refused = client.ask(line);
    assert!(
        refused.starts_with('-') && refused.to_lowercase().contains("write"),
        "{line}: {refused}"
    );
}

/// Valkey 9.1 replaces an array that ends with an error by that error. The items are added all the
/// same.
#[test]
fn a_script_gets_an_array_with_an_error_or_the_error() {
    const ADD: &str = r#"EVAL "local r = redis.pcall('BF.MADD', KEYS[1], 'a', 'b') return #r .. ': ' .. (r.err or 'no error')" 1 k"#;
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.01 1 NONSCALING");
        let expected = match kind.name.as_str() {
            "valkey-9.1" => "$33 0: ERR non scaling filter is full",
            _ => "$11 2: no error",
        };
        assert_eq!(client.ask(ADD), expected);
        assert_eq!(client.ask("BF.MEXISTS k a b"), "*[:1 :0]");
    });
}

#[test]
fn a_script_reads_writes_and_receives_errors() {
    Setup::new().on_shared_servers(|mut client, _| {
        assert_eq!(client.ask(r#"EVAL "return redis.call('BF.ADD', KEYS[1], 'a')" 1 k"#), ":1");
        assert_eq!(client.ask(r#"EVAL "return redis.call('BF.ADD', KEYS[1], 'a')" 1 k"#), ":0");
        assert_eq!(
            client.ask(r#"EVAL "return redis.call('BF.MEXISTS', KEYS[1], 'a', 'b')" 1 k"#),
            "*[:1 :0]"
        );
        assert_eq!(client.ask(r#"EVAL "return redis.call('BF.INFO', KEYS[1])[2]" 1 k"#), ":100");
        client.ok("SET text value");
        let refused = client.ask(r#"EVAL "return redis.call('BF.ADD', KEYS[1], 'a')" 1 text"#);
        assert!(refused.contains("WRONGTYPE"), "{refused}");
        let caught =
            client.ask(r#"EVAL "return redis.pcall('BF.RESERVE', KEYS[1], 0.01, 100).err" 1 k"#);
        assert!(caught.contains("item exists"), "{caught}");
    });
}

fn script(client: &mut Client, call: &str, key: &str) -> String {
    client.ask(&format!("EVAL \"return redis.call({call})\" 1 {key}"))
}

#[test]
fn a_script_creates_fills_and_rotates_windowed_filters() {
    Setup::new().on_each_server(|mut client, _| {
        let reserve =
            format!("'BF.RESERVE', KEYS[1], '{RATE}', 100, 'GENERATIONS', 2, 'TTL', 1000");
        assert_eq!(script(&mut client, &reserve, "k"), "+OK");
        assert_eq!(script(&mut client, "'BF.ADD', KEYS[1], 'a'", "k"), ":1");
        for _ in 0..3 {
            assert_eq!(script(&mut client, "'BF.ROTATE', KEYS[1]", "k"), "+OK");
        }
        assert_eq!(script(&mut client, "'BF.EXISTS', KEYS[1], 'a'", "k"), ":0");
        assert_eq!(stat(&mut client, "k", "layers"), ":3");
        let insert =
            "'BF.INSERT', KEYS[1], 'CAPACITY', 8, 'LAST', 'GENERATIONS', 8, 'ITEMS', 'a', 'b', 'c'";
        assert_eq!(script(&mut client, insert, "last"), "*[:1 :1 :1]");
        assert_eq!(stat(&mut client, "last", "layers"), ":3");
        let window =
            format!("'BF.RESERVE', KEYS[1], '{RATE}', 100, 'WINDOW', 8000000, 'GENERATIONS', 8");
        assert_eq!(script(&mut client, &window, "window"), "+OK");
        age(&mut client, "window", 1_000_000_000);
        assert_eq!(script(&mut client, "'BF.ADD', KEYS[1], 'a'", "window"), ":1");
        assert_eq!(stat(&mut client, "window", "layers"), ":2");
    });
}

#[test]
fn a_resp3_script_receives_booleans_and_maps() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            // In Redis 6.2 modules have neither.
            return;
        }
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.01 100");
        for (call, expected) in [
            ("'BF.ADD', KEYS[1], 'a'", "boolean"),
            ("'BF.EXISTS', KEYS[1], 'a'", "boolean"),
            ("'BF.INFO', KEYS[1]", "table"),
        ] {
            let script = format!("redis.setresp(3); return type(redis.call({call}))");
            let kind = client.ask(&format!("EVAL \"{script}\" 1 k"));
            assert_eq!(kind, format!("${} {expected}", expected.len()), "{call}");
        }
    });
}

#[test]
fn a_read_only_script_reads_but_cannot_write() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            // Redis 6.2 has no read-only scripts.
            return;
        }
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.call("BF.ADD k a");
        for (call, expected) in [
            ("'BF.EXISTS', KEYS[1], 'a'", ":1"),
            ("'BF.MEXISTS', KEYS[1], 'a', 'b'", "*[:1 :0]"),
            ("'BF.BULKEXISTS', KEYS[1], 'FIXED', 1, 'ba'", "*[:2 $1 @]"),
            ("'BF.CARD', KEYS[1]", ":1"),
            ("'BF.INFO', KEYS[1], 'CAPACITY'", "*[:100]"),
        ] {
            assert_eq!(client.ask(&format!("EVAL_RO \"return redis.call({call})\" 1 k")), expected);
        }
        for call in ["'BF.DEBUG', KEYS[1]", "'BF.SCANDUMP', KEYS[1], 0"] {
            let reply = client.ask(&format!("EVAL_RO \"return redis.call({call})\" 1 k"));
            assert!(reply.starts_with("*["), "{call}: {reply}");
        }
        for call in [
            "'BF.ADD', KEYS[1], 'b'",
            "'BF.ADD', KEYS[1], 'a'",
            "'BF.MADD', KEYS[1], 'b'",
            "'BF.BULKADD', KEYS[1], 'LINES', 'b'",
            "'BF.INSERT', KEYS[1], 'ITEMS', 'b'",
            "'BF.RESERVE', KEYS[2], 0.01, 100",
            "'BF.LOADCHUNK', KEYS[1], 1, 'x'",
        ] {
            assert_write_refused(
                &mut client,
                &format!("EVAL_RO \"return redis.call({call})\" 2 k new"),
            );
        }
        assert_eq!(client.ask("BF.CARD k"), ":1");
    });
}

#[test]
fn a_no_writes_function_reads_but_cannot_write() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            // Redis 6.2 has no functions.
            return;
        }
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.run(&["FUNCTION", "LOAD", LIBRARY]);
        assert_eq!(client.ask("FCALL add 1 k a"), ":1");
        assert_eq!(client.ask("FCALL has 1 k a"), ":1");
        assert_eq!(client.ask("FCALL load 1 k \"a\na\""), "*[:2 $1 \\x00]");
        assert_eq!(client.ask("FCALL_RO has 1 k b"), ":0");
        assert_write_refused(&mut client, "FCALL cheat 1 k b");
        assert_write_refused(&mut client, "FCALL_RO add 1 k b");
        assert_write_refused(&mut client, "FCALL_RO load 1 k b");
        assert_eq!(client.ask("BF.CARD k"), ":1");
    });
}
