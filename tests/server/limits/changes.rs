//! Creations, growth, rotations, merges, copies and loads beyond a limit of memory: an error,
//! nothing changes, and nothing is replicated. Without the limit the filter goes on where it
//! stopped. A replica, and a server that loads its files, makes every change in spite of its
//! limits.

use bloomline_harness::{
    Client, Server, Setup, Stop, for_each_server, matches, numbered, report_missing, show, until,
};

use super::leave;
use crate::cluster::equal::{catch_up, setup};
use crate::inspect::{number, totals};
use crate::packed::{Form, add};
use crate::windowed::age;

/// Filters, and calls that need more than a megabyte for one of them.
struct Change {
    /// Commands, or one of the steps of [`make`].
    make: &'static [&'static str],
    /// Calls that are refused, and their replies, in which WHY stands for the limit.
    calls: &'static [(&'static str, &'static str)],
    /// The number in INFO that counts refusals, and how many these are.
    counted: (&'static str, u64),
    /// A call that works without the limit, and its reply.
    allowed: (&'static str, &'static str),
}

/// The reply to a call that would create a filter.
const NO_FILTER: &str = "-ERR Insufficient memory to create filter: WHY";
/// The reply to a rotation.
const NO_ROTATION: &str = "-ERR Insufficient memory to rotate filter: WHY";
/// The reply to a merge.
const NO_MERGE: &str = "-ERR Insufficient memory to merge filters: WHY";
/// The server's replies to COPY and RESTORE. The log has the reason.
const NO_COPY: &str = "-ERR module key failed to copy";
const NO_LOAD: &str = "-ERR Bad data format";

/// Settings with which an addition creates a filter of more than a megabyte.
const SETTINGS: &str = "bf-initial-size 1000000 cf-initial-size 4000000";

const CHANGES: [Change; 15] = [
    Change {
        make: &["BF.RESERVE own 1e-7 10 EXPANSION 32768 SEED 7", "BF.MADD own a b c d e f g h i j"],
        calls: &[
            ("BF.ADD own new", "-ERR problem inserting into filter"),
            // Present items need no room, also behind refused ones.
            (
                "BF.MADD own new a newer",
                "*[-ERR problem inserting into filter :0 -ERR problem inserting into filter]",
            ),
            ("BF.INSERT own NOCREATE ITEMS new", "*[-ERR problem inserting into filter]"),
            // A call of packed items ends at the first one, and counts as one refusal.
            (
                "BF.BULKADD own LINES \"a\n\nb\nnew\na\nnewer\"",
                r"*[:3 $1 \x00 -ERR problem inserting into filter]",
            ),
            (
                "BF.BULKADD own FIXED 1 axy COUNT",
                "-ERR problem inserting into filter: item 2 of 3 was refused, 0 of the 1 before it \
                 were new",
            ),
            ("BF.BULKADD own FIXED 1 ja", r"*[:2 $1 \x00]"),
            ("BF.MEXISTS own a j new", "*[:1 :1 :0]"),
        ],
        counted: ("growths_refused", 6),
        allowed: ("BF.ADD own new", ":1"),
    },
    Change {
        make: &[
            "BF.RESERVE foreign 1e-7 10 EXPANSION 32768 LAYOUT REDISBLOOM",
            "BF.MADD foreign a b c d e f g h i j",
        ],
        calls: &[
            ("BF.MADD foreign new a", "*[-ERR problem inserting into filter :0]"),
            (
                "BF.BULKADD foreign FIXED 1 aba1a",
                r"*[:3 $1 \x00 -ERR problem inserting into filter]",
            ),
        ],
        counted: ("growths_refused", 2),
        allowed: ("BF.ADD foreign new", ":1"),
    },
    Change {
        make: &[
            "BF.RESERVE valkey 1e-7 10 EXPANSION 32768 LAYOUT VALKEY-BLOOM",
            "BF.MADD valkey a b c d e f g h i j",
        ],
        calls: &[("BF.MADD valkey new a", "*[-ERR problem inserting into filter :0]")],
        counted: ("growths_refused", 1),
        allowed: ("BF.ADD valkey new", ":1"),
    },
    // A generation that must grow.
    Change {
        make: &[
            "BF.RESERVE overflow 1e-9 80 GENERATIONS 8 EXPANSION 32768",
            "BF.MADD overflow a b c d e f g h i j",
        ],
        calls: &[
            ("BF.ADD overflow new", "-ERR problem inserting into filter"),
            ("BF.MADD overflow a new", "*[:0 -ERR problem inserting into filter]"),
        ],
        counted: ("growths_refused", 2),
        allowed: ("BF.ADD overflow new", ":1"),
    },
    Change {
        make: &["BF.RESERVE hand 1e-9 400000 GENERATIONS 2", "BF.ADD hand a"],
        calls: &[("BF.ROTATE hand", NO_ROTATION)],
        counted: ("growths_refused", 1),
        allowed: ("BF.ROTATE hand", "+OK"),
    },
    Change {
        make: &[
            "BF.RESERVE window 1e-9 400000 WINDOW 2000000 GENERATIONS 2",
            "BF.ADD window a",
            "AGE window",
        ],
        calls: &[
            ("BF.ADD window new", NO_ROTATION),
            ("BF.MADD window new a", NO_ROTATION),
            ("BF.ADD window a", NO_ROTATION),
        ],
        counted: ("growths_refused", 3),
        allowed: ("BF.ADD window new", ":1"),
    },
    Change {
        make: &["BF.RESERVE last 1e-9 400000 LAST GENERATIONS 2 SEED 7", "FILL last"],
        calls: &[
            ("BF.ADD last new", "-ERR problem inserting into filter"),
            ("BF.MADD last item:1 new", "*[:0 -ERR problem inserting into filter]"),
        ],
        counted: ("growths_refused", 2),
        allowed: ("BF.ADD last new", ":1"),
    },
    Change {
        make: &[
            "CF.RESERVE cuckoo 256 BUCKETSIZE 2 EXPANSION 32768 MAXITERATIONS 1 LAYOUT REDISBLOOM",
            "FILL cuckoo",
        ],
        calls: &[
            ("CF.ADD cuckoo new", "-ERR Insufficient memory"),
            ("CF.ADDNX cuckoo new", "-ERR Insufficient memory"),
            ("CF.INSERT cuckoo ITEMS new newer", "*[:-1 :-1]"),
            ("CF.INSERTNX cuckoo NOCREATE ITEMS new", "*[:-1]"),
        ],
        counted: ("growths_refused", 5),
        allowed: ("CF.ADD cuckoo new", ":1"),
    },
    Change {
        make: &["CF.RESERVE doubling 2000000 SEED 7", "FILL doubling"],
        calls: &[
            ("CF.ADD doubling new", "-ERR Insufficient memory"),
            ("CF.ADDNX doubling new", "-ERR Insufficient memory"),
            ("CF.INSERT doubling ITEMS new newer", "*[:-1 :-1]"),
            ("CF.INSERTNX doubling NOCREATE ITEMS new", "*[:-1]"),
        ],
        counted: ("growths_refused", 5),
        allowed: ("CF.ADD doubling new", ":1"),
    },
    Change {
        make: &[
            "BF.RESERVE a 1e-7 10 EXPANSION 32768 SEED 7",
            "COPY a b",
            "BF.ADD a x",
            "BF.MADD b x a b c d e f g h i j",
        ],
        calls: &[
            ("BF.MERGE a b", NO_MERGE),
            ("BF.MERGE new b", NO_MERGE),
            ("BF.MERGE new a b", NO_MERGE),
            // Nothing is allocated.
            ("BF.MERGE b a", "+OK"),
        ],
        counted: ("merges_refused", 3),
        allowed: ("BF.MERGE a b", "+OK"),
    },
    Change {
        make: &[
            "BF.RESERVE c 1e-7 10 EXPANSION 32768 LAYOUT REDISBLOOM",
            "COPY c d",
            "BF.ADD c x",
            "BF.MADD d x a b c d e f g h i j",
        ],
        calls: &[("BF.MERGE c d", NO_MERGE), ("BF.MERGE new c d", NO_MERGE)],
        counted: ("merges_refused", 2),
        allowed: ("BF.MERGE new c d", "+OK"),
    },
    Change {
        make: &[
            "BF.RESERVE copied 0.01 2000000 NONSCALING",
            "BF.RESERVE copied:foreign 0.01 2000000 LAYOUT REDISBLOOM",
            "BF.RESERVE copied:valkey 0.01 2000000 LAYOUT VALKEY-BLOOM",
            "CF.RESERVE copied:cuckoo 2000000",
        ],
        calls: &[
            ("COPY copied new", NO_COPY),
            ("COPY copied:foreign new", NO_COPY),
            ("COPY copied:valkey new", NO_COPY),
            ("COPY copied:cuckoo new", NO_COPY),
        ],
        counted: ("creations_refused", 4),
        allowed: ("COPY copied copy", ":1"),
    },
    // What a filter that does not grow refuses is no matter of memory.
    Change {
        make: &["BF.RESERVE full 0.0001 3 NONSCALING", "BF.ADD full a"],
        calls: &[("BF.LOADCHUNK full 999999 abc", "-ERR invalid offset - no link found")],
        counted: ("loads_refused", 0),
        allowed: ("BF.MADD full a b c d", "*[:0 :1 :1 -ERR non scaling filter is full]"),
    },
    // A window begins with one generation.
    Change {
        make: &[],
        calls: &[
            ("BF.RESERVE made 0.01 20000000", NO_FILTER),
            ("BF.RESERVE made 0.01 2000000 LAYOUT REDISBLOOM", NO_FILTER),
            ("BF.RESERVE made 0.01 2000000 LAYOUT VALKEY-BLOOM", NO_FILTER),
            ("BF.RESERVE made 0.01 200000000 WINDOW 60", NO_FILTER),
            ("BF.RESERVE made 0.01 200000000 LAST", NO_FILTER),
            ("BF.RESERVE made 0.01 100000000 GENERATIONS 3", NO_FILTER),
            ("BF.RESERVE made 0.01 200000000 WINDOW 60 TTL 60", NO_FILTER),
            ("BF.INSERT made CAPACITY 20000000 ERROR 0.01 ITEMS a b", NO_FILTER),
            ("BF.INSERT made CAPACITY 200000000 WINDOW 60 ITEMS a", NO_FILTER),
            ("BF.INSERT made CAPACITY 200000000 LAST ITEMS a", NO_FILTER),
            ("BF.ADD made a", NO_FILTER),
            ("BF.MADD made a b", NO_FILTER),
            ("BF.BULKADD made FIXED 1 ab", NO_FILTER),
            ("BF.BULKADD made COUNT LINES a", NO_FILTER),
            // No item creates no filter.
            ("BF.BULKADD made COUNT LINES \"\"", "*[:0 :0]"),
            ("LOADCHUNK copied", NO_FILTER),
            ("CF.RESERVE made 20000000", NO_FILTER),
            ("CF.RESERVE made 20000000 LAYOUT REDISBLOOM", NO_FILTER),
            ("CF.INSERT made CAPACITY 20000000 ITEMS a b", NO_FILTER),
            ("CF.INSERTNX made CAPACITY 20000000 ITEMS a b", NO_FILTER),
            ("CF.ADD made a", NO_FILTER),
            ("CF.ADDNX made a", NO_FILTER),
            ("CF.BULKADD made LINES a", NO_FILTER),
            ("LOADCHUNK copied:cuckoo", NO_FILTER),
        ],
        counted: ("creations_refused", 23),
        allowed: ("BF.ADD made a", ":1"),
    },
    Change {
        make: &[],
        calls: &[
            ("RESTORE copied", NO_LOAD),
            ("RESTORE copied:foreign", NO_LOAD),
            ("RESTORE copied:valkey", NO_LOAD),
            ("RESTORE copied:cuckoo", NO_LOAD),
        ],
        counted: ("loads_refused", 4),
        allowed: ("RESTORE copied", "+OK"),
    },
];

/// Runs a step that makes a filter: a command, `AGE` by a slot of a window, or `FILL`.
fn make(client: &mut Client, step: &str) {
    match step.split_once(' ') {
        Some(("AGE", key)) => age(client, key, 1_000_000_000),
        // The newest generation becomes full, and all slots of the table.
        Some(("FILL", "last")) => {
            drop(add(client, "last", Form::Lines, &numbered("item", 200_000)))
        }
        Some(("FILL", key)) => {
            for (next, chunk) in client.chunks(key).drain(1..) {
                let full = vec![b'~'; chunk.len()];
                assert_eq!(client.loadchunk_of("CF", key, next, &full), "+OK");
            }
        }
        _ => {
            let reply = client.ask(step);
            assert!(!reply.starts_with('-') && !reply.contains(" -"), "{step}: {reply}");
        }
    }
}

/// Runs a call. RESTORE gets the payload of a filter, LOADCHUNK its header.
fn call(client: &mut Client, line: &str) -> String {
    match line.split_once(' ') {
        Some(("RESTORE", key)) => {
            let dump = client.dump(key);
            client.restore(&format!("{key}:restored"), &dump)
        }
        Some(("LOADCHUNK", key)) => {
            let family = client.family(key);
            let (next, header) = client.scandump_of(family, key, 0);
            client.loadchunk_of(family, "made", next, &header)
        }
        _ => client.ask(line),
    }
}

/// Calls, and the line in the log that they cause, up to the reason.
const LOGGED: [(&str, &str); 6] = [
    ("CF.ADD made a", "creation of filter 'made' refused: "),
    ("BF.BULKADD own FIXED 1 x", "growth of filter 'own' refused: "),
    ("BF.ROTATE hand", "rotation of filter 'hand' refused: "),
    ("BF.MERGE a b", "merge into filter 'a' refused: "),
    ("COPY copied new", "COPY of filter 'copied' to 'new' refused: "),
    ("RESTORE copied", " filter: not loaded: "),
];

/// The data set, the totals in INFO, and how much was replicated.
fn state(client: &mut Client) -> impl PartialEq + std::fmt::Debug + use<> {
    let numbers = [number(client, "cf_bytes"), client.info_number("master_repl_offset")];
    (client.ask("DEBUG DIGEST"), totals(client), numbers)
}

/// Asserts that all changes are refused, counted, logged, and neither made nor replicated.
fn assert_refused(server: &Server, why: &str) {
    let mut client = server.resp2();
    let before = state(&mut client);
    for Change { calls, counted: (name, refusals), .. } in CHANGES {
        let counted = number(&mut client, name);
        for (line, expected) in calls {
            let (reply, expected) = (call(&mut client, line), expected.replace("WHY", why));
            assert!(matches(&expected, &reply), "{line}: {reply}, not {expected}");
        }
        assert_eq!(number(&mut client, name), counted + refusals, "{calls:?}");
    }
    for (line, start) in LOGGED {
        // There is at most one line per second.
        until(&format!("a line {start}"), || {
            call(&mut client, line);
            matches(&format!("<any>{start}{why}<any>"), &server.log()).then_some(())
        });
    }
    assert_eq!(state(&mut client), before);
    // What is smaller is created.
    for line in ["BF.RESERVE fits 0.01 600000", "CF.RESERVE fits 500000"] {
        client.ok(line);
        assert_eq!(client.ask("DEL fits"), ":1");
        client.wait_for_frees();
    }
}

/// Waits until the replica has everything, and asserts that it has the same data set, and has
/// refused nothing.
fn assert_obeyed(primary: &Server, replica: &Server) {
    let (mut client, mut other) = (primary.resp2(), replica.resp2());
    catch_up(&mut client, &mut other);
    assert_loaded(&mut other, &client.ask("DEBUG DIGEST"));
}

fn assert_loaded(client: &mut Client, digest: &str) {
    assert_eq!(client.ask("DEBUG DIGEST"), digest);
    for name in ["creations_refused", "growths_refused", "merges_refused", "loads_refused"] {
        assert_eq!(number(client, name), 0, "{name}");
    }
}

#[test]
fn changes_beyond_a_limit_are_refused_unless_replicated() {
    for_each_server(|kind| {
        let setup = || setup().line("repl-ping-replica-period 3600");
        let mut server =
            setup().module_args("bf-max-filter-bytes 0").module_args(SETTINGS).start(kind);
        let strict = setup().module_args("bf-max-filter-bytes 4kb cf-max-expansions 1");
        let strict = strict.line("maxmemory 3mb").line("maxmemory-policy noeviction");
        let mut replica = strict.append_only().follows(&server).start(kind);
        if replica.resp2().ask("CONFIG SET propagation-error-behavior panic") != "+OK" {
            report_missing(kind, "propagation-error-behavior");
        }
        let mut client = server.resp2();
        catch_up(&mut client, &mut replica.resp2());
        CHANGES.iter().flat_map(|it| it.make).for_each(|step| make(&mut client, step));
        assert_obeyed(&server, &replica);
        // Filters are loaded beyond the limit.
        server.edit_config("bf-max-filter-bytes 0", "bf-max-filter-bytes 1mb");
        server.restart(Stop::Save);
        assert_obeyed(&server, &replica);
        assert_refused(&server, "it needs <n> bytes, bf-max-filter-bytes allows 1048576");
        server.edit_config("bf-max-filter-bytes 1mb", "bf-max-filter-bytes 0");
        server.restart(Stop::Save);
        assert_obeyed(&server, &replica);
        let mut client = server.resp2();
        leave(&mut client, 900_000);
        assert_refused(&server, "its new layers need <n> bytes, maxmemory <n> leaves <n>");
        client.ok("CONFIG SET maxmemory 0");
        for Change { allowed: (line, reply), .. } in CHANGES {
            assert_eq!(call(&mut client, line), reply, "{line}");
        }
        assert_obeyed(&server, &replica);
        // Its append-only file, the rewritten one, and its RDB file.
        let digest = client.ask("DEBUG DIGEST");
        replica.edit_config("replicaof", "# replicaof");
        replica.resp2().wait_for_saves();
        replica.restart(Stop::NoSave);
        assert_loaded(&mut replica.resp2(), &digest);
        replica.resp2().rewrite_append_only_file();
        replica.restart(Stop::NoSave);
        assert_loaded(&mut replica.resp2(), &digest);
        replica.edit_config("appendonly yes", "appendonly no");
        replica.restart(Stop::Save);
        assert_loaded(&mut replica.resp2(), &digest);
        // Its own clients are limited.
        let mut client = replica.resp2();
        client.ok("CONFIG SET maxmemory 0");
        let refused = client.ask("BF.RESERVE own:new 0.01 100000");
        assert!(refused.starts_with("-ERR Insufficient memory to create filter"), "{refused}");
    });
}

#[test]
fn many_refusals_are_counted_and_do_not_fill_the_log() {
    const REFUSALS: usize = 1000;
    Setup::new().module_args("bf-max-filter-bytes 1mb").on_each_server(|mut client, server| {
        for _ in 0..REFUSALS {
            client.send(&["BF.RESERVE", "k", "0.01", "1000000"]);
        }
        for _ in 0..REFUSALS {
            let reply = show(&client.receive("BF.RESERVE"));
            assert!(reply.starts_with("-ERR Insufficient memory to create filter: "), "{reply}");
        }
        assert_eq!(number(&mut client, "creations_refused"), REFUSALS as u64);
        // There is at most one line per second.
        let lines = server.log().matches("creation of filter 'k' refused").count();
        assert!((1..REFUSALS / 10).contains(&lines), "{lines} lines");
    });
}
