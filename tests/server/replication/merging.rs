//! BF.MERGE of keys whose time to live has passed on another server.

use bloomline_harness::{Clock, Stop, for_each_server};

use crate::cluster::equal::{catch_up, setup};
use crate::overlapping::{digests, make};

#[test]
fn sources_that_have_expired_elsewhere_are_merged() {
    for_each_server(|kind| {
        let (clock, ahead) = (Clock::new(), Clock::new());
        let mut primary = setup().append_only().clock(&clock).start(kind);
        ahead.set_ahead(1_000_000);
        let replica = setup().follows(&primary).clock(&ahead).start(kind);
        let (mut client, mut other) = (primary.resp2(), replica.resp2());
        make(&mut client, "SEED 7");
        for key in ["b", "c"] {
            assert_eq!(client.ask(&format!("EXPIRE {key} 1000")), ":1");
        }
        client.ok("BF.MERGE d a b");
        client.ok("BF.MERGE a c b");
        catch_up(&mut client, &mut other);
        let before = digests(&mut client, ["a", "d"]);
        assert_eq!(digests(&mut other, ["a", "d"]), before);
        clock.advance(100_000);
        primary.restart(Stop::NoSave);
        let mut client = primary.resp2();
        assert_eq!(digests(&mut client, ["a", "d"]), before);
        assert_eq!(client.ask("BF.MERGE d b"), "-ERR source 'b' not found");
    });
}
