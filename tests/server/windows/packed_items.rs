//! Windowed filters: packed calls rotate, refresh and forget as BF.MADD does.

use bloomline_harness::{Client, Replica, Server};

use crate::inspect::number;
use crate::keyspace::changes::Observers;
use crate::packed::{FORMS, add, exists, plain};
use crate::timed::{SLOT, Timed};
use crate::windowed::{GENERATION_BYTES, GENERATIONS, present, set_number};

/// Where the last time that the filter was given stands in a header.
const CLOCK: usize = 72;

/// Header and bits of a filter, without the times in it.
fn content(client: &mut Client, key: &str) -> Vec<u8> {
    let (mut next, mut content) = client.scandump(key, 0);
    set_number(&mut content, CLOCK, 0);
    for generation in 0..present(&content) {
        set_number(&mut content, GENERATIONS + GENERATION_BYTES * generation, 0);
    }
    while next != 0 {
        let (after, data) = client.scandump(key, next);
        content.extend(next.to_le_bytes());
        content.extend(data);
        next = after;
    }
    content
}

#[test]
fn a_call_may_rotate_many_times() {
    Timed::on_each_server(&[], |_, Timed { server, clock: _clock }| {
        let mut listener = Observers::start(&server, "Eg");
        for form in FORMS {
            for key in ["plain", "packed"] {
                listener
                    .client
                    .ok(&format!("BF.RESERVE {key} 0.0000001 80 LAST GENERATIONS 8 SEED 7"));
            }
            listener.events();
            let client = &mut listener.client;
            let items: Vec<_> = (0..500).map(|at| format!("{at:04}")).collect();
            let before = number(client, "rotations");
            plain(client, "BF.MADD", "plain", &items);
            let each = number(client, "rotations") - before;
            assert!(each > 10, "{each} rotations");
            assert_eq!(add(client, "packed", form, &items), [true; 500]);
            assert_eq!(number(client, "rotations"), before + 2 * each);
            assert!(content(client, "packed") == content(client, "plain"), "{form:?}");
            let found = exists(client, "packed", form, &items);
            assert!(found[420..].iter().all(|found| *found), "the last 80");
            assert!(!found[..400].iter().any(|found| *found), "those before");
            let expected = ["plain", "packed"]
                .map(|key| [format!("bloom.rotate {key}"), format!("bloom.add {key}")]);
            assert_eq!(listener.events(), expected.concat());
            listener.client.ok("FLUSHALL");
        }
    });
}

#[test]
fn a_full_slot_ends_the_call_until_it_has_passed() {
    Timed::on_each_server(&[], |mut client, Timed { clock, .. }| {
        let full = "-ERR non scaling filter is full";
        client.ok("BF.RESERVE k 0.0000001 16 WINDOW 8000 GENERATIONS 8 NONSCALING");
        assert_eq!(client.ask("BF.BULKADD k FIXED 1 abcd"), format!(r"*[:2 $1 \xc0 {full}]"));
        assert_eq!(client.ask("BF.BULKADD k FIXED 1 bacd"), format!(r"*[:2 $1 \x00 {full}]"));
        clock.advance(SLOT + 5);
        // Refreshed items take room as well.
        assert_eq!(client.ask("BF.BULKADD k FIXED 1 caa"), r"*[:3 $1 \x80]");
        assert_eq!(
            client.ask("BF.BULKADD k FIXED 1 cab COUNT"),
            format!("{full}: item 3 of 3 was refused, 0 of the 2 before it were new")
        );
    });
}

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
