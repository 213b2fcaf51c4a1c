//! What a primary replicates of cuckoo filters: the additions that stored, and the deletions that
//! removed.

use bloomline_harness::{Setup, append_only_file, arguments, for_each_server};

use super::link::Link;

const HEADER: &str = "CF.LOADCHUNK k 1 <data>";

/// A call, and what it replicates.
type Effect = (&'static str, &'static [&'static str]);

/// Runs calls in order, and asserts what each replicates.
fn assert_effects(link: &mut Link, effects: &[Effect]) {
    for (line, expected) in effects {
        assert_eq!(link.writes(line), *expected, "{line}");
    }
}

#[test]
fn creation_replicates_the_header_and_no_option() {
    Link::on_each_server(Setup::new(), |mut link| {
        for (line, items) in [
            ("CF.RESERVE k 100", None),
            ("CF.RESERVE k 100 BUCKETSIZE 4 MAXITERATIONS 7 EXPANSION 0", None),
            ("CF.ADD k a", Some("CF.ADD k a")),
            ("CF.ADDNX k a", Some("CF.ADDNX k a")),
            ("CF.INSERT k ITEMS a b a", Some("CF.INSERT k ITEMS a b a")),
            ("CF.INSERT k CAPACITY 7 ITEMS a b", Some("CF.INSERT k ITEMS a b")),
            ("CF.INSERT k CAPACITY 7 ITEMS a", Some("CF.ADD k a")),
            ("CF.INSERTNX k CAPACITY 7 ITEMS a b a", Some("CF.INSERT k ITEMS a b")),
        ] {
            let expected: Vec<&str> = [HEADER].into_iter().chain(items).collect();
            assert_eq!(link.writes(line), expected, "{line}");
            link.client.ok("FLUSHALL");
            link.pending();
        }
        // With an expiry, which is the time and not how long it takes.
        let lines = link.writes("CF.RESERVE k 100 TTL 1000");
        assert!(lines[0] == HEADER && lines[1].starts_with("PEXPIREAT k "), "{lines:?}");
        assert_eq!(lines.len(), 2);
    });
}

#[test]
fn creation_with_items_is_one_transaction() {
    Link::on_each_server(Setup::new(), |mut link| {
        link.client.call("CF.INSERT k ITEMS a b");
        let lines = link.replica.lines(&link.server);
        assert_eq!(lines, ["MULTI", HEADER, "CF.INSERT k ITEMS a b", "EXEC"]);
    });
}

#[test]
fn additions_and_deletions_replicate_what_they_changed() {
    Link::on_each_server(Setup::new(), |mut link| {
        link.client.ok("CF.RESERVE k 1000");
        link.pending();
        assert_effects(
            &mut link,
            &[
                ("CF.ADD k a", &["CF.ADD k a"]),
                ("CF.ADD k a", &["CF.ADD k a"]),
                ("CF.ADDNX k b", &["CF.ADDNX k b"]),
                ("CF.INSERT k ITEMS c c", &["CF.INSERT k ITEMS c c"]),
                ("CF.INSERT k NOCREATE ITEMS d", &["CF.ADD k d"]),
                ("CF.INSERTNX k ITEMS a e b f", &["CF.INSERT k ITEMS e f"]),
                ("CF.INSERTNX k ITEMS a g b", &["CF.ADD k g"]),
                ("CF.DEL k a", &["CF.DEL k a"]),
                ("CF.MDEL k a b", &["CF.MDEL k a b"]),
                ("CF.MDEL k x c y c c d", &["CF.MDEL k c c d"]),
                ("CF.MDEL k x e y", &["CF.DEL k e"]),
                ("CF.BULKADD k FIXED 1 hij", &["CF.BULKADD k FIXED 1 hij"]),
                ("CF.BULKDEL k FIXED 1 hxyi", &["CF.BULKDEL k FIXED 1 hi"]),
                ("CF.BULKDEL k LINES j", &["CF.BULKDEL k LINES j"]),
                ("CF.COMPACT k", &["CF.COMPACT k"]),
                // Nothing is changed.
                ("CF.ADDNX k f", &[]),
                ("CF.INSERTNX k ITEMS f g", &[]),
                ("CF.DEL k x", &[]),
                ("CF.MDEL k x y", &[]),
                ("CF.BULKDEL k FIXED 1 xy", &[]),
                ("CF.BULKADD k LINES \"\\n\"", &[]),
                ("CF.BULKEXISTS k LINES f", &[]),
                ("CF.COMPACT k", &[]),
                ("CF.EXISTS k f", &[]),
                ("CF.MEXISTS k f x", &[]),
                ("CF.COUNT k f", &[]),
                ("CF.INFO k", &[]),
                ("CF.DEBUG k", &[]),
                ("CF.SCANDUMP k 0", &[]),
            ],
        );
    });
}

#[test]
fn refused_items_are_not_replicated() {
    Link::on_each_server(Setup::new(), |mut link| {
        link.client.ok("CF.RESERVE full 4 EXPANSION 0 LAYOUT REDISBLOOM");
        link.pending();
        let lines = link.writes("CF.INSERT full ITEMS a a a a a a b");
        // Items share places, so that not all slots of a small filter may be reached.
        assert!(
            ["CF.INSERT full ITEMS a a", "CF.INSERT full ITEMS a a a a"]
                .iter()
                .any(|stored| lines.len() == 1 && lines[0].starts_with(stored)),
            "{lines:?}"
        );
    });
}

#[test]
fn chunks_are_replicated_verbatim() {
    Link::on_each_server(Setup::new(), |mut link| {
        link.client.call("CF.INSERT k ITEMS a b c");
        link.pending();
        for (next, data) in link.client.chunks("k") {
            assert_eq!(link.client.loadchunk_of("CF", "copy", next, &data), "+OK");
            let next = next.to_string();
            assert_eq!(
                link.replica.received(&link.server),
                [[b"CF.LOADCHUNK".to_vec(), b"copy".to_vec(), next.into_bytes(), data]]
            );
        }
    });
}

#[test]
fn transactions_and_scripts_replicate_their_effects() {
    Link::on_each_server(Setup::new(), |mut link| {
        for line in
            ["MULTI", "CF.RESERVE k 100", "CF.INSERT k ITEMS a b", "CF.ADDNX k a", "CF.MDEL k a x"]
        {
            link.client.call(line);
        }
        assert_eq!(link.client.ask("EXEC"), "*[+OK *[:1 :1] :0 *[:1 :0]]");
        let expected = ["MULTI", HEADER, "CF.INSERT k ITEMS a b", "CF.DEL k a", "EXEC"];
        assert_eq!(link.replica.lines(&link.server), expected);
        let script = "redis.call('CF.ADDNX', KEYS[1], 'b') \
                      redis.call('CF.ADDNX', KEYS[1], 'c') return redis.call('CF.DEL', KEYS[1], 'x')";
        assert_eq!(link.client.ask(&format!("EVAL \"{script}\" 1 k")), ":0");
        assert_eq!(link.pending(), ["CF.ADDNX k c"]);
    });
}

#[test]
fn filters_of_redisblooms_layout_replicate_only_what_it_knows() {
    Link::on_each_server(Setup::new().module_args("cf-layout redisbloom"), |mut link| {
        assert_effects(
            &mut link,
            &[
                ("CF.INSERT k ITEMS a b c d a", &[HEADER, "CF.INSERT k ITEMS a b c d a"]),
                ("CF.MDEL k a x b", &["CF.DEL k a", "CF.DEL k b"]),
                ("CF.MDEL k c", &["CF.DEL k c"]),
                ("CF.MDEL k x y", &[]),
                ("CF.DEL k d", &["CF.DEL k d"]),
                ("CF.BULKADD k LINES \"e\\n\\nf\"", &["CF.INSERT k ITEMS e f"]),
                ("CF.BULKADD k LINES g", &["CF.INSERT k ITEMS g"]),
                ("CF.BULKDEL k FIXED 1 exf", &["CF.DEL k e", "CF.DEL k f"]),
                ("CF.COMPACT k", &["CF.COMPACT k"]),
            ],
        );
        // An option that RedisBloom does not know.
        let lines = link.writes("CF.INSERT k2 TTL 1000 ITEMS a");
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[1].starts_with("PEXPIREAT k2 ") && lines[2] == "CF.ADD k2 a", "{lines:?}");
    });
}

#[test]
fn logged_commands_run_without_limits_and_settings_of_their_own() {
    for_each_server(|kind| {
        let file = append_only_file(
            &[
                "SELECT 0",
                "CF.RESERVE reserved 300 BUCKETSIZE 200 EXPANSION 3",
                "CF.INSERT k CAPACITY 100 ITEMS a b a",
                "CF.DEL k a",
                "CF.DEL k absent",
                "CF.ADDNX k a",
                "CF.RESERVE full 4 EXPANSION 0",
                "CF.INSERT full ITEMS 0 1 2 3 4 5 6 7 8",
                "CF.ADD full 9",
                "CF.COMPACT k",
                "SET last 1",
            ]
            .map(arguments),
        );
        let args = "cf-max-expansions 1 bf-max-filter-bytes 1";
        let server = Setup::new().module_args(args).append_file(file).start(kind);
        let mut client = server.resp2();
        assert_eq!(client.ask("GET last"), "$1 1");
        let debug = client.ask("CF.DEBUG reserved");
        assert!(debug.contains("bktsize:200 buckets:1 items:0"), "{debug}");
        assert_eq!(client.ask("CF.MEXISTS k a b c"), "*[:1 :1 :0]");
        assert_eq!(client.ask("CF.COUNT k a"), ":1");
    });
}
