//! Rotations that no limit refuses: those of a filter that is created, and those that free as much
//! as they take. `changes` has those that are refused.

use bloomline_harness::{Clock, Setup, for_each_server, until};

use super::leave;
use crate::inspect::{info_field, number, stat};
use crate::timed;
use crate::windowed::{RATE, age};

const SLOT: u64 = 1_000_000_000;

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
        assert_eq!(stat(&mut client, "k", "layers"), ":1");
        let size = info_field(&mut client, "k", "SIZE");
        assert!(2 * size > 102_400, "a generation of {size} bytes");
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
