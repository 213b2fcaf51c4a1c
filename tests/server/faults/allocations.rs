//! Each allocation of a call fails in turn. A client gets an error; a call of a primary or of a
//! file is carried out, or the process ends with a line in the log.

use std::fmt;

use bloomline_harness::{
    CModule, Client, Kind, Replica, Server, Setup, append_only_file, arguments,
    for_each_server_long, module, report_missing, show,
};

use crate::inspect::digest;

use super::report;

type Command = Vec<Vec<u8>>;

/// Calls, and one that allocates for the key `k`.
const CALLS: [(&[&str], &str); 16] = [
    (&[], "BF.RESERVE k 0.01 100"),
    (&[], "BF.RESERVE k 0.01 100 LAYOUT redisbloom"),
    (&[], "BF.RESERVE k 0.01 100 LAYOUT valkey-bloom"),
    (&[], "BF.INSERT k CAPACITY 4 ITEMS a b c d e f g h"),
    (&["BF.RESERVE k 0.01 4"], "BF.MADD k a b c d e f g h"),
    (&["BF.RESERVE k 0.01 4 LAYOUT redisbloom"], "BF.MADD k a b c d e f g h"),
    (&["BF.RESERVE k 0.01 4 LAYOUT valkey-bloom"], "BF.MADD k a b c d e f g h"),
    (&["BF.RESERVE k 0.01 4"], "BF.BULKADD k FIXED 1 abcdefgh"),
    (&["BF.RESERVE k 0.01 1000 GENERATIONS 2", "BF.ADD k a"], "BF.ROTATE k"),
    (&["BF.RESERVE s 0.01 100", "BF.MADD s a b"], "BF.MERGE k s"),
    (&["BF.RESERVE k 0.01 100000", "BF.ADD k a"], "BF.COMPACT k"),
    (&[], "CF.RESERVE k 100"),
    (&["CF.RESERVE k 8"], "CF.INSERT k ITEMS a b c d e f g h a a a a a a a a a a a"),
    (&["CF.RESERVE k 8"], "CF.BULKADD k FIXED 1 abcdefghijklmnopqr"),
    (&["CF.INSERT k CAPACITY 8 ITEMS a b c d"], "CF.MDEL k a b x y"),
    (&["CF.RESERVE k 1000", "CF.ADD k a"], "CF.COMPACT k"),
];

/// A server whose allocations may fail.
struct Failing {
    library: CModule,
}

impl Failing {
    fn new() -> Self {
        Self { library: CModule::build("faults/failing.c", &[]) }
    }

    /// Not with the debug allocator, whose checks need memory too.
    fn setup(&self) -> Setup {
        let (library, module) = (self.library.path(), module());
        let line = format!("loadmodule {} {}", library.display(), module.display());
        Setup::new().debug().bare().line(line)
    }
}

/// Commands of a file, and the last ones, for which memory is missing.
struct Case {
    before: Vec<Command>,
    calls: Vec<Command>,
}

impl Case {
    /// Loads the file without the allocation of the last calls after the first `count`. Returns the
    /// digest of the key, and whether an allocation has failed; `None` if the process has ended.
    fn load(&self, setup: &Setup, kind: &Kind, count: i64) -> Option<(String, bool)> {
        let first = vec![arguments("SELECT 0")];
        let fail = vec![arguments(&format!("FAILING.AFTER {count}"))];
        let file = [&first, &self.before, &fail, &self.calls].map(|part| &part[..]).concat();
        match setup.clone().append_file(append_only_file(&file)).try_start(kind) {
            Ok(server) => {
                let mut client = server.resp2();
                let has_failed = client.ask("FAILING.DONE") == ":1";
                Some((digest(&mut client, "k"), has_failed))
            }
            Err(log) => {
                // The latter is about some hundred bytes beside the bits.
                let is_said = [" a primary or a file", "memory allocation of "];
                let is_said = is_said.iter().any(|text| log.contains(text));
                assert!(is_said, "{self:?} after {count}:\n{log}");
                None
            }
        }
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.calls.concat();
        words.iter().try_for_each(|word| write!(to, "{} ", word.escape_ascii()))
    }
}

/// What a server replicates of [`CALLS`], and a chunk of bits for a list.
fn cases(server: &Server) -> Vec<Case> {
    let (mut client, mut link) = (server.resp2(), Replica::attach(server));
    let mut cases = Vec::new();
    for (before, call) in CALLS {
        let mut run = |lines: &[&str]| {
            for line in lines {
                let reply = client.ask(line);
                assert!(!reply.starts_with('-'), "{line}: {reply}");
            }
            link.received(server)
        };
        cases.push(Case { before: run(before), calls: run(&[call]) });
        client.ok("FLUSHALL");
        link.received(server);
    }
    let (header, chunk) = chunk_for_a_list(&mut client);
    cases.push(Case { before: vec![header], calls: vec![chunk] });
    cases
}

/// The header of a filter that is a list of its items, and a chunk of its bits.
fn chunk_for_a_list(client: &mut Client) -> (Command, Command) {
    client.ok("BF.RESERVE k 0.01 100 SEED 7");
    let header = client.scandump("k", 0).1;
    let items: Vec<_> = (0..50).map(|n| format!("item {n}")).collect();
    client.items("BF.MADD", "k", &items);
    let (iterator, bits) = client.scandump("k", 1);
    assert_eq!(client.ask("DEL k"), ":1");
    let load = |iterator: i64, data| {
        [arguments(&format!("BF.LOADCHUNK k {iterator}")), vec![data]].concat()
    };
    (load(1, header), load(iterator, bits))
}

/// True if the allocations of the server cannot fail.
fn lacks_functions(client: &mut Client, kind: &Kind) -> bool {
    let is_lacking = client.ask("FAILING.DONE") == ":-1";
    if is_lacking {
        report_missing(kind, "TryAlloc, TryCalloc, TryRealloc");
    }
    is_lacking
}

#[test]
fn a_call_of_a_file_is_carried_out_or_ends_the_process() {
    let failing = Failing::new();
    for_each_server_long(|kind| {
        let setup = failing.setup();
        let server = setup.clone().start(kind);
        if lacks_functions(&mut server.resp2(), kind) {
            return;
        }
        let mut failures = 0;
        for case in cases(&server) {
            let (expected, _) = case.load(&setup, kind, -1).expect("a filter");
            for count in 0.. {
                match case.load(&setup, kind, count) {
                    Some((found, has_failed)) => {
                        assert_eq!(found, expected, "{case:?} after {count}");
                        if !has_failed {
                            break;
                        }
                    }
                    None => failures += 1,
                }
            }
        }
        assert!(failures > 0, "no allocation has failed");
        report(kind, "no memory for a call of a file", failures, "it ends with a message");
    });
}

#[test]
fn a_chunk_without_memory_is_an_error_and_changes_nothing() {
    let failing = Failing::new();
    for_each_server_long(|kind| {
        let server = failing.setup().start(kind);
        let mut client = server.resp2();
        if lacks_functions(&mut client, kind) {
            return;
        }
        let (header, chunk) = chunk_for_a_list(&mut client);
        assert_eq!(show(&client.run(&header)), "+OK");
        let before = digest(&mut client, "k");
        client.call("FAILING.AFTER 0");
        let reply = show(&client.run(&chunk));
        assert!(
            reply.starts_with("-ERR Insufficient memory to load chunk: no memory for "),
            "{reply}"
        );
        assert_eq!(client.ask("FAILING.DONE"), ":1");
        assert_eq!(digest(&mut client, "k"), before);
        assert_eq!(show(&client.run(&chunk)), "+OK");
        assert_ne!(digest(&mut client, "k"), before);
    });
}
