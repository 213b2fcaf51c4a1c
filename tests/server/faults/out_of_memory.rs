//! No memory from the system: the limit of the server is only a little above what it uses.
//!
//! The filters here take more than 8 MiB. Below that size the module must use the allocation
//! function of Redis 6.2 that ends the server if there is no memory.

use bloomline_harness::{
    Client, Kind, Limits, Refusal, Server, Setup, Stop, arguments, for_each_server_long, numbered,
    show, truncate_dump, until,
};

use crate::cluster::equal::{catch_up, setup};
use crate::inspect::{digest, number};

use super::{repetitions, report};

/// The address space that is left: enough for the server, but for no filter of these tests.
const LEFT: u64 = 24 << 20;

/// A reservation of 140 MB, which uses address space but no physical memory.
const LARGE: &str = "BF.RESERVE large 0.01 100000000";

fn limit_memory(server: &Server) {
    server.limit(Limits::memory_beyond(server.pid(), LEFT));
}

fn lift_limits(server: &Server) {
    server.limit(Limits::default());
}

/// A filter whose next item adds a second layer of 48 MB; returns its items.
fn about_to_grow(client: &mut Client, key: &str) -> Vec<Vec<u8>> {
    client.ok(&format!("BF.RESERVE {key} 0.0001 1000 EXPANSION 20000 SEED 7"));
    let items = numbered(key, 1010);
    let mut inside = Vec::new();
    for item in items {
        if client.ask(&format!("BF.INFO {key} ITEMS")) == "*[:1000]" {
            break;
        }
        client.run(&[&b"BF.ADD"[..], key.as_bytes(), &item]);
        inside.push(item);
    }
    inside
}

fn assert_has(client: &mut Client, key: &str, items: &[Vec<u8>]) {
    let found = show(&client.items("BF.MEXISTS", key, items));
    assert_eq!(found.matches(":1").count(), items.len(), "{key} lost items");
}

/// The payload and the header of a filter from another server. On a server that never held the
/// filter, its memory must be allocated anew.
fn payload_and_header(kind: &Kind) -> (Vec<u8>, Vec<u8>) {
    let server = Setup::new().start(kind);
    let mut client = server.resp2();
    client.ok(LARGE);
    let payload = client.dump("large");
    (payload, client.scandump("large", 0).1)
}

#[test]
fn refuses_without_memory_and_continues_with_memory() {
    for_each_server_long(|kind| {
        let (payload, header) = payload_and_header(kind);
        let times = repetitions(1);
        for _ in 0..times {
            // A new server each time, because an allocator keeps addresses that it once had.
            let mut server = Setup::new().start(kind);
            let mut client = server.resp2();
            let inside = about_to_grow(&mut client, "growing");
            limit_memory(&server);
            for _ in 0..3 {
                let refused = client.ask(LARGE);
                assert!(refused.starts_with("-ERR Insufficient memory"), "{refused}");
                let refused = client.ask("BF.INSERT large CAPACITY 100000000 ITEMS a");
                assert!(refused.starts_with("-ERR Insufficient memory"), "{refused}");
                let refused = client.restore("large", &payload);
                assert_eq!(refused, "-ERR Bad data format");
                let refused =
                    show(&client.run(&[&b"BF.LOADCHUNK"[..], b"large".as_slice(), b"1", &header]));
                assert!(refused.starts_with("-ERR"), "{refused}");
                assert_eq!(client.ask("EXISTS large"), ":0");
                let refused = client.ask("BF.MADD growing new:1 new:2");
                assert!(refused.contains("-ERR problem inserting into filter"), "{refused}");
                assert_eq!(client.ask("BF.INFO growing FILTERS"), "*[:1]");
                assert_eq!(client.ask("BF.INFO growing ITEMS"), "*[:1000]");
                assert_has(&mut client, "growing", &inside);
            }
            lift_limits(&server);
            client.ok(LARGE);
            limit_memory(&server);
            let refused = client.ask("COPY large copy");
            assert!(refused == ":0" || refused.starts_with('-'), "{refused}");
            assert_eq!(client.ask("EXISTS copy"), ":0");
            lift_limits(&server);
            assert_eq!(client.ask("COPY large copy"), ":1");
            assert_eq!(client.ask("BF.MADD growing new:1 new:2"), "*[:1 :1]");
            assert_eq!(client.ask("BF.INFO growing FILTERS"), "*[:2]");
            assert_has(&mut client, "growing", &inside);
            server.restart(Stop::Save);
            assert_has(&mut server.resp2(), "growing", &inside);
        }
        report(
            kind,
            "no memory to create, grow, copy, restore",
            times,
            "refused, 0 lost, works afterwards",
        );
    });
}

/// A call that is queued by MULTI has its memory when the limit is set. Half of its items are new,
/// so the other half is left out of what is replicated: a list of half its bytes.
#[test]
fn a_bulk_call_without_memory_for_its_list_changes_nothing() {
    // A server frees the query buffer of a client that was idle for two seconds, which may happen
    // between the limit and the call on a busy machine. It is as large as the list.
    const ATTEMPTS: usize = 20;
    for_each_server_long(|kind| {
        for (reserve, bulk) in [
            ("BF.RESERVE k 0.01 1000000", "BF.BULKADD"),
            ("CF.RESERVE k 2000000", "CF.BULKADD"),
            ("CF.RESERVE k 2000000", "CF.BULKDEL"),
        ] {
            let is_refused = (0..ATTEMPTS).any(|_| is_refused_for_its_list(kind, reserve, bulk));
            assert!(is_refused, "{bulk}");
        }
        report(kind, "no memory for the items of a call", 1, "refused, nothing changed");
    });
}

/// Runs a call with packed items without memory for its list. False if the server found some.
fn is_refused_for_its_list(kind: &Kind, reserve: &str, bulk: &str) -> bool {
    const WIDTH: usize = 64;
    let item = |number: usize| (number / 2).to_le_bytes().repeat(WIDTH / 8);
    let data: Vec<u8> = (0..1 << 20).flat_map(item).collect();
    let server = Setup::new().debug().start(kind);
    let mut client = server.resp2();
    client.ok(reserve);
    let before = digest(&mut client, "k");
    client.ok("MULTI");
    let width = WIDTH.to_string();
    let call = [bulk.as_bytes(), b"k", b"FIXED", width.as_bytes(), &data, b"COUNT"];
    assert_eq!(show(&client.run(&call)), "+QUEUED");
    limit_memory(&server);
    let reply = client.ask("EXEC");
    lift_limits(&server);
    if reply.starts_with("*[*[:1048576 :") {
        return false;
    }
    let refused = "*[-ERR no memory for the items of the call: send fewer per call]";
    assert_eq!(reply, refused, "{bulk}: {}", server.log());
    assert_eq!(digest(&mut client, "k"), before, "{bulk}");
    let reply = show(&client.run(&call));
    assert!(reply.starts_with("*[:1048576 :"), "{bulk}: {reply}");
    true
}

#[test]
fn a_start_without_memory_logs_it_and_works_with_memory() {
    for_each_server_long(|kind| {
        let cases = [
            ("appendonly no", "BLOOMLINE"),
            ("appendonly no", "VALKEY-BLOOM"),
            ("appendonly yes", "BLOOMLINE"),
        ];
        for (persistence, layout) in cases {
            let setup = Setup::new()
                .line(persistence)
                .line("aof-use-rdb-preamble no")
                .line("appendfsync always");
            let mut server = setup.start(kind);
            let mut client = server.resp2();
            // The address space of the server itself, including its threads, without room for the
            // filter.
            let itself = Limits::memory_beyond(server.pid(), LEFT);
            let items = numbered("item", 100);
            client.ok(&format!("BF.RESERVE large 0.01 100000000 LAYOUT {layout}"));
            client.items("BF.MADD", "large", &items);
            if persistence == "appendonly no" {
                client.ok("SAVE");
            }
            let times = repetitions(2);
            for _ in 0..times {
                server.kill();
                let refusal = server.try_revive(itself).expect_err("no memory");
                // The server ended by itself. Before Redis 8.0 the exit code is 0, that of a check
                // of the file that finds no error.
                assert!(refusal.status.code().is_some(), "{}\n{}", refusal.status, refusal.log);
                let log = &refusal.log;
                assert!(log.contains("memory"), "nothing about memory in\n{log}");
                assert!(!log.contains("ends too early"), "a good file is said to be cut\n{log}");
                server.revive();
                assert_has(&mut server.resp2(), "large", &items);
            }
            let fault = format!("no memory to load at the start, {persistence}, {layout}");
            report(kind, &fault, times, "refused with a message, 0 lost after");
        }
    });
}

/// The allocator of most servers crashes if a thread starts when it cannot map anything.
#[test]
fn a_start_with_little_memory_works_or_ends_by_itself() {
    /// With less, some servers crash before they load a module.
    const LEAST: u64 = 44 << 20;
    /// The steps up to what a running server has mapped, at most.
    const STEPS: u64 = 256;
    const STEP: u64 = 256 << 10;
    for_each_server_long(|kind| {
        let mut server = Setup::new().start(kind);
        let needed = server.process().address_space().expect("a running process");
        let step = (needed.saturating_sub(LEAST) / STEPS).max(STEP);
        let (mut refused, mut works) = (0, 0);
        while works < 16 {
            server.kill();
            // A start may need more for a moment.
            assert!(refused < 2 * STEPS, "{refused} starts failed; {needed} bytes are mapped");
            let memory = LEAST + (refused + works) * step;
            match server.try_revive(Limits { memory: Some(memory), file: None }) {
                Ok(()) => works += 1,
                Err(Refusal { status, log, .. }) => {
                    assert!(status.code().is_some(), "{memory} bytes: {status}\n{log}");
                    refused += 1;
                }
            }
        }
        server.kill();
        server.revive();
        let times = usize::try_from(refused + works).expect("a few");
        report(kind, "little memory at the start", times, "it works or ends with a message");
    });
}

/// A command that makes a filter, and the log line of a server without memory for it. A filter `a`
/// with one item exists before.
struct Creation {
    /// How the filter `a` is made.
    reserve: &'static str,
    /// The command; KEY stands for the key.
    line: &'static str,
    logged: &'static str,
}

const COPIED: &str = "a primary or a file has copied filter 'a' to 'large";
const RESTORED: &str = "a filter of a primary or a file cannot be loaded: there is no memory for";
const OWN: &str = "BF.RESERVE a 0.01 100000000";
const REDISBLOOMS: &str = "BF.RESERVE a 0.01 100000000 LAYOUT redisbloom";

const CREATIONS: [Creation; 5] = [
    Creation {
        reserve: "BF.RESERVE a 0.01 1000",
        line: "BF.RESERVE KEY 0.01 100000000",
        logged: "was created by a primary or a file, but no memory for",
    },
    Creation { reserve: OWN, line: "COPY a KEY", logged: COPIED },
    Creation { reserve: REDISBLOOMS, line: "COPY a KEY", logged: COPIED },
    Creation { reserve: OWN, line: "RESTORE KEY 0 DUMP", logged: RESTORED },
    Creation { reserve: REDISBLOOMS, line: "RESTORE KEY 0 DUMP", logged: RESTORED },
];

/// The number of filters that are made until memory is exhausted. A server may have mapped more
/// than it uses.
const FILTERS: usize = 8;

impl Creation {
    /// Makes the filter that is copied or dumped, and returns its payload.
    fn prepare(&self, client: &mut Client) -> Vec<u8> {
        client.ok(self.reserve);
        assert_eq!(client.ask("BF.ADD a x"), ":1");
        client.dump("a")
    }

    /// Makes one more filter and adds items to it.
    fn run(&self, client: &mut Client, number: usize, dump: &[u8]) {
        let key = format!("large{number}");
        let mut call = arguments(&self.line.replace("KEY", &key));
        call.iter_mut().filter(|word| *word == b"DUMP").for_each(|word| *word = dump.to_vec());
        let reply = show(&client.run(&call));
        assert!([":1", "+OK"].contains(&reply.as_str()), "{}: {reply}", self.line);
        assert_eq!(client.ask(&format!("BF.MADD {key} y z")), "*[:1 :1]");
    }

    /// Asserts that the filters contain what was added.
    fn assert_whole(&self, client: &mut Client, filters: usize) {
        for number in 0..filters {
            assert_eq!(
                client.ask(&format!("BF.MEXISTS large{number} y z")),
                "*[:1 :1]",
                "{}",
                self.line
            );
        }
    }
}

/// True if the log states the reason. Redis 6.2 reads strings by itself, and ends the process by
/// itself if it has no memory for one.
fn states(log: &str, kind: &Kind, logged: &str) -> bool {
    log.contains(logged) || kind.is_before_7() && log.contains("Out Of Memory")
}

#[test]
fn a_replica_without_memory_for_a_new_filter_ends() {
    for_each_server_long(|kind| {
        for creation in CREATIONS {
            let primary = setup().start(kind);
            let mut client = primary.resp2();
            let dump = creation.prepare(&mut client);
            let mut replica = setup().follows(&primary).start(kind);
            catch_up(&mut client, &mut replica.resp2());
            limit_memory(&replica);
            let mut filters = 0;
            while filters < FILTERS && replica.is_running() {
                creation.run(&mut client, filters, &dump);
                filters += 1;
                until("the replica to acknowledge or to end", || {
                    (client.ask("WAIT 1 100") == ":1" || !replica.is_running()).then_some(())
                });
            }
            let status = replica.wait_for_end();
            let (log, line) = (replica.log(), creation.line);
            assert!(
                !status.success() && states(&log, kind, creation.logged),
                "{line}: {status}\n{log}"
            );
            replica.revive();
            let mut follower = replica.resp2();
            catch_up(&mut client, &mut follower);
            creation.assert_whole(&mut follower, filters);
        }
        report(kind, "no memory on a replica", 1, "it ends with a message, 0 lost after");
    });
}

/// The memory of a smaller table decides about the bytes of a compacted filter, so the primary
/// decides, and its replicas do the same or end.
#[test]
fn a_compaction_without_memory_is_refused_or_ends_a_replica() {
    for_each_server_long(|kind| {
        let primary = setup().start(kind);
        let mut client = primary.resp2();
        // Half of its table takes more memory than the limit leaves.
        client.ok("CF.RESERVE k 60000000 EXPANSION 0 SEED 3");
        assert_eq!(client.ask("CF.INSERT k ITEMS a b c"), "*[:1 :1 :1]");
        let mut replica = setup().follows(&primary).start(kind);
        catch_up(&mut client, &mut replica.resp2());

        let before = (digest(&mut client, "k"), client.info_number("master_repl_offset"));
        limit_memory(&primary);
        assert_eq!(client.ask("CF.COMPACT k"), "-ERR Insufficient memory");
        let after = (digest(&mut client, "k"), client.info_number("master_repl_offset"));
        assert_eq!(after.0, before.0, "a refused compaction has changed the filter");
        assert!(after.1 < before.1 + 30, "a refused compaction was replicated");
        let log = primary.log();
        assert!(log.contains("compaction of filter 'k' refused: no memory for"), "{log}");
        assert_eq!(number(&mut client, "compactions_refused"), 1);

        lift_limits(&primary);
        limit_memory(&replica);
        client.ok("CF.COMPACT k");
        let status = replica.wait_for_end();
        let log = replica.log();
        let reason = "filter 'k' was compacted by a primary or a file, but no memory for";
        assert!(!status.success() && log.contains(reason), "{status}\n{log}");
        replica.revive();
        let mut follower = replica.resp2();
        catch_up(&mut client, &mut follower);
        assert_eq!(digest(&mut follower, "k"), digest(&mut client, "k"));
        assert_eq!(follower.ask("CF.MEXISTS k a b c"), "*[:1 :1 :1]");
        report(kind, "no memory to compact", 1, "refused; a replica ends with a message");
    });
}

#[test]
fn an_aof_without_memory_for_a_new_filter_ends_the_start() {
    for_each_server_long(|kind| {
        for creation in CREATIONS {
            let lines = ["appendonly yes", "appendfsync always", "aof-use-rdb-preamble no"];
            let mut server = Server::start(kind, &lines);
            let mut client = server.resp2();
            let dump = creation.prepare(&mut client);
            (0..2).for_each(|number| creation.run(&mut client, number, &dump));
            server.kill();
            // From too little for the server itself to enough for all filters.
            let mut is_logged = false;
            for step in 1..=7 {
                match server.try_revive(Limits { memory: Some(step * (128 << 20)), file: None }) {
                    Ok(()) => creation.assert_whole(&mut server.resp2(), 2),
                    Err(refusal) => is_logged |= states(&refusal.log, kind, creation.logged),
                }
                server.kill();
            }
            assert!(is_logged, "{}: no reason in\n{}", creation.line, server.log());
            server.revive();
            creation.assert_whole(&mut server.resp2(), 2);
        }
    });
}

#[test]
fn damaged_payloads_are_refused_the_same_without_memory() {
    Setup::new().on_each_server(|mut client, server| {
        client.ok("BF.RESERVE k 0.01 20000000");
        client.call("BF.ADD k a");
        let dump = client.dump("k");
        client.call("DEL k");
        limit_memory(&server);
        for length in [dump.len() - 20, 80, 60, 30] {
            let cut = truncate_dump(&dump, length);
            let refused = client.restore("k", &cut);
            assert_eq!(refused, "-ERR Bad data format", "cut to {length}");
        }
        client.assert_answers_ping("payloads");
    });
}
