//! Windowed filters: packed calls that refresh items, and what they replicate.

use bloomline_harness::{Replica, Server};

use crate::timed::{SLOT, Timed};

/// The lines of a link, without the frame of transactions and the times of rotations.
fn lines(replica: &mut Replica, server: &Server) -> Vec<String> {
    let line = |line: String| match line.split_once(" AT ") {
        Some((rotation, _)) => rotation.to_owned(),
        None => line,
    };
    replica.writes(server).into_iter().map(line).collect()
}

#[test]
fn refreshed_items_are_not_new_but_replicated() {
    Timed::on_each_server(&[], |mut client, Timed { server, clock }| {
        let mut replica = Replica::attach(&server);
        client.ok("BF.RESERVE k 0.0000001 1000 WINDOW 8000 GENERATIONS 8");
        client.ok("BF.RESERVE not 0.0000001 1000 WINDOW 8000 GENERATIONS 8 NOREFRESH");
        lines(&mut replica, &server);
        let mut writes = |line: &str, reply: &str| {
            assert_eq!(client.ask(line), reply, "{line}");
            lines(&mut replica, &server)
        };
        let all = "BF.BULKADD k FIXED 1 abcd";
        assert_eq!(writes(all, r"*[:4 $1 \xf0]"), [all]);
        assert_eq!(
            writes("BF.BULKADD not FIXED 1 ab COUNT", "*[:2 :2]"),
            ["BF.BULKADD not FIXED 1 ab COUNT"]
        );
        assert_eq!(writes(all, r"*[:4 $1 \x00]"), [""; 0]);
        clock.advance(SLOT + 5);
        assert_eq!(writes("BF.BULKEXISTS k FIXED 1 ab COUNT", "*[:2 :2]"), [""; 0]);
        assert_eq!(
            writes("BF.BULKADD k FIXED 1 ab COUNT", "*[:2 :0]"),
            ["BF.ROTATE k", "BF.BULKADD k FIXED 1 ab COUNT"],
            "all were written"
        );
        // Some are refreshed now, some were before.
        assert_eq!(writes(all, r"*[:4 $1 \x00]"), ["BF.BULKADD k FIXED 1 cd"]);
        let rest = r#"BF.BULKADD k LINES "a\r\ne\nb""#;
        assert_eq!(writes(rest, "*[:3 $1 @]"), [r"BF.BULKADD k LINES e\n"]);
        assert_eq!(writes("BF.BULKADD not FIXED 1 ab", r"*[:2 $1 \x00]"), ["BF.ROTATE not"]);
        assert_eq!(
            writes("BF.BULKADD not FIXED 1 abc", "*[:3 $1  ]"),
            ["BF.BULKADD not FIXED 1 c"]
        );
        // No data does not rotate, although that is due.
        clock.advance(SLOT + 5);
        assert_eq!(writes(r#"BF.BULKADD k LINES """#, "*[:0 $0 ]"), [""; 0]);
    });
}
