//! GENERATIONS alone: BF.ROTATE opens a generation, and items are found for so many rotations.

use bloomline_harness::{Setup, show};

use crate::inspect::stat;
use crate::windowed::RATE;

#[test]
fn a_full_generation_refuses_until_the_next() {
    Setup::new().on_shared_servers(|mut client, _| {
        let full = "-ERR non scaling filter is full";
        // Two generations of 3 items beside the newest.
        client.ok(&format!("BF.RESERVE k {RATE} 6 GENERATIONS 2 NONSCALING"));
        assert_eq!(client.ask("BF.MADD k a b c d e"), format!("*[:1 :1 :1 {full}]"));
        assert_eq!(client.ask("BF.MADD k a c d"), format!("*[:0 :0 {full}]"));
        assert_eq!(client.ask("BF.ADD k d"), full);
        assert_eq!(client.ask("BF.INSERT k ITEMS b d"), format!("*[:0 {full}]"));
        assert_eq!(client.ask("BF.MEXISTS k a b c d e"), "*[:1 :1 :1 :0 :0]");
        client.ok("BF.ROTATE k");
        // Refreshed items take room.
        assert_eq!(client.ask("BF.MADD k d a e b f"), format!("*[:1 :0 :1 {full}]"));
        assert_eq!(client.ask("BF.MADD k a b"), format!("*[:0 {full}]"));
        assert_eq!(client.ask("BF.CARD k"), ":5");
        assert_eq!(client.ask("BF.MEXISTS k a b c d e f"), "*[:1 :1 :1 :1 :1 :0]");
        client.ok("BF.ROTATE k");
        client.ok("BF.ROTATE k");
        assert_eq!(client.ask("BF.MEXISTS k a b c d e f"), "*[:1 :0 :0 :1 :1 :0]");
        assert_eq!(client.ask("BF.CARD k"), ":3");
        assert_eq!(client.ask("BF.MADD k b c f"), "*[:1 :1 :1]");
        assert_eq!(stat(&mut client, "k", "layers"), ":3");
    });
}

#[test]
fn present_items_need_no_room_without_refreshing() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok(&format!("BF.RESERVE k {RATE} 4 GENERATIONS 2 NONSCALING NOREFRESH"));
        assert_eq!(client.ask("BF.MADD k a b"), "*[:1 :1]");
        client.ok("BF.ROTATE k");
        assert_eq!(client.ask("BF.MADD k a b c a d"), "*[:0 :0 :1 :0 :1]");
        let full = "-ERR non scaling filter is full";
        assert_eq!(client.ask("BF.MADD k a b c d x a"), format!("*[:0 :0 :0 :0 {full}]"));
    });
}

#[test]
fn rotation_at_a_time_sets_the_opening_time() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE k 0.01 100 GENERATIONS 2");
        let opened = stat(&mut client, "k", "newest");
        // A time before the newest generation was opened counts as that time.
        client.ok("BF.ROTATE k at 5");
        assert_eq!(stat(&mut client, "k", "newest"), opened);
        assert_eq!(stat(&mut client, "k", "layers"), ":2");
        for _ in 0..10 {
            client.ok("BF.ROTATE k");
        }
        assert_eq!(stat(&mut client, "k", "layers"), ":3");
        let reply = show(&client.call("BF.DEBUG k"));
        assert!(reply.contains("generation:9 ") && reply.contains("generation:11 "), "{reply}");
    });
}
