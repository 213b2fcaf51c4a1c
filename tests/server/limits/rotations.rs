//! Limits of memory at creation, rotation and growth: an error, and nothing changes.

use bloomline_harness::{Clock, Setup, for_each_server, matches, numbered, until};

use super::leave;
use crate::inspect::{digest, info_field, number, totals};
use crate::timed;
use crate::windowed::{RATE, age, answers, info};

const SLOT: u64 = 1_000_000_000;

#[test]
fn rotation_beyond_the_limit_changes_nothing() {
    for_each_server(|kind| {
        let setup = Setup::new().debug().module_args("bf-max-filter-bytes 100kb");
        let server = setup.start(kind);
        let mut client = server.resp2();
        let refused = "-ERR Insufficient memory to rotate filter: it needs <n> bytes, \
                       bf-max-filter-bytes allows 102400";
        // A generation takes about 30 KiB.
        client.ok("BF.RESERVE hand 0.01 80000 GENERATIONS 4");
        client.ok("BF.RESERVE window 0.01 80000 WINDOW 4000000 GENERATIONS 4");
        for key in ["hand", "window"] {
            assert_eq!(client.ask(&format!("BF.MADD {key} a b")), "*[:1 :1]");
            loop {
                let size = info_field(&mut client, key, "SIZE");
                let layers = info_field(&mut client, key, "FILTERS");
                if size + size / layers > 102_400 {
                    break;
                }
                if key == "hand" {
                    client.ok("BF.ROTATE hand");
                } else {
                    age(&mut client, key, SLOT);
                    client.call(&format!("BF.ADD {key} another{layers}"));
                }
            }
        }
        age(&mut client, "window", SLOT);
        let before =
            (digest(&mut client, "hand"), digest(&mut client, "window"), totals(&mut client));
        let counted = number(&mut client, "growths_refused");
        for line in
            ["BF.ROTATE hand", "BF.ADD window new", "BF.MADD window new a", "BF.ADD window a"]
        {
            let reply = client.ask(line);
            assert!(matches(refused, &reply), "{line}: {reply}");
        }
        let after =
            (digest(&mut client, "hand"), digest(&mut client, "window"), totals(&mut client));
        assert_eq!(after, before);
        assert_eq!(number(&mut client, "growths_refused"), counted + 4);
        let line = "<any>rotation of filter 'hand' refused: it needs <n> bytes<any>";
        assert!(matches(line, &server.log()), "{}", server.log());
        // The generations that have expired make room.
        age(&mut client, "window", 10 * SLOT);
        assert_eq!(client.ask("BF.ADD window new"), ":1");
        assert_eq!(info(&mut client, "window", "FILTERS"), ":1");
    });
}

/// The clock moves on by more than a slot between any two readings, so a second reading by the call
/// that creates the filter would find a rotation due, which the limit refuses.
#[test]
fn a_call_that_creates_a_filter_is_refused_no_rotation() {
    for_each_server(|kind| {
        let clock = Clock::new();
        let setup = timed::setup(&clock).module_args("bf-max-filter-bytes 100kb");
        let server = setup.start(kind);
        let mut client = server.resp2();
        clock.move_by_reading(300);
        // A generation takes more than half of the limit.
        let insert = "BF.INSERT k CAPACITY 200000 WINDOW 1 GENERATIONS 4 ITEMS a b";
        assert_eq!(client.ask(insert), "*[:1 :1]");
        let last = "BF.INSERT l CAPACITY 64 ERROR 0.001 LAST GENERATIONS 64 ITEMS a b c d";
        assert_eq!(client.ask(last), "*[:1 :1 :1 :1]");
        clock.move_by_reading(0);
        assert_eq!(number(&mut client, "growths_refused"), 0, "{}", server.log());
        assert_eq!(info(&mut client, "k", "FILTERS"), ":1");
        let size = info_field(&mut client, "k", "SIZE");
        assert!(2 * size > 102_400, "a generation of {size} bytes");
    });
}

#[test]
fn rotation_by_count_beyond_the_limit_refuses_items() {
    for_each_server(|kind| {
        let setup = Setup::new().debug().module_args("bf-max-filter-bytes 10kb");
        let server = setup.start(kind);
        let mut client = server.resp2();
        client.ok("BF.RESERVE k 0.0000001 8000 LAST GENERATIONS 8 SEED 7");
        let items = numbered("item", 8000);
        let mut replies = String::new();
        for batch in items.chunks(100) {
            replies += &bloomline_harness::show(&client.items("BF.MADD", "k", batch));
        }
        let refused = replies.matches("-ERR problem inserting into filter").count();
        let inserted = replies.matches(":1").count();
        assert_eq!(refused + inserted, 8000);
        assert!(inserted >= 1000 && refused >= 1000, "{inserted} inserted, {refused} refused");
        assert_eq!(number(&mut client, "growths_refused"), refused as u64);
        assert_eq!(client.ask("BF.CARD k"), format!(":{inserted}"));
        let before = digest(&mut client, "k");
        assert_eq!(client.ask("BF.ADD k other"), "-ERR problem inserting into filter");
        assert_eq!(digest(&mut client, "k"), before);
    });
}

#[test]
fn overflow_beyond_maxmemory_is_refused() {
    Setup::new().debug().on_each_server(|mut client, _| {
        // The overflow layer takes 4 MB and more.
        client.ok(&format!("BF.RESERVE k {RATE} 80 GENERATIONS 8 EXPANSION 32768"));
        assert_eq!(answers(&client.items("BF.MADD", "k", &numbered("item", 10))), [true; 10]);
        leave(&mut client, 900_000);
        let before = (digest(&mut client, "k"), totals(&mut client));
        let refused = "-ERR problem inserting into filter";
        assert_eq!(client.ask("BF.ADD k new"), refused);
        assert_eq!(client.ask("BF.MADD k item:1 new"), format!("*[:0 {refused}]"));
        assert_eq!((digest(&mut client, "k"), totals(&mut client)), before);
        assert_eq!(number(&mut client, "growths_refused"), 2);
        client.ok("CONFIG SET maxmemory 0");
        assert_eq!(client.ask("BF.MADD k item:1 new"), "*[:0 :1]");
        assert_eq!(info(&mut client, "k", "FILTERS"), ":2");
        assert_eq!(client.ask("BF.CARD k"), ":11");
    });
}

#[test]
fn rotation_that_frees_as_much_needs_no_memory() {
    Setup::new().on_each_server(|mut client, _| {
        // A generation more than before does need memory.
        client.ok(&format!("BF.RESERVE growing {RATE} 400000 GENERATIONS 2"));
        leave(&mut client, 900_000);
        let reply = client.ask("BF.ROTATE growing");
        assert!(reply.starts_with("-ERR Insufficient memory to rotate filter: "), "{reply}");
        client.ok("CONFIG SET maxmemory 0");
        client.ok("BF.ROTATE growing");
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

#[test]
fn a_full_server_rotates_nothing() {
    Setup::new().debug().on_each_server(|mut client, _| {
        client.ok(&format!("BF.RESERVE k {RATE} 100 GENERATIONS 2"));
        let before = digest(&mut client, "k");
        client.ok("CONFIG SET maxmemory 1");
        for line in [
            "BF.ROTATE k",
            "BF.ROTATE k AT 5",
            "BF.ADD k a",
            "BF.RESERVE l 0.01 100 LAST GENERATIONS 8",
        ] {
            assert!(client.ask(line).starts_with("-OOM"), "{line}");
        }
        assert_eq!(client.ask("BF.INFO k GENERATIONS"), "*[:2]");
        client.ok("CONFIG SET maxmemory 0");
        assert_eq!(digest(&mut client, "k"), before);
        client.ok("BF.ROTATE k");
    });
}
