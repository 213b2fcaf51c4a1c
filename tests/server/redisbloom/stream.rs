//! RedisBloom's own stream of commands makes the filters that RedisBloom would make, and our stream
//! contains only commands that RedisBloom supports.

use bloomline_harness::{
    Replica, Setup, Stop, append_only_file, arguments, for_each_server, until,
};

use super::seen::{assert_recorded, debug};
use crate::valkey_bloom::primary::{EMPTY, serve};
use bloomline_reference::fixture::fixtures;

#[test]
fn an_aof_of_redisbloom_makes_the_recorded_filters() {
    for_each_server(|kind| {
        let fixtures = fixtures();
        let mut file = append_only_file(&[arguments("SELECT 0")]);
        for fixture in &fixtures {
            let name = fixture.name.as_bytes();
            if let Some(create) = fixture.create() {
                file.extend(append_only_file(&[create]));
            }
            if let Some(header) = fixture.created_from_header() {
                file.extend(append_only_file(&[[b"BF.LOADCHUNK", name, b"1", &header]]));
            }
            for group in fixture.items().chunks(100) {
                let mut call = vec![b"BF.MADD".to_vec(), name.to_vec()];
                call.extend_from_slice(group);
                file.extend(append_only_file(&[call]));
            }
        }
        for line in [
            "BF.RESERVE bogus 0.01 100 whatever",
            "BF.ADD added x",
            "BF.MADD many x y",
            "BF.INSERT letters cxyz 7 erzzz 0.1 ezzz 3 noXX ixx a b",
        ] {
            file.extend(append_only_file(&[arguments(line)]));
        }
        for layout in ["bloomline", "redisbloom"] {
            let mut server = Setup::new()
                .module_args(&format!("bf-layout {layout}"))
                .append_file(file.clone())
                .start(kind);
            for _ in 0..2 {
                let mut client = server.resp2();
                for fixture in &fixtures {
                    assert_recorded(&mut client, &fixture.name, fixture);
                }
                for (key, items) in [("bogus", 0), ("added", 1), ("many", 2)] {
                    let layer = format!(
                        "bytes:144 bits:1152 hashes:8 hashwidth:64 capacity:100 size:{items} ratio:0.005"
                    );
                    assert_eq!(debug(&mut client, key), [format!("size:{items}"), layer], "{key}");
                }
                assert_eq!(
                    debug(&mut client, "letters"),
                    ["size:2", "bytes:8 bits:64 hashes:4 hashwidth:64 capacity:7 size:2 ratio:0.1"]
                );
                assert_eq!(client.ask("BF.INFO letters EXPANSION"), "*[_]");
                server.restart(Stop::NoSave);
            }
        }
    });
}

/// Calls that create a filter, by its family.
const CREATIONS: [(&str, &[&str]); 2] = [
    (
        "BF",
        &[
            "BF.RESERVE k 0.01 100",
            "BF.ADD k a",
            "BF.MADD k a b",
            "BF.INSERT k ITEMS a",
            "BF.INSERT k CAPACITY 5 EXPANSION 3 ITEMS a b",
            "BF.BULKADD k LINES a",
            "BF.RESERVE k 0.01 100 LAYOUT redisbloom TTL 1000",
            "BF.RESERVE k 0.01 100 LAYOUT bloomline WINDOW 1000",
        ],
    ),
    (
        "CF",
        &[
            "CF.RESERVE k 100",
            "CF.ADD k a",
            "CF.ADDNX k a",
            "CF.INSERT k CAPACITY 100 ITEMS a b",
            "CF.INSERTNX k ITEMS a",
            "CF.BULKADD k LINES a",
            "CF.RESERVE k 100 LAYOUT redisbloom TTL 1000",
        ],
    ),
];

/// So a plain creation in a stream can only be RedisBloom's.
#[test]
fn creations_are_sent_as_headers_in_every_layout() {
    for_each_server(|kind| {
        for layout in ["bloomline", "redisbloom", "valkey-bloom"] {
            let cuckoo = if layout == "redisbloom" { layout } else { "bloomline" };
            let args = format!("bf-layout {layout} cf-layout {cuckoo}");
            let server = Setup::new().module_args(&args).start(kind);
            let (mut client, mut link) = (server.resp2(), Replica::attach(&server));
            for (family, line) in CREATIONS
                .iter()
                .flat_map(|(family, lines)| lines.iter().map(move |line| (family, line)))
            {
                assert!(!client.ask(line).starts_with('-'), "{line}");
                let first = link.writes(&server).remove(0);
                let header = first == format!("{family}.LOADCHUNK k 1 <data>");
                // valkey-bloom's creation has options that RedisBloom does not know.
                let of_valkey = first.starts_with("BF.INSERT k CAPACITY ")
                    && first.contains(" TIGHTENING 0.5 SEED ");
                let is_of_valkey =
                    (layout, *family) == ("valkey-bloom", "BF") && !line.contains("LAYOUT");
                assert!(if is_of_valkey { of_valkey } else { header }, "{args}: {line}: {first}");
                client.call("DEL k");
                link.writes(&server);
            }
        }
    });
}

#[test]
fn plain_creations_of_a_primary_make_redisblooms_filters() {
    for_each_server(|kind| {
        let lines: Vec<_> = [
            "SELECT 0",
            "BF.RESERVE reserved 0.01 100 whatever",
            "BF.ADD added x",
            "BF.MADD many x y",
            "BF.INSERT letters cxyz 7 erzzz 0.1 ezzz 3 noXX ixx a b",
            "CF.RESERVE c:reserved 100 something 3",
            "CF.ADD c:added x",
            "CF.ADDNX c:new x",
            "CF.INSERT c:inserted cap 40 ITEMS x y",
            "CF.INSERTNX c:inserted:new ITEMS x y",
        ]
        .map(arguments)
        .into();
        let port = serve(EMPTY, &append_only_file(&lines));
        let replica = Setup::new()
            .module_args("bf-layout valkey-bloom cf-layout bloomline")
            .on_tcp()
            .line(format!("replicaof 127.0.0.1 {port}"))
            .start(kind);
        let mut client = replica.resp2();
        until("the stream to arrive", || {
            (client.ask("EXISTS c:inserted:new") == ":1").then_some(())
        });
        for words in &lines[1..] {
            let (name, key) = (words[0].escape_ascii(), words[1].escape_ascii());
            let family = &name.to_string()[..2];
            let layout = match family {
                "BF" => client.ask(&format!("BF.STATS {key} layout")),
                _ => client.ask(&format!("CF.INFO {key} LAYOUT")),
            };
            assert!(layout.contains("$10 redisbloom"), "{name} {key}: {layout}");
        }
    });
}

#[test]
fn a_primary_sends_only_commands_that_redisbloom_supports() {
    let setup = Setup::new().module_args("bf-layout redisbloom cf-layout redisbloom");
    setup.on_each_server(|mut client, server| {
        let mut replica = Replica::attach(&server);
        for line in [
            "BF.RESERVE k 0.01 2 EXPANSION 3",
            "BF.ADD k a",
            "BF.MADD k a b c d",
            "BF.BULKADD k LINES \"e\\nf\"",
            "BF.INSERT made CAPACITY 10 LAYOUT redisbloom ITEMS a b",
            "BF.INSERT made TTL 1000 ITEMS b c",
            "BF.RESERVE ns 0.01 1 NONSCALING TTL 1000",
            "BF.MADD ns a b",
            "CF.RESERVE c 100 TTL 1000",
            "CF.INSERT c CAPACITY 100 ITEMS a b c d e f",
            "CF.INSERTNX c NOCREATE ITEMS a g",
            "CF.BULKADD c FIXED 1 hi",
            "CF.MDEL c a b x",
            "CF.BULKDEL c FIXED 1 cd",
            "CF.COMPACT c",
        ] {
            assert!(!client.ask(line).starts_with('-'), "{line}");
        }
        let lines = replica.writes(&server);
        let count = |name: &str| lines.iter().filter(|line| line.starts_with(name)).count();
        let known = [
            ("BF.LOADCHUNK ", 3),
            ("BF.ADD ", 3),
            ("BF.MADD ", 3),
            ("CF.LOADCHUNK ", 1),
            ("CF.INSERT ", 2),
            ("CF.ADD ", 1),
            ("CF.DEL ", 4),
            ("CF.COMPACT ", 1),
            ("PEXPIREAT ", 2),
        ];
        for (name, times) in known {
            assert_eq!(count(name), times, "{name}: {lines:?}");
        }
        assert_eq!(lines.len(), known.iter().map(|(_, times)| times).sum::<usize>(), "{lines:?}");
    });
}
