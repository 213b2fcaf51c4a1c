//! The INFO sections of the module: totals over all filters, and the number of refusals. Those of
//! cuckoo filters: [`super::cuckoo`].

use bloomline_harness::{
    Client, Setup, Stop, bulk, for_each_server, numbered, seal_dump, show, until,
};

use crate::inspect::{Totals, number, sum_of_infos, text, totals};

const FIELDS: [&str; 25] = [
    "version",
    "filters",
    "filters_bloomline",
    "layers",
    "items",
    "capacity",
    "bytes",
    "layers_added",
    "creations_refused",
    "growths_refused",
    "loads_refused",
    "filters_windowed",
    "rotations",
    "generations_dropped",
    "merges",
    "merges_refused",
    "compactions",
    "bytes_compacted",
    "bloom_total_memory_bytes",
    "bloom_num_objects",
    "bloom_num_filters_across_objects",
    "bloom_num_items_across_objects",
    "bloom_capacity_across_objects",
    "bloom_defrag_hits",
    "bloom_defrag_misses",
];

const CUCKOO_FIELDS: [&str; 7] = [
    "cf_filters",
    "cf_filters_bloomline",
    "cf_tables",
    "cf_items",
    "cf_bytes",
    "cf_deletes",
    "cf_deletes_missed",
];

/// A field under the name that collectors of valkey-bloom know, and under our own.
const KNOWN_NAMES: [(&str, &str); 5] = [
    ("bloom_total_memory_bytes", "bytes"),
    ("bloom_num_objects", "filters"),
    ("bloom_num_filters_across_objects", "layers"),
    ("bloom_num_items_across_objects", "items"),
    ("bloom_capacity_across_objects", "capacity"),
];

/// Three filters: one of one layer, one of three, and one that cannot grow.
fn build(client: &mut Client) -> [&'static str; 3] {
    assert_eq!(client.ask("BF.ADD one a"), ":1");
    client.ok("BF.RESERVE three 0.0000001 100");
    client.items("BF.MADD", "three", &numbered("item", 500));
    client.ok("BF.RESERVE fixed 0.01 1000 NONSCALING");
    ["one", "three", "fixed"]
}

#[test]
fn the_section_has_its_fields_in_every_info_call() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        for mut client in [server.resp2(), server.resp3()] {
            for (line, sections) in [
                ("INFO bf", &["bloom", "cuckoo"][..]),
                ("INFO bf_bloom", &["bloom"]),
                ("INFO bf_cuckoo", &["cuckoo"]),
                ("INFO modules", &["bloom", "cuckoo"]),
                ("INFO everything", &["bloom", "cuckoo"]),
            ] {
                let shown = text(&client.call(line));
                for (section, fields) in [("bloom", &FIELDS[..]), ("cuckoo", &CUCKOO_FIELDS)] {
                    let found = shown.split_once(&format!("# bf_{section}\r\n"));
                    assert_eq!(found.is_some(), sections.contains(&section), "{line}\n{shown}");
                    let Some((_, found)) = found else { continue };
                    let found = found.split("\r\n\r\n").next().expect("a first part");
                    let name = |line: &str| line.split(':').next().expect("a name").to_owned();
                    let names: Vec<String> = found.lines().map(name).collect();
                    let expected: Vec<String> =
                        fields.iter().map(|name| format!("bf_{name}")).collect();
                    assert_eq!(names, expected, "{line}");
                }
            }
            for line in ["INFO", "INFO memory", "INFO all"] {
                let shown = text(&client.call(line));
                for field in ["bf_filters", "bf_cf_filters"] {
                    assert!(!shown.contains(field) || line == "INFO all", "{line}");
                }
            }
        }
    });
}

#[test]
fn totals_are_the_sum_over_all_filters() {
    Setup::new().on_each_server(|mut client, _| {
        assert_eq!(totals(&mut client), Totals::default());
        let keys = build(&mut client);
        assert_eq!(totals(&mut client), sum_of_infos(&mut client, &keys));
        assert_eq!((number(&mut client, "filters"), number(&mut client, "layers")), (3, 5));
        // Additions, duplicates, and growth by single items.
        client.call("BF.MADD one a b c b");
        client.items("BF.MADD", "one", &numbered("more", 1000));
        for item in numbered("single", 300) {
            client.items("BF.ADD", "three", &[item]);
        }
        client.call("BF.INSERT fixed ITEMS x y x");
        assert_eq!(client.ask("COPY three copied"), ":1");
        client.call("BF.INSERT inserted CAPACITY 7 ITEMS a b c d e f g h i j k");
        let dump = client.call("DUMP three");
        client.run(&[b"RESTORE", b"restored".as_slice(), b"0", bulk(&dump)]);
        let keys = ["one", "three", "fixed", "copied", "inserted", "restored"];
        assert_eq!(totals(&mut client), sum_of_infos(&mut client, &keys));
        for (known, ours) in KNOWN_NAMES {
            let total = number(&mut client, ours);
            assert!(total > 0 && number(&mut client, known) == total, "{known}");
        }
    });
}

#[test]
fn totals_decrease_with_every_kind_of_deletion() {
    Setup::new().on_each_server(|mut client, _| {
        for line in [
            "DEL one three fixed",
            "UNLINK one three fixed",
            "FLUSHALL SYNC",
            "FLUSHALL ASYNC",
            "FLUSHDB ASYNC",
            "MSET one 1 three 3 fixed 5",
        ] {
            build(&mut client);
            assert_eq!(number(&mut client, "filters"), 3);
            client.call(line);
            until(&format!("the totals to be 0 after {line}"), || {
                (totals(&mut client) == Totals::default()).then_some(())
            });
            client.ok("FLUSHALL SYNC");
        }
        // An expired key is deleted at the latest when a command accesses it.
        let keys = build(&mut client);
        for key in keys {
            assert_eq!(client.ask(&format!("PEXPIRE {key} 1")), ":1");
        }
        until("the filters to expire", || {
            (client.ask("EXISTS one three fixed") == ":0").then_some(())
        });
        until("the totals to be 0", || (totals(&mut client) == Totals::default()).then_some(()));
    });
}

#[test]
fn totals_follow_replaced_filters() {
    Setup::new().on_each_server(|mut client, _| {
        build(&mut client);
        let dump = client.call("DUMP one");
        let one = sum_of_infos(&mut client, &["one"]);
        client.run(&[b"RESTORE", b"three".as_slice(), b"0", bulk(&dump), b"REPLACE"]);
        client.ok("RENAME one fixed");
        let expected = sum_of_infos(&mut client, &["three", "fixed"]);
        assert_eq!(expected.layers, 2 * one.layers);
        // The server may free the replaced filters later in the background.
        until("the totals to be those of two filters", || {
            (totals(&mut client) == expected).then_some(())
        });
        assert_eq!(client.ask("COPY three fixed REPLACE"), ":1");
        until("the totals to be those of two filters", || {
            (totals(&mut client) == expected).then_some(())
        });
        assert_eq!(client.ask("MOVE three 1"), ":1");
        client.ok("SWAPDB 0 1");
        assert_eq!(totals(&mut client), expected);
    });
}

#[test]
fn totals_are_equal_after_a_restart() {
    for_each_server(|kind| {
        for (stop, append) in [(Stop::Save, "no"), (Stop::NoSave, "yes")] {
            let mut server = Setup::new()
                .line(format!("appendonly {append}"))
                .line("aof-use-rdb-preamble no")
                .start(kind);
            build(&mut server.resp2());
            let before = totals(&mut server.resp2());
            server.restart(stop);
            assert_eq!(totals(&mut server.resp2()), before);
        }
    });
}

#[test]
fn totals_are_equal_after_a_reload() {
    Setup::new().debug().on_each_server(|mut client, _| {
        let keys = build(&mut client);
        let before = totals(&mut client);
        for _ in 0..3 {
            client.ok("DEBUG RELOAD");
            // Newer servers free the previous data in the background.
            until("the totals to be as before", || (totals(&mut client) == before).then_some(()));
        }
        assert_eq!(sum_of_infos(&mut client, &keys), before);
    });
}

#[test]
fn a_crash_report_contains_the_section() {
    for_each_server(|kind| {
        // A crash report ends with a test of all memory, which is slow and belongs to the server.
        let mut server = Setup::new().debug().line("crash-memcheck-enabled no").start(kind);
        let mut client = server.resp2();
        build(&mut client);
        client.send(&["DEBUG", "SEGFAULT"]);
        until("the server to end", || (!server.is_running()).then_some(()));
        let log = server.log();
        assert!(log.contains("# bf_bloom") && log.contains("bf_filters:3"), "{log}");
        // This line follows the modules' part, so the report did not end in a second crash.
        assert!(log.contains("BUG REPORT END"), "{log}");
    });
}

#[test]
fn a_full_sync_gives_the_replica_the_primarys_totals() {
    for_each_server(|kind| {
        for load in ["disabled", "swapdb"] {
            let primary = Setup::new().on_tcp().line("repl-diskless-sync yes").start(kind);
            let replica = Setup::new().line(format!("repl-diskless-load {load}")).start(kind);
            let (mut client, mut other) = (primary.resp2(), replica.resp2());
            build(&mut client);
            // The replica's own filters are deleted by the synchronisation.
            client.items("BF.MADD", "one", &numbered("more", 1000));
            build(&mut other);
            other.ok(&format!("REPLICAOF 127.0.0.1 {}", primary.port));
            other.wait_for("master_link_status", "up");
            let expected = totals(&mut client);
            until("the totals to equal the primary's", || {
                (totals(&mut other) == expected).then_some(())
            });
        }
    });
}

#[test]
fn layers_added_by_growth_are_counted() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok("BF.RESERVE three 0.0000001 100");
        assert_eq!(number(&mut client, "layers_added"), 0);
        client.items("BF.MADD", "three", &numbered("item", 500));
        assert_eq!(number(&mut client, "layers_added"), 2);
        // The count is cumulative since the start.
        client.ok("FLUSHALL SYNC");
        assert_eq!(number(&mut client, "layers_added"), 2);
        // The call that creates a filter can make it grow as well.
        client.items("BF.MADD", "created", &numbered("item", 500));
        assert_eq!(client.ask("BF.INFO created FILTERS"), "*[:3]");
        assert_eq!(number(&mut client, "layers_added"), 4);
    });
}

#[test]
fn refused_loads_are_counted_and_logged() {
    Setup::new().on_each_server(|mut client, server| {
        assert_eq!(client.ask("BF.LOADCHUNK k 1 garbage"), "-ERR received bad data");
        assert_eq!(number(&mut client, "loads_refused"), 1);
        let log = server.log();
        assert!(log.contains("BF.LOADCHUNK of 'k' refused: bad header: "), "{log}");
        client.call("BF.ADD k a");
        let dump = client.call("DUMP k");
        // The body ends with the end mark, and the bits precede it.
        let mut body = bulk(&dump)[..bulk(&dump).len() - 8].to_vec();
        // An unknown encoding version: the low ten bits of the identifier, which follows the byte
        // of the type.
        body[9] ^= 0x08;
        let refused = show(&client.run(&[b"RESTORE", b"bad".as_slice(), b"0", &seal_dump(&body)]));
        assert!(refused.starts_with("-ERR"), "{refused}");
        assert_eq!(number(&mut client, "loads_refused"), 2);
        assert_eq!(totals(&mut client), sum_of_infos(&mut client, &["k"]));
    });
}

#[test]
fn module_list_has_redisblooms_version_and_info_ours() {
    Setup::new().on_each_server(|mut client, _| {
        let section = text(&client.call("INFO bf"));
        assert!(
            section.contains(concat!("bf_version:", env!("CARGO_PKG_VERSION"), "\r\n")),
            "{section}"
        );
        // Client libraries check it: Predis, for example, needs at least 20600 to send BF commands.
        let modules = client.ask("MODULE LIST");
        assert!(modules.contains("$2 bf $3 ver :80000"), "{modules}");
    });
}
