//! Filters that earlier releases wrote are loaded, and compacted.

use std::fs;
use std::path::{Path, PathBuf};

use bloomline_harness::{Client, for_each_server, repository};

use crate::filters::{compact, observe};
use crate::inspect::{info_field, with_debug};

/// The headers in a folder of golden files, by their names.
fn names(folder: &str) -> Vec<(String, PathBuf)> {
    let path = repository().join("core/tests/golden").join(folder);
    let entries = fs::read_dir(&path).expect("golden files");
    let mut names: Vec<_> = entries
        .filter_map(|entry| {
            let file = entry.expect("a file").file_name().into_string().expect("a name");
            let name = file.strip_suffix(".header.bin")?;
            Some((name.to_owned(), path.join(name)))
        })
        .collect();
    names.sort();
    names
}

/// Loads a golden filter: its header, then its bits.
fn load(client: &mut Client, key: &str, path: &Path) {
    let read = |suffix| fs::read(path.with_extension(suffix)).expect("a golden file");
    let (header, bits) = (read("header.bin"), read("bits.bin"));
    assert_eq!(client.loadchunk(key, 1, &header), "+OK", "{key}");
    // A chunk holds the bits of one layer. After the header alone they are zeros.
    let (mut rest, mut at) = (&bits[..], 1);
    while !rest.is_empty() {
        let (next, zeros) = client.scandump(key, at);
        let (part, others) = rest.split_at(zeros.len());
        assert_eq!(client.loadchunk(key, next, part), "+OK", "{key} at {next}");
        (rest, at) = (others, next);
    }
    assert_eq!(client.scandump(key, at).0, 0, "{key}");
}

#[test]
fn filters_of_earlier_releases_are_compacted() {
    for_each_server(|kind| {
        let server = with_debug(kind).start(kind);
        let mut client = server.resp2();
        for folder in ["bloomline-v1", "bloomline-v2"] {
            let names = names(folder);
            assert!(names.len() > 6, "{} filters in {folder}", names.len());
            for (name, path) in &names {
                load(&mut client, name, path);
                let size = info_field(&mut client, name, "SIZE");
                let items = client.ask(&format!("BF.CARD {name}"));
                let freed = compact(&mut client, name);
                assert_eq!(info_field(&mut client, name, "SIZE"), size - freed, "{name}");
                assert_eq!(client.ask(&format!("BF.CARD {name}")), items, "{name}");
                assert_eq!(compact(&mut client, name), 0, "{name}");
                client.copy_by_chunks(name, "copy");
                let expected = observe(&mut client, name);
                assert_eq!(observe(&mut client, "copy"), expected, "{name}");
                client.ok("FLUSHALL");
            }
        }
    });
}
