//! What a primary replicates: exactly the changes, once each.

use bloomline_harness::Setup;

use super::link::Link;

/// As [`Link::writes`], with each addition written as BF.MADD: the forms are equivalent to a
/// replica.
fn adds(link: &mut Link, line: &str) -> Vec<String> {
    let as_madd = |line: String| {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["BF.ADD", key, item] => format!("BF.MADD {key} {item}"),
            ["BF.INSERT", key, options @ ..] => {
                let items = options
                    .iter()
                    .position(|word| word.eq_ignore_ascii_case("ITEMS"))
                    .expect("items");
                format!("BF.MADD {key} {}", options[items + 1..].join(" "))
            }
            _ => line,
        }
    };
    link.writes(line).into_iter().map(as_madd).collect()
}

const HEADER: &str = "BF.LOADCHUNK k 1 <data>";

#[test]
fn creation_replicates_the_header() {
    Link::on_each_server(Setup::new(), |mut link| {
        for line in [
            "BF.RESERVE k 0.01 100",
            "BF.RESERVE k 0.01 100 EXPANSION 4",
            "BF.RESERVE k 0.01 100 NONSCALING",
        ] {
            assert_eq!(link.writes(line), [HEADER], "{line}");
            link.client.ok("FLUSHALL");
            link.pending();
        }
        for (line, items) in [
            ("BF.ADD k a", "BF.MADD k a"),
            ("BF.MADD k a b c", "BF.MADD k a b c"),
            ("BF.MADD k a b a", "BF.MADD k a b"),
            ("BF.INSERT k CAPACITY 10 ERROR 0.1 ITEMS a b", "BF.MADD k a b"),
            ("BF.INSERT k NONSCALING CAPACITY 2 ITEMS a b c", "BF.MADD k a b"),
        ] {
            assert_eq!(adds(&mut link, line), [HEADER, items], "{line}");
            link.client.ok("FLUSHALL");
            link.pending();
        }
    });
}

#[test]
fn creation_with_items_is_one_transaction() {
    Link::on_each_server(Setup::new(), |mut link| {
        link.client.call("BF.MADD k a b");
        let lines = link.replica.lines(&link.server);
        assert_eq!(lines, ["MULTI", HEADER, "BF.MADD k a b", "EXEC"]);
    });
}

#[test]
fn additions_replicate_only_new_items() {
    Link::on_each_server(Setup::new(), |mut link| {
        link.client.ok("BF.RESERVE k 0.0001 1000");
        link.pending();
        // All items are new, so the call is replicated verbatim.
        assert_eq!(link.writes("BF.ADD k a"), ["BF.ADD k a"]);
        assert_eq!(link.writes("BF.MADD k b c d"), ["BF.MADD k b c d"]);
        assert_eq!(adds(&mut link, "BF.INSERT k NOCREATE ITEMS e f"), ["BF.MADD k e f"]);
        assert_eq!(adds(&mut link, "BF.INSERT k ITEMS g"), ["BF.MADD k g"]);
        // Some items are new.
        assert_eq!(adds(&mut link, "BF.MADD k a h b i c"), ["BF.MADD k h i"]);
        assert_eq!(adds(&mut link, "BF.MADD k j j a j"), ["BF.MADD k j"]);
        assert_eq!(adds(&mut link, "BF.INSERT k CAPACITY 7 ITEMS a l b"), ["BF.MADD k l"]);
        // No item is new.
        for line in [
            "BF.ADD k a",
            "BF.MADD k a b c",
            "BF.INSERT k ITEMS a b",
            "BF.INSERT k NOCREATE ITEMS a",
            "BF.BULKADD k FIXED 1 abc",
        ] {
            assert_eq!(link.writes(line), [""; 0], "{line}");
        }
    });
}

#[test]
fn calls_with_mostly_new_items_are_replicated_verbatim() {
    Link::on_each_server(Setup::new(), |mut link| {
        link.client.ok("BF.RESERVE k 0.000001 1000");
        link.client.call("BF.MADD k old:1 old:2 old:3");
        link.pending();
        let items = |prefix: &str| (1..=30).map(|i| format!(" {prefix}:{i}")).collect::<String>();
        // Verbatim up to one sixteenth of old items.
        let call = format!("BF.MADD k old:1{} old:2", items("a"));
        assert_eq!(link.writes(&call), [call]);
        let new = format!("BF.MADD k{}", items("b"));
        assert_eq!(link.writes(&format!("{new} old:1 old:2 old:3")), [new]);
        // Not if an item found no room, because another server may have room.
        link.client.ok("BF.RESERVE full 0.000001 30 NONSCALING");
        link.pending();
        let new = format!("BF.MADD full{}", items("c"));
        assert_eq!(link.writes(&format!("{new} more")), [new]);
    });
}

#[test]
fn long_calls_replicate_new_items_in_order() {
    Link::on_each_server(Setup::new(), |mut link| {
        link.client.ok("BF.RESERVE k 0.000001 1000");
        link.client.call("BF.ADD k old:1");
        link.pending();
        // Numbers around one group of items, and around several.
        for count in [62, 63, 64, 65, 66, 127, 128, 129, 200] {
            let (mut sent, mut new) = ("BF.MADD k".to_owned(), "BF.MADD k".to_owned());
            for index in 0..count {
                if index % 3 == 1 {
                    sent += " old:1";
                } else {
                    sent += &format!(" {count}:{index}");
                    new += &format!(" {count}:{index}");
                }
            }
            assert_eq!(link.writes(&sent), [new], "{count} items");
        }
    });
}

#[test]
fn items_without_room_are_not_replicated() {
    Link::on_each_server(Setup::new(), |mut link| {
        link.client.ok("BF.RESERVE k 0.0001 3 NONSCALING");
        link.pending();
        assert_eq!(adds(&mut link, "BF.MADD k a b c d e"), ["BF.MADD k a b c"]);
        for line in
            ["BF.MADD k d", "BF.MADD k a d e", "BF.ADD k d", "BF.INSERT k ITEMS d", "BF.ADD k a"]
        {
            assert_eq!(link.writes(line), [""; 0], "{line}");
        }
    });
}

#[test]
fn growth_is_replicated_as_the_items_that_cause_it() {
    Link::on_each_server(Setup::new(), |mut link| {
        link.client.ok("BF.RESERVE k 0.0001 2");
        link.pending();
        assert_eq!(link.writes("BF.MADD k a b c d e f g"), ["BF.MADD k a b c d e f g"]);
        assert_eq!(link.client.ask("BF.INFO k FILTERS"), "*[:3]");
    });
}

#[test]
fn chunks_are_replicated_verbatim() {
    Link::on_each_server(Setup::new(), |mut link| {
        link.client.call("BF.ADD k a");
        link.pending();
        for iterator in [0, 1] {
            let (next, data) = link.client.scandump("k", iterator);
            link.client.loadchunk("copy", next, &data);
            let next = next.to_string();
            assert_eq!(
                link.replica.received(&link.server),
                [[b"BF.LOADCHUNK".to_vec(), b"copy".to_vec(), next.into_bytes(), data.to_vec()]]
            );
        }
    });
}

#[test]
fn transactions_replicate_their_effects_in_order() {
    Link::on_each_server(Setup::new(), |mut link| {
        for line in
            ["MULTI", "BF.RESERVE k 0.0001 100", "BF.MADD k a b", "BF.ADD k a", "BF.ADD k c"]
        {
            link.client.call(line);
        }
        assert_eq!(link.client.ask("EXEC"), "*[+OK *[:1 :1] :0 :1]");
        assert_eq!(
            link.replica.lines(&link.server),
            ["MULTI", HEADER, "BF.MADD k a b", "BF.ADD k c", "EXEC"]
        );
    });
}
