//! Calls from another module: typed replies, and replication only on request.

use bloomline_harness::{
    CModule, Client, Replica, Setup, Stop, arguments, for_each_server, matches,
};

use crate::cluster::equal::{assert_equal, catch_up, setup};

const CALLING_MODULE: &str = "modules/calling.c";

/// Calls that write, with their replies: the number of the type in the module interface, then the
/// reply.
const WRITES: [(&str, &str); 8] = [
    ("BF.RESERVE reserved 0.001 100", "*[:0 +OK]"),
    ("BF.RESERVE stored 0.001 100 LAYOUT redisbloom", "*[:0 +OK]"),
    ("BF.RESERVE reserved 0.001 100", "*[:1 -ERR item exists]"),
    ("BF.ADD added a", "*[:2 :1]"),
    ("BF.ADD added a", "*[:2 :0]"),
    ("BF.MADD reserved a b a", "*[:3 *[:1 :1 :0]]"),
    ("BF.MADD stored a b a", "*[:3 *[:1 :1 :0]]"),
    (
        "BF.INSERT inserted CAPACITY 2 NONSCALING ITEMS a b c",
        "*[:3 *[:1 :1 -ERR non scaling filter is full]]",
    ),
];

/// What a recording replica receives of them.
const EFFECTS: [&str; 7] = [
    "BF.LOADCHUNK reserved 1 <data>",
    "BF.LOADCHUNK stored 1 <data>",
    "BF.LOADCHUNK added 1 <data>",
    "BF.MADD reserved a b",
    "BF.MADD stored a b",
    "BF.LOADCHUNK inserted 1 <data>",
    "BF.MADD inserted a b",
];

/// A server with both modules.
fn with_caller(caller: &CModule) -> Setup {
    setup().line(format!("loadmodule {}", caller.path().display()))
}

#[test]
fn module_calls_return_typed_replies() {
    let caller = CModule::build(CALLING_MODULE, &[]);
    with_caller(&caller).on_each_server(|mut client, server| {
        for (call, expected) in WRITES {
            assert_eq!(client.ask(&format!("CALLER.WRITE - {call}")), expected, "{call}");
        }
        client.ok("SET text value");
        let wrong_type = "*[:1 -WRONGTYPE Operation against a key holding the wrong kind of value]";
        for (call, expected) in [
            ("BF.EXISTS reserved a", "*[:2 :1]"),
            ("BF.MEXISTS reserved a x", "*[:3 *[:1 :0]]"),
            ("BF.CARD reserved", "*[:2 :2]"),
            ("BF.INFO reserved CAPACITY", "*[:3 *[:100]]"),
            ("BF.INFO inserted EXPANSION", "*[:3 *[_]]"),
            ("BF.INFO reserved", "*[:3 *[+Capacity :100 +Size :<n> <any> +Expansion rate :2]]"),
            ("BF.INFO missing", "*[:1 -ERR not found]"),
            ("BF.ADD text a", wrong_type),
            ("BF.EXISTS text a", "*[:2 :0]"),
            ("BF.SCANDUMP reserved 0", "*[:3 *[:1 $<n> <any>]]"),
        ] {
            let answer = client.ask(&format!("CALLER.READ - {call}"));
            assert!(matches(expected, &answer), "{call}: {answer}");
        }
        if !server.kind.is_before_7() {
            // In RESP3, which modules of Redis 6.2 do not have.
            let mut client = server.resp3();
            for (call, expected) in [
                ("BF.EXISTS reserved a", "*[:7 #t]"),
                ("BF.ADD reserved a", "*[:7 #f]"),
                ("BF.MADD reserved a new", "*[:3 *[#f #t]]"),
                ("BF.INFO reserved CAPACITY", "*[:5 %{+Capacity :100}]"),
            ] {
                assert_eq!(client.ask(&format!("CALLER.READ 3 {call}")), expected, "{call}");
            }
        }
        client.assert_answers_ping("the calls");
    });
}

/// Makes all calls of [`WRITES`] with these flags, in one transaction if requested.
fn write_all(client: &mut Client, flags: &str, in_transaction: bool) {
    let lines = WRITES.map(|(call, _)| format!("CALLER.WRITE {flags} {call}"));
    if !in_transaction {
        return lines.iter().zip(WRITES).for_each(|(line, (_, reply))| {
            assert_eq!(client.ask(line), reply, "{line}");
        });
    }
    client.ok("MULTI");
    lines.iter().for_each(|line| assert_eq!(client.ask(line), "+QUEUED"));
    assert_eq!(client.ask("EXEC"), format!("*[{}]", WRITES.map(|(_, reply)| reply).join(" ")));
}

#[test]
fn module_calls_are_replicated_only_on_request() {
    let caller = CModule::build(CALLING_MODULE, &[]);
    for_each_server(|kind| {
        let mut primary = with_caller(&caller).append_only().start(kind);
        let replica = setup().follows(&primary).start(kind);
        let (mut client, mut follower) = (primary.resp2(), replica.resp2());
        catch_up(&mut client, &mut follower);
        let mut link = Replica::attach(&primary);
        for in_transaction in [false, true] {
            client.ok("FLUSHALL");
            link.writes(&primary);
            write_all(&mut client, "-", in_transaction);
            assert_eq!(link.writes(&primary), [""; 0]);
            catch_up(&mut client, &mut follower);
            assert_eq!(client.ask("EXISTS reserved stored added inserted"), ":4");
            assert_eq!(follower.ask("EXISTS reserved stored added inserted"), ":0");
            client.ok("FLUSHALL");
            link.writes(&primary);
            write_all(&mut client, "!", in_transaction);
            assert_eq!(link.writes(&primary), EFFECTS);
            catch_up(&mut client, &mut follower);
            assert_equal(&mut client, &mut follower);
        }
        // At shutdown a server waits for replicas that acknowledge nothing, such as the recording
        // one.
        drop(link);
        let digest = client.ask("DEBUG DIGEST");
        primary.restart(Stop::NoSave);
        assert_eq!(primary.resp2().ask("DEBUG DIGEST"), digest);
    });
}

#[test]
fn module_calls_on_a_replica_have_the_rights_of_a_client() {
    let caller = CModule::build(CALLING_MODULE, &[]);
    for_each_server(|kind| {
        let primary = setup().start(kind);
        let replica = with_caller(&caller)
            .module_args("bf-max-filter-bytes 64kb")
            .follows(&primary)
            .start(kind);
        let (mut client, mut follower) = (primary.resp2(), replica.resp2());
        client.call("BF.MADD seen a b");
        catch_up(&mut client, &mut follower);
        assert_equal(&mut client, &mut follower);

        assert_eq!(follower.ask("CALLER.READ - BF.MEXISTS seen a b c"), "*[:3 *[:1 :1 :0]]");
        assert_eq!(follower.ask("CALLER.READ ! BF.INFO seen ITEMS"), "*[:3 *[:2]]");
        let refused = follower.ask("CALLER.WRITE ! BF.ADD seen c");
        assert!(refused.starts_with("-READONLY"), "{refused}");
        assert_equal(&mut client, &mut follower);

        follower.ok("CONFIG SET replica-read-only no");
        for flags in ["!", "-"] {
            let own = format!("own{flags}");
            assert_eq!(
                follower.ask(&format!("CALLER.WRITE {flags} BF.MADD {own} a b")),
                "*[:3 *[:1 :1]]"
            );
            // As for a client, the layout is this server's default, and its limit applies.
            assert_eq!(
                follower.ask(&format!("BF.STATS {own} layout")),
                "*[$6 layout $9 bloomline]"
            );
            let large = format!("CALLER.WRITE {flags} BF.RESERVE large 0.01 1000000");
            let refused = follower.ask(&large);
            assert!(refused.contains("bf-max-filter-bytes"), "{refused}");
        }
        client.call("BF.MADD seen c d");
        catch_up(&mut client, &mut follower);
        assert_eq!(follower.ask("BF.MEXISTS seen a b c d"), "*[:1 :1 :1 :1]");
        assert_eq!(client.ask("EXISTS own! own-"), ":0");
    });
}

#[test]
fn module_calls_touch_watchers_only_on_change() {
    let caller = CModule::build(CALLING_MODULE, &[]);
    for_each_server(|kind| {
        let server = with_caller(&caller).start(kind);
        let (mut watcher, mut client) = (server.resp2(), server.resp2());
        client.call("BF.MADD k a b");
        for flags in ["!", "-"] {
            for (call, touches) in [
                (format!("BF.ADD k new{flags}"), true),
                (format!("BF.MADD k a newer{flags}"), true),
                (format!("BF.RESERVE k{flags} 0.01 100"), true),
                ("BF.ADD k a".to_owned(), false),
                ("BF.MADD k a b".to_owned(), false),
                ("BF.RESERVE k 0.01 100".to_owned(), false),
                ("BF.EXISTS k a".to_owned(), false),
                ("BF.INFO k".to_owned(), false),
            ] {
                let key = call.split(' ').nth(1).expect("a key");
                watcher.ok(&format!("WATCH {key}"));
                let reply = client.ask(&format!("CALLER.WRITE {flags} {call}"));
                assert!(reply.starts_with("*["), "{call}: {reply}");
                watcher.ok("MULTI");
                watcher.call("PING");
                let expected = if touches { "_" } else { "*[+PONG]" };
                assert_eq!(watcher.ask("EXEC"), expected, "{call}: {reply}");
                // A transaction is not aborted by its own change of a key that it watches.
                watcher.ok(&format!("WATCH {key}"));
                watcher.ok("MULTI");
                watcher.call(&format!("CALLER.WRITE {flags} {call}"));
                watcher.call("PING");
                let done = watcher.ask("EXEC");
                assert!(done.starts_with("*[*[:") && done.ends_with(" +PONG]"), "{call}: {done}");
            }
        }
    });
}

#[test]
fn module_calls_leak_no_memory() {
    /// Calls of each kind per round.
    const CALLS: usize = 1000;
    /// A leak of 64 bytes per call of one kind would exceed it.
    const MOST: u64 = 64 * CALLS as u64;
    let caller = CModule::build(CALLING_MODULE, &[]);
    with_caller(&caller).on_each_server(|mut client, _| {
        client.call("BF.MADD k a b");
        let mut round = || {
            for line in [
                "CALLER.WRITE ! BF.ADD k a",
                "CALLER.WRITE - BF.MADD k a b",
                "CALLER.WRITE ! BF.RESERVE k 0.01 100",
                "CALLER.WRITE ! BF.RESERVE new 0 100",
                "CALLER.READ - BF.EXISTS k a",
                "CALLER.READ - BF.INFO k",
                "CALLER.READ - BF.SCANDUMP k 0",
                "CALLER.READ - BF.INFO missing",
            ] {
                let arguments = arguments(line);
                (0..CALLS).for_each(|_| client.send(&arguments));
                (0..CALLS).for_each(|_| drop(client.receive(line)));
            }
            client.info_number("used_memory")
        };
        // The first rounds grow buffers that stay allocated.
        round();
        let before = round();
        let after = round();
        assert!(after < before + MOST, "{before} bytes before, {after} after");
    });
}
