//! Replicas with RedisBloom: `bf-redisbloom-replicas yes`.
//!
//! RedisBloom's type cannot implement COPY. On the replica, a small module takes its place and
//! records what BF.LOADCHUNK delivers: `standin_module.c`.

use bloomline_harness::{
    CModule, Client, Kind, Limits, Server, Setup, bulk, for_each_server, for_newest_servers,
    matches, numbered, report_missing, show, until,
};
use redis::Value;

use crate::cluster::equal::{assert_equal, catch_up, setup};

const FLEET: &str = "bf-redisbloom-replicas yes";
const FORBIDDEN: &str = "its layout is bloomline, which bf-redisbloom-replicas forbids";

/// A replica without this module, and the stand-in for RedisBloom.
fn standing_in(kind: &Kind, port: u16) -> (Server, CModule) {
    let module = CModule::build("redisbloom/standin_module.c", &[]);
    let lines =
        [format!("loadmodule {}", module.path().display()), format!("replicaof 127.0.0.1 {port}")];
    let setup = lines.into_iter().fold(setup().bare(), Setup::line);
    (setup.start(kind), module)
}

/// The expected text of the stand-in for a copied filter: its header and bits as the primary dumps
/// them.
fn expected(client: &mut Client, key: &str) -> String {
    let (mut iterator, mut header, mut bits, mut sum) = (0, 0, 0, 0);
    loop {
        let (next, bytes) = client.scandump(key, iterator);
        match next {
            0 => return format!("loaded {header} {bits} {sum}"),
            1 => header = bytes.len(),
            _ if bytes.iter().all(|byte| *byte == 0) => {}
            _ => {
                bits += bytes.len();
                sum += bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>() * next as u64;
            }
        }
        iterator = next;
    }
}

/// Header and payload of a filter in our own layout.
fn own_filter(kind: &Kind) -> (Vec<u8>, Vec<u8>) {
    let server = Setup::new().start(kind);
    let mut client = server.resp2();
    client.ok("BF.RESERVE k 0.01 100");
    let (_, header) = client.scandump("k", 0);
    (header, client.dump("k"))
}

fn fill(client: &mut Client) {
    client.ok("BF.RESERVE src 0.001 1000 EXPANSION 3");
    client.items("BF.MADD", "src", &numbered("item", 5000));
    // A filter whose chunks belong to several layers, and one whose bits are mostly zero.
    client.ok("BF.RESERVE sparse 0.01 30000000 NONSCALING");
    assert_eq!(client.ask("BF.MADD sparse a b"), "*[:1 :1]");
}

/// What the stand-in reports of a key.
fn report(follower: &mut Client, key: &str) -> String {
    String::from_utf8_lossy(bulk(&follower.call(&format!("STANDIN.LOOK {key}")))).into_owned()
}

#[test]
fn copies_reach_a_replica_that_cannot_copy() {
    for_each_server(|kind| {
        let primary = setup().module_args(FLEET).start(kind);
        let (replica, _module) = standing_in(kind, primary.port);
        let (mut client, mut follower) = (primary.resp2(), replica.resp2());
        catch_up(&mut client, &mut follower);
        fill(&mut client);
        // The copies also replace a filter and a value of another type.
        assert_eq!(client.ask("BF.ADD replaced x"), ":1");
        client.ok("SET string x");
        assert_eq!(client.ask("PEXPIRE sparse 100000000"), ":1");
        let script = "return redis.call('COPY', KEYS[1], KEYS[2])";
        for (copy, key) in [
            ("COPY src plain", "plain"),
            ("COPY src replaced REPLACE", "replaced"),
            ("COPY src string REPLACE", "string"),
            ("COPY sparse mortal", "mortal"),
            (&format!("EVAL \"{script}\" 2 src scripted"), "scripted"),
        ] {
            assert_eq!(client.ask(copy), ":1", "{copy}");
            let expected = expected(&mut client, key);
            // Later additions find the copy.
            assert_eq!(client.ask(&format!("BF.ADD {key} after")), ":1");
            catch_up(&mut client, &mut follower);
            assert_eq!(report(&mut follower, key), expected, "{copy}");
        }
        client.ok("MULTI");
        client.call("COPY src queued");
        client.call("BF.ADD queued after");
        assert_eq!(client.ask("EXEC"), "*[:1 :1]");
        catch_up(&mut client, &mut follower);
        assert_eq!(report(&mut follower, "queued"), report(&mut follower, "plain"));
        let left = |client: &mut Client| -> i64 {
            client.ask("PTTL mortal").trim_start_matches(':').parse().expect("milliseconds")
        };
        let (one, other) = (left(&mut client), left(&mut follower));
        assert!((other - one).abs() < 60_000 && other > 0, "{one} and {other} ms");
        assert_eq!(follower.ask("PTTL plain"), ":-1");
        // A copy into another database.
        assert_eq!(client.ask("COPY src there DB 3"), ":1");
        client.ok("SELECT 3");
        catch_up(&mut client, &mut follower);
        follower.ok("SELECT 3");
        assert_eq!(report(&mut follower, "there"), expected(&mut client, "there"));
    });
}

#[test]
fn without_the_setting_an_addition_makes_another_filter() {
    for_each_server(|kind| {
        let primary = setup().module_args("bf-layout redisbloom").start(kind);
        let (replica, _module) = standing_in(kind, primary.port);
        let (mut client, mut follower) = (primary.resp2(), replica.resp2());
        catch_up(&mut client, &mut follower);
        fill(&mut client);
        assert_eq!(client.ask("COPY src plain"), ":1");
        assert_eq!(client.ask("BF.ADD plain after"), ":1");
        catch_up(&mut client, &mut follower);
        assert_eq!(report(&mut follower, "plain"), "default");
    });
}

#[test]
fn no_command_makes_a_filter_of_our_layout() {
    for_each_server(|kind| {
        let (header, dump) = own_filter(kind);
        // The default layout is ours.
        let server = Setup::new().module_args(FLEET).start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE reserved 0.01 100");
        assert_eq!(client.ask("BF.ADD added a"), ":1");
        assert_eq!(client.ask("BF.MADD many a b"), "*[:1 :1]");
        assert_eq!(client.ask("BF.INSERT inserted ITEMS a"), "*[:1]");
        for key in ["reserved", "added", "many", "inserted"] {
            assert_eq!(client.ask(&format!("BF.INFO {key} LAYOUT")), "*[$10 redisbloom]", "{key}");
        }
        let size = client.ask("DBSIZE");
        let refused = format!("-ERR could not create filter: {FORBIDDEN}");
        assert_eq!(client.ask("BF.RESERVE k 0.01 100 LAYOUT bloomline"), refused);
        assert_eq!(client.ask("BF.INSERT k LAYOUT bloomline ITEMS a"), refused);
        assert_eq!(show(&client.run(&[b"BF.LOADCHUNK", b"k".as_slice(), b"1", &header])), refused);
        let restored = client.restore("k", &dump);
        assert_eq!(restored, "-ERR Bad data format");
        assert!(server.log().contains(&format!("not loaded: {FORBIDDEN}")), "{}", server.log());
        assert_eq!(client.ask("DBSIZE"), size);
    });
}

#[test]
fn files_with_our_layout_end_the_start() {
    for_each_server(|kind| {
        for append in [false, true] {
            let lines = format!("appendonly {}", if append { "yes" } else { "no" });
            let setup = Setup::new().line(lines).line("aof-use-rdb-preamble no");
            let mut server = setup.module_args("bf-layout bloomline").start(kind);
            let mut client = server.resp2();
            assert_eq!(client.ask("BF.ADD k a"), ":1");
            if !append {
                client.ok("SAVE");
            }
            server.kill();
            server.edit_config("bf-layout bloomline", FLEET);
            let refusal = server.try_revive(Limits::default()).expect_err("a filter of our layout");
            assert!(refusal.log.contains(FORBIDDEN), "{}", refusal.log);
            server.edit_config(FLEET, "bf-layout bloomline");
            server.revive();
            assert_eq!(server.resp2().ask("BF.EXISTS k a"), ":1");
        }
    });
}

#[test]
fn a_primary_cannot_replicate_our_layout() {
    for_each_server(|kind| {
        let primary = setup().start(kind);
        let mut client = primary.resp2();
        let mut replica = setup().module_args(FLEET).follows(&primary).start(kind);
        catch_up(&mut client, &mut replica.resp2());
        assert_eq!(client.ask("BF.ADD k a"), ":1");
        let status = replica.wait_for_end();
        let expected = format!("filter 'k' was created by a primary or a file, but {FORBIDDEN}");
        assert!(
            !status.success() && replica.log().contains(&expected),
            "{status}\n{}",
            replica.log()
        );
        // A full synchronisation fails. If it uses a file, it ends the process, as for the server's
        // own types.
        let fresh = setup().module_args(FLEET).start(kind);
        fresh.resp2().ok(&format!("REPLICAOF 127.0.0.1 {}", primary.port));
        until("the synchronisation to be refused", || {
            fresh.log().contains(FORBIDDEN).then_some(())
        });
    });
}

#[test]
fn payloads_are_refused_if_redis_cannot_read_them() {
    Setup::new().module_args(FLEET).on_each_server(|mut client, server| {
        fill(&mut client);
        let dump = client.dump("src");
        let reply = client.restore("restored", &dump);
        if server.kind.has_payloads_unknown_to_redis() {
            assert_eq!(reply, "-ERR Bad data format");
            assert!(server.log().contains("use BF.SCANDUMP and BF.LOADCHUNK"), "{}", server.log());
        } else {
            assert_eq!(reply, "+OK");
        }
    });
}

#[test]
fn moves_and_copies_leave_clients_in_their_database() {
    for_each_server(|kind| {
        let lines = ["appendonly yes", "appendfsync always", "aof-use-rdb-preamble no"];
        let mut primary = lines
            .iter()
            .fold(setup(), |setup, line| setup.line(*line))
            .module_args(FLEET)
            .start(kind);
        let replica = setup().module_args(FLEET).follows(&primary).start(kind);
        let (mut client, mut follower) = (primary.resp2(), replica.resp2());
        catch_up(&mut client, &mut follower);
        client.ok("SET moved v");
        client.ok("SET copied v");
        fill(&mut client);
        for line in [
            "MOVE moved 2",
            "COPY copied copy DB 1",
            "COPY src src DB 3",
            "COPY src src DB 3 REPLACE",
            "MOVE sparse 4",
        ] {
            assert_eq!(client.ask(line), ":1", "{line}");
            let state = client.ask("CLIENT INFO");
            assert!(state.contains(" db=0 "), "{line}: {state}");
        }
        client.ok("SET after v");
        catch_up(&mut client, &mut follower);
        let digest = client.ask("DEBUG DIGEST");
        assert_eq!(follower.ask("DEBUG DIGEST"), digest);
        primary.kill();
        primary.revive();
        let mut client = primary.resp2();
        assert_eq!(client.ask("DEBUG DIGEST"), digest);
        assert_eq!(client.ask("EXISTS after copied src moved"), ":3");
    });
}

#[test]
fn large_contents_are_logged() {
    for_newest_servers(|kind| {
        let server = Setup::new().module_args(FLEET).start(kind);
        let mut client = server.resp2();
        let is_logged = || server.log().contains("is replicated by content, ");
        for (key, capacity, expected) in [("small", 1_000_000, false), ("large", 50_000_000, true)]
        {
            client.ok(&format!("BF.RESERVE {key} 0.001 {capacity}"));
            // Chunks without a set bit are not sent.
            client.items("BF.MADD", key, &numbered("item", 1000));
            assert_eq!(client.ask(&format!("COPY {key} {key}:copy")), ":1");
            assert_eq!(is_logged(), expected, "{key}");
        }
    });
}

/// Calls that RedisBloom does not know.
const UNKNOWN: [&str; 7] = [
    "'BF.MERGE', 'dst', 'src'",
    "'BF.COMPACT', 'src'",
    "'BF.BULKADD', 'dst', 'LINES', 'a'",
    "'BF.BULKEXISTS', 'dst', 'LINES', 'a'",
    "'BF.INSERT', 'dst', 'LAYOUT', 'redisbloom', 'ITEMS', 'a'",
    "'BF.RESERVE', 'dst', '0.1', '9', 'LAYOUT', 'redisbloom'",
    "'COPY', 'src', 'dst'",
];

#[test]
fn scripts_replicated_by_text_may_not_use_what_redisbloom_lacks() {
    for_each_server(|kind| {
        if !kind.is_before_7() {
            return report_missing(kind, "lua-replicate-commands no");
        }
        let script = |call: &str| format!("EVAL \"return redis.pcall({call})\" 2 src dst");
        let server = setup().module_args(FLEET).line("lua-replicate-commands no").start(kind);
        let mut client = server.resp2();
        fill(&mut client);
        for call in UNKNOWN {
            let reply = client.ask(&script(call));
            assert!(reply.starts_with('-'), "{call}: {reply}");
            assert!(
                reply.contains("lua-replicate-commands yes") || call.contains("COPY"),
                "{reply}"
            );
            assert_eq!(client.ask("EXISTS dst"), ":0", "{call}");
        }
        let line = "COPY of filter 'src' to 'dst' refused: replicas with RedisBloom do not know";
        assert!(server.log().contains(line), "{}", server.log());
        for call in ["'BF.RESERVE', 'dst', '0.1', '9'", "'BF.INSERT', 'dst', 'ITEMS', 'a'"] {
            assert!(!client.ask(&script(call)).starts_with('-'), "{call}");
        }
        // Outside of scripts, and in scripts that are replicated by their effects, all is known.
        assert_eq!(client.ask("BF.BULKADD dst LINES b COUNT"), "*[:1 :1]");
        client.ok("CONFIG SET lua-replicate-commands yes");
        for call in UNKNOWN {
            assert_eq!(client.ask("DEL dst"), ":1");
            client.ok("BF.RESERVE dst 0.001 1000 EXPANSION 3");
            let call = call.replace("'BF.RESERVE', 'dst'", "'BF.RESERVE', 'other'");
            let call = call.replace("'src', 'dst'", "'src', 'dst', 'REPLACE'");
            let reply = client.ask(&script(&call));
            assert!(!reply.starts_with('-'), "{call}: {reply}");
        }
    });
}

#[test]
fn replicas_repeat_scripts_of_primaries_without_the_setting() {
    for_each_server(|kind| {
        if !kind.is_before_7() {
            return report_missing(kind, "lua-replicate-commands no");
        }
        let by_text = || setup().line("lua-replicate-commands no");
        let primary = by_text().module_args("bf-layout redisbloom").start(kind);
        let replica = by_text().module_args(FLEET).follows(&primary).start(kind);
        let (mut client, mut follower) = (primary.resp2(), replica.resp2());
        catch_up(&mut client, &mut follower);
        fill(&mut client);
        for call in ["'BF.COMPACT', KEYS[1]", "'COPY', KEYS[1], KEYS[2]"] {
            let reply = client.ask(&format!("EVAL \"return redis.call({call})\" 2 src dst"));
            assert!(reply.starts_with(':'), "{call}: {reply}");
        }
        catch_up(&mut client, &mut follower);
        assert_equal(&mut client, &mut follower);
    });
}

/// The full name of the setting in CONFIG.
fn config_name(client: &mut Client) -> String {
    match client.call("CONFIG GET *bf-redisbloom-replicas") {
        Value::Array(pair) if pair.len() == 2 => {
            String::from_utf8_lossy(bulk(&pair[0])).into_owned()
        }
        other => panic!("{}", show(&other)),
    }
}

#[test]
fn the_setting_is_refused_while_such_filters_exist() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            return report_missing(kind, "settings of modules");
        }
        let primary = setup().start(kind);
        let mut client = primary.resp2();
        let name = config_name(&mut client);
        assert_eq!(client.ask("BF.MADD k a b"), "*[:1 :1]");
        assert_eq!(client.ask("BF.ADD l a"), ":1");
        let refused = client.ask(&format!("CONFIG SET {name} yes"));
        let expected = "<any>does not read, and this server holds 2 such filters<any>";
        assert!(matches(expected, &refused), "{refused}");
        assert_eq!(client.ask("DEL k l"), ":2");
        until("both filters to be freed", || {
            (client.ask(&format!("CONFIG SET {name} yes")) == "+OK").then_some(())
        });
        assert!(client.ask(&format!("CONFIG SET {name} maybe")).starts_with('-'));
        // With the setting, copies are replicated by content.
        let (replica, _module) = standing_in(kind, primary.port);
        let mut follower = replica.resp2();
        catch_up(&mut client, &mut follower);
        fill(&mut client);
        for (value, copy, expected) in [("yes", "first", None), ("no", "second", Some(""))] {
            client.ok(&format!("CONFIG SET {name} {value}"));
            assert_eq!(client.ask(&format!("COPY src {copy}")), ":1");
            let expected =
                expected.map_or_else(|| self::expected(&mut client, copy), str::to_owned);
            catch_up(&mut client, &mut follower);
            assert_eq!(report(&mut follower, copy), expected, "{value}");
        }
    });
}

#[test]
fn an_append_only_file_repeats_the_copies() {
    for_each_server(|kind| {
        let lines = ["appendonly yes", "appendfsync always", "aof-use-rdb-preamble no"];
        let setup = lines.iter().fold(setup(), |setup, line| setup.line(*line)).module_args(FLEET);
        let mut server = setup.start(kind);
        let mut client = server.resp2();
        fill(&mut client);
        assert_eq!(client.ask("COPY src plain"), ":1");
        assert_eq!(client.ask("COPY src plain REPLACE"), ":1");
        client.items("BF.MADD", "plain", &numbered("after", 100));
        let before = client.ask("DEBUG DIGEST");
        server.kill();
        server.revive();
        assert_eq!(server.resp2().ask("DEBUG DIGEST"), before);
    });
}
