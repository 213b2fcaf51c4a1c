//! What calls with packed items replicate.

use bloomline_harness::Setup;

use super::link::Link;
use crate::packed::{FORMS, Form, add, plain, send};

const HEADER: &str = "BF.LOADCHUNK k 1 <data>";

/// Adds packed items, and returns what that replicated.
fn adds<A: AsRef<[u8]>>(link: &mut Link, form: Form, items: &[A], tail: &[&str]) -> Vec<String> {
    send(&mut link.client, "BF.BULKADD", "k", form, items, tail);
    link.pending()
}

/// Replaces the filter by an empty one whose commands are not reported.
fn renew(link: &mut Link, options: &str) {
    link.client.call("FLUSHALL");
    link.client.ok(&format!("BF.RESERVE k 0.000001 1000 {options}"));
    link.pending();
}

/// A call as a line of the replication link.
fn line<A: AsRef<[u8]>>(form: Form, items: &[A], tail: &[&str]) -> String {
    let mut words = vec!["BF.BULKADD".to_owned(), "k".to_owned()];
    words.extend(form.args(items).iter().map(|word| word.escape_ascii().to_string()));
    words.extend(tail.iter().map(|&word| word.to_owned()));
    words.join(" ")
}

fn items(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{prefix}:{at:03}")).collect()
}

#[test]
fn a_new_filter_is_replicated_as_header_and_call() {
    Link::on_each_server(Setup::new(), |mut link| {
        for form in FORMS {
            let items = items("a", 5);
            assert_eq!(adds(&mut link, form, &items, &[]), [HEADER, &line(form, &items, &[])]);
            link.client.ok("FLUSHALL");
            link.pending();
        }
        send(&mut link.client, "BF.BULKADD", "k", Form::Lines, &items("a", 2), &[]);
        let lines = link.replica.lines(&link.server);
        assert_eq!(lines, ["MULTI", HEADER, &line(Form::Lines, &items("a", 2), &[]), "EXEC"]);
    });
}

#[test]
fn calls_with_mostly_new_items_are_replicated_verbatim() {
    Link::on_each_server(Setup::new(), |mut link| {
        for form in FORMS {
            renew(&mut link, "");
            let old = items("old", 3);
            add(&mut link.client, "k", form, &old);
            link.pending();
            // Verbatim up to one sixteenth of old items.
            let mut sent = items("one", 30);
            sent.extend_from_slice(&old[..2]);
            assert_eq!(
                adds(&mut link, form, &sent, &[]),
                [line(form, &sent, &[])],
                "2 of 32 are old"
            );
            let mut sent = items("two", 44);
            sent.extend_from_slice(&old);
            assert_eq!(
                adds(&mut link, form, &sent, &[]),
                [line(form, &sent[..44], &[])],
                "3 of 47"
            );
        }
    });
}

#[test]
fn a_verbatim_call_keeps_its_words_and_line_ends() {
    Link::on_each_server(Setup::new(), |mut link| {
        renew(&mut link, "");
        for call in [
            "BF.BULKADD k lines a\\r\\nb\\nc",
            "BF.BULKADD k count Fixed 2 abcd",
            "BF.BULKADD k FIXED 3 abcdef count",
        ] {
            let sent = call.replace("a\\r\\nb\\nc", "\"a\\r\\nb\\nc\"");
            assert_eq!(link.writes(&sent), [call]);
        }
    });
}

#[test]
fn only_new_items_are_replicated_in_their_form() {
    Link::on_each_server(Setup::new(), |mut link| {
        for form in FORMS {
            // Numbers around one group of items, and around several.
            for count in [1, 2, 62, 63, 64, 65, 66, 127, 128, 129, 200] {
                renew(&mut link, "");
                let all = items("item", count);
                let old: Vec<_> = all.iter().step_by(3).collect();
                let new: Vec<_> = all
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| at % 3 != 0)
                    .map(|(_, item)| item)
                    .collect();
                add(&mut link.client, "k", form, &old);
                link.pending();
                let expected = if new.is_empty() { vec![] } else { vec![line(form, &new, &[])] };
                // The number of ones is not replicated.
                assert_eq!(adds(&mut link, form, &all, &["COUNT"]), expected, "{form:?}, {count}");
                assert_eq!(adds(&mut link, form, &all, &[]), [""; 0]);
            }
        }
    });
}

#[test]
fn packed_again_items_keep_their_bytes() {
    Link::on_each_server(Setup::new(), |mut link| {
        renew(&mut link, "");
        link.client.call("BF.MADD k old");
        link.pending();
        // A line that ends with CR, and one that contains it; empty lines are left out.
        let sent = r#"BF.BULKADD k LINES "\na\r\r\n\r\nold\r\nb\rc\r\n\r\r\n\x00d""#;
        assert_eq!(link.writes(sent), [r"BF.BULKADD k LINES a\r\r\nb\rc\n\r\r\n\x00d\n"]);
        let new = ["a\r", "b\rc", "\r", "\0d"];
        assert_eq!(plain(&mut link.client, "BF.MEXISTS", "k", &new), [true; 4]);
        let all: [&[u8]; 4] = [b"", b"old", b"\n", b"\r\n\0"];
        let prefixed = line(Form::Prefixed, &[all[0], all[2], all[3]], &[]);
        assert_eq!(adds(&mut link, Form::Prefixed, &all, &[]), [prefixed]);
        let fixed: [&[u8]; 3] = [b"\n\n\n", b"old", b"\0\xff\r"];
        assert_eq!(
            adds(&mut link, Form::Fixed, &fixed, &[]),
            [line(Form::Fixed, &[fixed[0], fixed[2]], &[])]
        );
        // An item that is repeated in a call is replicated once.
        assert_eq!(link.writes("BF.BULKADD k FIXED 1 xxyx"), ["BF.BULKADD k FIXED 1 xy"]);
    });
}

#[test]
fn refused_calls_are_replicated_up_to_their_end() {
    Link::on_each_server(Setup::new(), |mut link| {
        for form in FORMS {
            link.client.call("FLUSHALL");
            link.client.ok("BF.RESERVE k 0.000001 70 NONSCALING");
            link.pending();
            let all = items("item", 200);
            // Not verbatim, because another server may have room.
            assert_eq!(adds(&mut link, form, &all[..71], &[]), [line(form, &all[..70], &[])]);
            assert_eq!(adds(&mut link, form, &all, &[]), [""; 0], "{form:?}");
            assert_eq!(adds(&mut link, form, &all[70..], &["COUNT"]), [""; 0], "{form:?}");
        }
    });
}

#[test]
fn transactions_replicate_their_effects_in_order() {
    Link::on_each_server(Setup::new(), |mut link| {
        for call in [
            "MULTI",
            "BF.BULKADD k FIXED 1 ab",
            "BF.BULKADD k FIXED 1 abc",
            "BF.BULKADD k FIXED 1 bca COUNT",
            "BF.ADD k d",
        ] {
            link.client.call(call);
        }
        let replies = r"*[*[:2 $1 \xc0] *[:3 $1  ] *[:3 :0] :1]";
        assert_eq!(link.client.ask("EXEC"), replies);
        let expected = [
            "MULTI",
            HEADER,
            "BF.BULKADD k FIXED 1 ab",
            "BF.BULKADD k FIXED 1 c",
            "BF.ADD k d",
            "EXEC",
        ];
        assert_eq!(link.replica.lines(&link.server), expected);
    });
}

#[test]
fn scripts_replicate_their_effects_in_order() {
    Link::on_each_server(Setup::new(), |mut link| {
        let script = "redis.call('BF.BULKADD', KEYS[1], 'FIXED', 1, 'ab') \
            return redis.call('BF.BULKADD', KEYS[1], 'LINES', ARGV[1])";
        let line = format!(r#"EVAL "{script}" 1 k "a\r\nc\r\nb\n""#);
        assert_eq!(link.client.ask(&line), "*[:3 $1 @]");
        let expected = [HEADER, "BF.BULKADD k FIXED 1 ab", r"BF.BULKADD k LINES c\n"];
        assert_eq!(link.pending(), expected);
    });
}
