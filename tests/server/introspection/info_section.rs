//! The INFO sections of the module: their fields, and the number of refusals. What cuckoo filters
//! count: [`super::cuckoo`].

use std::collections::BTreeSet;

use bloomline_harness::{Client, Setup, for_each_server, numbered, seal_dump, until};

use crate::inspect::{number, sum_of_infos, text, totals};

const FIELDS: [&str; 28] = [
    "version",
    "sources",
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
    "compactions_refused",
    "filters_valkey_bloom",
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
fn collectors_of_valkey_bloom_find_the_totals() {
    Setup::new().on_each_server(|mut client, _| {
        build(&mut client);
        assert_eq!((number(&mut client, "filters"), number(&mut client, "layers")), (3, 5));
        for (known, ours) in KNOWN_NAMES {
            let total = number(&mut client, ours);
            assert!(total > 0 && number(&mut client, known) == total, "{known}");
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
        let mut refused = 0;
        for (call, reply, line) in [
            (
                "BF.LOADCHUNK k 1 garbage",
                "-ERR received bad data",
                "BF.LOADCHUNK of 'k' refused: bad header: ",
            ),
            ("CF.LOADCHUNK c 1 garbage", "-Invalid header", "CF.LOADCHUNK of 'c' refused: "),
        ] {
            // There is at most one line per second.
            until(line, || {
                assert_eq!(client.ask(call), reply);
                refused += 1;
                server.log().contains(line).then_some(())
            });
        }
        assert_eq!(number(&mut client, "loads_refused"), refused);
        client.call("BF.ADD k a");
        client.call("CF.ADD c a");
        for (refusals, key, family) in [(refused + 1, "k", "bloom"), (refused + 2, "c", "cuckoo")] {
            let dump = client.dump(key);
            // The body ends with the end mark, and the bits precede it.
            let mut body = dump[..dump.len() - 8].to_vec();
            // The encoding version is the low ten bits of the identifier, which follows the byte of
            // the type.
            assert_eq!(body[9], 4);
            body[9] = 5;
            assert_eq!(client.restore("bad", &seal_dump(&body)), "-ERR Bad data format");
            let line = format!(
                "{family} filter: not loaded: its encoding version is 5, and the newest that this \
                 release reads is 4"
            );
            assert!(server.log().contains(&line), "{}", server.log());
            assert_eq!(number(&mut client, "loads_refused"), refusals);
        }
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
        // What the harness searches for in the file of the module.
        let sources = section.split_once("bf_sources:").expect("the field").1;
        assert!(sources.starts_with(|first: char| first.is_ascii_hexdigit()), "{section}");
        assert_eq!(sources.find("\r\n"), Some(16), "{section}");
        // Client libraries check it: Predis, for example, needs at least 20600 to send BF commands.
        let modules = client.ask("MODULE LIST");
        assert!(modules.contains("$4 name $2 bf $3 ver :80001"), "{modules}");
    });
}

/// The warnings in a log, without numbers, which differ from start to start.
fn warnings(log: &str) -> BTreeSet<String> {
    let text =
        |line: &str| Some(line.split_once(" # ")?.1.replace(|c: char| c.is_ascii_digit(), ""));
    log.lines().filter_map(text).collect()
}

#[test]
fn loading_logs_no_warning() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let without = Setup::new().bare().start(kind);
        assert!(server.log().len() > without.log().len(), "the log names the module");
        assert_eq!(warnings(&server.log()), warnings(&without.log()));
    });
}
