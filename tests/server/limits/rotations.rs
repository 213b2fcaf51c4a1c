//! Windowed filters at a limit: what could never be complete is not created, and what frees as much
//! as it takes is not refused. `changes` has the rotations that are.

use bloomline_harness::{Clock, Setup, Stop, for_each_server, matches, until};

use super::leave;
use crate::cluster::equal;
use crate::inspect::{info_field, number, stat};
use crate::timed;
use crate::windowed::{RATE, age};

const SLOT: u64 = 1_000_000_000;

/// The reply to a call that would create a filter, which `bf-max-filter-bytes` refuses.
const NO_FILTER: &str =
    "-ERR Insufficient memory to create filter: it needs <n> bytes, bf-max-filter-bytes allows <n>";

#[test]
fn a_filter_that_could_not_be_complete_is_not_created() {
    for_each_server(|kind| {
        let mut server = equal::setup().module_args("bf-max-filter-bytes 0").start(kind);
        let mut client = server.resp2();
        // A generation of the large one takes a quarter of a megabyte.
        client.ok("BF.RESERVE large 0.01 1000000 WINDOW 8000 GENERATIONS 8");
        client.ok("BF.RESERVE small 0.01 300000 WINDOW 8000 GENERATIONS 8");
        client.ok("BF.RESERVE complete 0.01 100000 GENERATIONS 4");
        (0..4).for_each(|_| client.ok("BF.ROTATE complete"));
        let bytes = info_field(&mut client, "complete", "SIZE");
        assert!(info_field(&mut client, "large", "SIZE") < 300_000);

        server.edit_config("bf-max-filter-bytes 0", "bf-max-filter-bytes 1mb");
        server.restart(Stop::Save);
        let mut client = server.resp2();
        let refused = number(&mut client, "creations_refused");
        let calls = [
            "BF.RESERVE new 0.01 1000000 WINDOW 8 GENERATIONS 8",
            "BF.RESERVE new 0.01 1000000 WINDOW 8 GENERATIONS 8 NONSCALING NOREFRESH",
            "BF.RESERVE new 0.01 1000000 WINDOW 8",
            "BF.RESERVE new 0.01 1000000 LAST",
            "BF.RESERVE new 0.01 1000000 LAST NOREFRESH TTL 60",
            "BF.RESERVE new 0.01 1000000 GENERATIONS 64",
            "BF.INSERT new CAPACITY 1000000 WINDOW 8 ITEMS a",
            "BF.INSERT new CAPACITY 1000000 LAST GENERATIONS 64 ITEMS a b",
            "BF.INSERT new CAPACITY 1000000 GENERATIONS 8 ITEMS a",
        ];
        for line in calls {
            let reply = client.ask(line);
            assert!(matches(NO_FILTER, &reply), "{line}: {reply}");
        }
        let (next, header) = client.scandump("large", 0);
        let reply = client.loadchunk("new", next, &header);
        assert!(matches(NO_FILTER, &reply), "BF.LOADCHUNK: {reply}");
        assert_eq!(client.ask("COPY large new"), "-ERR module key failed to copy");
        let dump = client.dump("large");
        assert_eq!(client.restore("new", &dump), "-ERR Bad data format");
        assert_eq!(client.ask("EXISTS new"), ":0");
        let counted = refused + calls.len() as u64 + 2;
        assert_eq!(number(&mut client, "creations_refused"), counted);
        // What can be complete is created and copied, and what exists takes items.
        client.ok("BF.RESERVE fits 0.01 300000 WINDOW 8000 GENERATIONS 8");
        assert_eq!(client.ask("COPY small copy"), ":1");
        let dump = client.dump("small");
        assert_eq!(client.restore("restored", &dump), "+OK");
        assert_eq!(client.ask("BF.ADD large a"), ":1");

        // The limit is that of the complete filter, to the byte.
        for (before, limit) in [("1mb".to_owned(), bytes - 1), ((bytes - 1).to_string(), bytes)] {
            let setting = |limit: &str| format!("bf-max-filter-bytes {limit}");
            server.edit_config(&setting(&before), &setting(&limit.to_string()));
            server.restart(Stop::Save);
            let mut client = server.resp2();
            let reply = client.ask("BF.RESERVE same 0.01 100000 GENERATIONS 4");
            if limit == bytes {
                assert_eq!(reply, "+OK");
                (0..6).for_each(|_| client.ok("BF.ROTATE same"));
                assert_eq!(info_field(&mut client, "same", "SIZE"), bytes);
            } else {
                assert!(matches(NO_FILTER, &reply), "{reply}");
            }
        }
    });
}

/// The clock moves on by more than a slot between any two readings, so a second reading by the call
/// that creates the filter would find a rotation due.
#[test]
fn a_call_that_creates_a_filter_does_not_rotate_it() {
    for_each_server(|kind| {
        let clock = Clock::new();
        let server = timed::setup(&clock).start(kind);
        let mut client = server.resp2();
        clock.move_by_reading(300);
        let insert = "BF.INSERT k CAPACITY 200000 WINDOW 1 GENERATIONS 4 ITEMS a b";
        assert_eq!(client.ask(insert), "*[:1 :1]");
        let last = "BF.INSERT l CAPACITY 64 ERROR 0.001 LAST GENERATIONS 64 ITEMS a b c d";
        assert_eq!(client.ask(last), "*[:1 :1 :1 :1]");
        clock.move_by_reading(0);
        assert_eq!(stat(&mut client, "k", "rotations"), ":0");
        assert_eq!(stat(&mut client, "k", "layers"), ":1");
        assert_eq!(stat(&mut client, "l", "rotations"), ":3");
    });
}

#[test]
fn rotation_that_frees_as_much_needs_no_memory() {
    Setup::new().on_each_server(|mut client, _| {
        // Generations of more than 1 MB.
        client.ok(&format!("BF.RESERVE window {RATE} 400000 WINDOW 2000000 GENERATIONS 2"));
        client.ok(&format!("BF.RESERVE hand {RATE} 400000 GENERATIONS 2"));
        for step in 0..3 {
            assert_eq!(client.ask(&format!("BF.ADD window {step}")), ":1");
            assert_eq!(client.ask(&format!("BF.ADD hand {step}")), ":1");
            age(&mut client, "window", SLOT);
            if step < 2 {
                client.ok("BF.ROTATE hand");
            }
        }
        leave(&mut client, 900_000);
        assert_eq!(client.ask("BF.ADD window 3"), ":1");
        // What has been dropped is freed on a thread. Until then the server may refuse commands.
        until("the dropped generation to be freed", || {
            let reply = client.ask("BF.ROTATE hand");
            assert!(reply == "+OK" || reply.starts_with("-OOM"), "{reply}");
            (reply == "+OK").then_some(())
        });
        assert_eq!(client.ask("BF.MEXISTS window 0 1 2 3"), "*[:0 :1 :1 :1]");
        assert_eq!(client.ask("BF.MEXISTS hand 0 1 2 3"), "*[:0 :1 :1 :0]");
    });
}
