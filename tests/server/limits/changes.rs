//! Growth, rotations, merges and copies beyond a limit of memory: an error, and nothing changes.
//! Without the limit the filter goes on where it stopped.

use bloomline_harness::{Client, Server, Setup, Stop, matches, numbered, until};

use super::leave;
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

/// The reply to a rotation.
const NO_ROTATION: &str = "-ERR Insufficient memory to rotate filter: WHY";
/// The reply to a merge.
const NO_MERGE: &str = "-ERR Insufficient memory to merge filters: WHY";
/// The server's replies to COPY and RESTORE. The log has the reason.
const NO_COPY: &str = "-ERR module key failed to copy";
const NO_LOAD: &str = "-ERR Bad data format";

const CHANGES: [Change; 12] = [
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

/// Runs a call. RESTORE gets the payload of a filter.
fn call(client: &mut Client, line: &str) -> String {
    match line.split_once(' ') {
        Some(("RESTORE", key)) => {
            let dump = client.dump(key);
            client.restore(&format!("{key}:restored"), &dump)
        }
        _ => client.ask(line),
    }
}

/// Calls, and the line in the log that they cause, up to the reason.
const LOGGED: [(&str, &str); 5] = [
    ("BF.BULKADD own FIXED 1 x", "growth of filter 'own' refused: "),
    ("BF.ROTATE hand", "rotation of filter 'hand' refused: "),
    ("BF.MERGE a b", "merge into filter 'a' refused: "),
    ("COPY copied new", "COPY of filter 'copied' to 'new' refused: "),
    ("RESTORE copied", " filter: not loaded: "),
];

/// Asserts that all changes are refused, counted, logged and not made.
fn assert_refused(server: &Server, why: &str) {
    let mut client = server.resp2();
    let mut state =
        || (client.ask("DEBUG DIGEST"), totals(&mut client), number(&mut client, "cf_bytes"));
    let before = state();
    let mut client = server.resp2();
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
    assert_eq!(state(), before);
}

#[test]
fn changes_beyond_a_limit_are_refused_and_change_nothing() {
    Setup::new().debug().module_args("bf-max-filter-bytes 0").on_each_server(
        |mut client, mut server| {
            CHANGES.iter().flat_map(|it| it.make).for_each(|step| make(&mut client, step));
            // Filters are loaded beyond the limit.
            server.edit_config("bf-max-filter-bytes 0", "bf-max-filter-bytes 1mb");
            server.restart(Stop::Save);
            assert_refused(&server, "it needs <n> bytes, bf-max-filter-bytes allows 1048576");
            server.edit_config("bf-max-filter-bytes 1mb", "bf-max-filter-bytes 0");
            server.restart(Stop::Save);
            let mut client = server.resp2();
            leave(&mut client, 900_000);
            assert_refused(&server, "its new layers need <n> bytes, maxmemory <n> leaves <n>");
            client.ok("CONFIG SET maxmemory 0");
            for Change { allowed: (line, reply), .. } in CHANGES {
                assert_eq!(call(&mut client, line), reply, "{line}");
            }
        },
    );
}
