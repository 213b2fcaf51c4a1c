//! RedisBloom's own stream of commands makes the filters that RedisBloom would make, and our stream
//! contains only commands that RedisBloom supports.

use bloomline_harness::{Replica, Setup, Stop, append_only_file, arguments, for_each_server};

use super::seen::{assert_recorded, debug};
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

#[test]
fn a_primary_sends_only_commands_that_redisbloom_supports() {
    Setup::new().module_args("bf-layout redisbloom").on_each_server(|mut client, server| {
        let mut replica = Replica::attach(&server);
        for line in [
            "BF.RESERVE k 0.01 2 EXPANSION 3",
            "BF.ADD k a",
            "BF.MADD k a b c d",
            "BF.INSERT made CAPACITY 10 LAYOUT redisbloom ITEMS a b",
            "BF.INSERT made ITEMS b c",
            "BF.RESERVE ns 0.01 1 NONSCALING",
            "BF.MADD ns a b",
        ] {
            client.call(line);
        }
        let lines = replica.lines(&server);
        let creations = lines.iter().filter(|line| line.starts_with("BF.LOADCHUNK")).count();
        assert_eq!(creations, 3, "{lines:?}");
        for line in &lines {
            let name = line.split(' ').next().unwrap();
            let known = ["BF.LOADCHUNK", "BF.ADD", "BF.MADD", "MULTI", "EXEC"];
            assert!(known.contains(&name), "{lines:?}");
        }
    });
}
