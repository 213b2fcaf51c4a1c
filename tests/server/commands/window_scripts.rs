//! Lua scripts that create, fill and rotate windowed filters.

use bloomline_harness::{Client, Setup, for_each_server};

use crate::inspect::digest;
use crate::windowed::{RATE, age, info};

const NEEDS_EFFECTS: &str =
    "WINDOW, LAST, GENERATIONS and TTL read the clock: a script needs lua-replicate-commands yes";

fn script(client: &mut Client, call: &str, key: &str) -> String {
    client.ask(&format!("EVAL \"return redis.call({call})\" 1 {key}"))
}

#[test]
fn a_script_creates_adds_and_rotates() {
    Setup::new().on_each_server(|mut client, server| {
        if server.kind.is_before_7() {
            client.ok("CONFIG SET lua-replicate-commands yes");
        }
        let reserve =
            format!("'BF.RESERVE', KEYS[1], '{RATE}', 100, 'GENERATIONS', 2, 'TTL', 1000");
        assert_eq!(script(&mut client, &reserve, "k"), "+OK");
        assert_eq!(script(&mut client, "'BF.ADD', KEYS[1], 'a'", "k"), ":1");
        for _ in 0..3 {
            assert_eq!(script(&mut client, "'BF.ROTATE', KEYS[1]", "k"), "+OK");
        }
        assert_eq!(script(&mut client, "'BF.EXISTS', KEYS[1], 'a'", "k"), ":0");
        assert_eq!(info(&mut client, "k", "FILTERS"), ":3");
        let insert =
            "'BF.INSERT', KEYS[1], 'CAPACITY', 8, 'LAST', 'GENERATIONS', 8, 'ITEMS', 'a', 'b', 'c'";
        assert_eq!(script(&mut client, insert, "last"), "*[:1 :1 :1]");
        assert_eq!(info(&mut client, "last", "FILTERS"), ":3");
        let window =
            format!("'BF.RESERVE', KEYS[1], '{RATE}', 100, 'WINDOW', 8000000, 'GENERATIONS', 8");
        assert_eq!(script(&mut client, &window, "window"), "+OK");
        age(&mut client, "window", 1_000_000_000);
        assert_eq!(script(&mut client, "'BF.ADD', KEYS[1], 'a'", "window"), ":1");
        assert_eq!(info(&mut client, "window", "FILTERS"), ":2");
    });
}

#[test]
fn scripts_replicated_by_text_are_refused_what_needs_a_clock() {
    for_each_server(|kind| {
        if !kind.is_before_7() {
            return;
        }
        let server = Setup::new().debug().line("lua-replicate-commands no").start(kind);
        let mut client = server.resp2();
        client.ok(&format!("BF.RESERVE hand {RATE} 100 GENERATIONS 2"));
        client.ok(&format!("BF.RESERVE window {RATE} 100 WINDOW 8000000 GENERATIONS 8"));
        client.ok(&format!("BF.RESERVE last {RATE} 8 LAST GENERATIONS 8"));
        assert_eq!(client.ask("BF.ADD last a"), ":1");
        age(&mut client, "window", 1_000_000_000);
        let keys = ["hand", "window", "last"];
        let before = keys.map(|key| digest(&mut client, key));
        for (call, key) in [
            ("'BF.RESERVE', KEYS[1], 0.01, 100, 'WINDOW', 60", "new"),
            ("'BF.RESERVE', KEYS[1], 0.01, 100, 'LAST'", "new"),
            ("'BF.RESERVE', KEYS[1], 0.01, 100, 'GENERATIONS', 3", "new"),
            ("'BF.RESERVE', KEYS[1], 0.01, 100, 'TTL', 60", "new"),
            ("'BF.INSERT', KEYS[1], 'TTL', 60, 'ITEMS', 'a'", "new"),
            ("'BF.INSERT', KEYS[1], 'LAST', 'ITEMS', 'a'", "new"),
            ("'BF.ROTATE', KEYS[1]", "hand"),
            ("'BF.ADD', KEYS[1], 'a'", "window"),
            ("'BF.MADD', KEYS[1], 'b', 'c'", "last"),
        ] {
            let reply = script(&mut client, call, key);
            assert!(reply.contains(NEEDS_EFFECTS), "{call}: {reply}");
        }
        assert_eq!(client.ask("EXISTS new"), ":0");
        assert_eq!(keys.map(|key| digest(&mut client, key)), before);
        // What needs no clock works.
        assert_eq!(script(&mut client, "'BF.ADD', KEYS[1], 'a'", "hand"), ":1");
        assert_eq!(script(&mut client, "'BF.EXISTS', KEYS[1], 'a'", "hand"), ":1");
        assert_eq!(script(&mut client, "'BF.CARD', KEYS[1]", "window"), ":0");
        assert_eq!(script(&mut client, "'BF.RESERVE', KEYS[1], 0.01, 100", "new"), "+OK");
        // The same calls outside of scripts work.
        assert_eq!(client.ask("BF.ADD window a"), ":1");
        assert_eq!(client.ask("BF.MADD last b c"), "*[:1 :1]");
        client.ok("BF.ROTATE hand");
    });
}
