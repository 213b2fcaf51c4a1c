//! Rolling upgrades: primary and replica take over the filters of an earlier release unchanged.

use std::fs;
use std::path::{Path, PathBuf};

use bloomline_harness::{Client, Stop, for_each_server, int, numbered, show};

use super::equal::{OTHER_SETTINGS, assert_equal, catch_up, setup};

/// A filter that an earlier release dumped. Its items are the decimal numbers from 0; a
/// windowed filter has the last of them.
struct Golden {
    key: String,
    header: Vec<u8>,
    /// The bits of all layers, oldest first.
    bits: Vec<u8>,
}

/// The golden files of our own layout of every release.
fn golden() -> Vec<Golden> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let read = fs::read_dir(folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
        read.map(|entry| entry.expect("an entry").path()).collect()
    };
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let mut found = Vec::new();
    for release in entries(&Path::new(env!("CARGO_MANIFEST_DIR")).join("core/tests/golden")) {
        if !name(&release).starts_with("bloomline-") {
            continue;
        }
        for path in entries(&release) {
            if let Some(filter) = name(&path).strip_suffix(".header.bin") {
                found.push(Golden {
                    key: format!("{}:{filter}", name(&release)),
                    header: fs::read(&path).expect("a header"),
                    bits: fs::read(release.join(format!("{filter}.bits.bin"))).expect("the bits"),
                });
            }
        }
    }
    assert!(!found.is_empty(), "no golden files");
    found
}

impl Golden {
    /// True for a header of version 2.
    fn is_windowed(&self) -> bool {
        self.header[8] == 2
    }

    /// Where the bits begin: after those of all generations that were dropped.
    fn first_byte(&self) -> usize {
        let dropped = self.header[64..].first_chunk().filter(|_| self.is_windowed());
        dropped.map_or(0, |bytes| u64::from_le_bytes(*bytes) as usize)
    }

    /// Loads the filter as a client does that has dumped it from the earlier release.
    fn load(&self, client: &mut Client) {
        let put = |client: &mut Client, iterator: usize, data: &[u8]| {
            let at = iterator.to_string();
            let loaded = client.run(&[b"BF.LOADCHUNK", self.key.as_bytes(), at.as_bytes(), data]);
            assert_eq!(show(&loaded), "+OK", "{} at {at}", self.key);
        };
        put(client, 1, &self.header);
        let debug = client.ask(&format!("BF.DEBUG {}", self.key));
        let mut end = 0;
        for layer in debug.split("bytes:").skip(1) {
            let len: usize =
                layer.split(' ').next().expect("a word").parse().expect("a number of bytes");
            let start = end;
            end += len;
            put(client, self.first_byte() + end + 1, &self.bits[start..end]);
        }
        assert_eq!(end, self.bits.len(), "{}: other layers", self.key);
    }

    /// Asserts that the filter is dumped as by the earlier release, and has its items.
    fn assert_unchanged(&self, client: &mut Client) {
        let mut at = 0;
        let mut chunks = Vec::new();
        loop {
            let (next, data) = client.scandump(&self.key, at);
            if next == 0 {
                break;
            }
            chunks.push(data);
            at = next;
        }
        assert!(chunks[0] == self.header, "{} has another header", self.key);
        assert!(chunks[1..].concat() == self.bits, "{} has other bits", self.key);
        let len = int(&client.call(&format!("BF.CARD {}", self.key)));
        // More numbers than any of the filters has got.
        let numbers = if self.is_windowed() { 20_000 } else { len };
        if len > 0 {
            let items: Vec<String> = (0..numbers).map(|number| number.to_string()).collect();
            let found = show(&client.items("BF.MEXISTS", &self.key, &items)).matches(":1").count();
            assert!(found as i64 >= len, "{} lost an item: {found} of {len}", self.key);
        }
    }
}

#[test]
fn filters_of_earlier_releases_are_taken_over() {
    let golden = golden();
    for_each_server(|kind| {
        let mut primary = setup(kind).start(kind);
        let replica = setup(kind)
            .module_args(OTHER_SETTINGS)
            .line(format!("replicaof 127.0.0.1 {}", primary.port))
            .start(kind);
        let (mut client, mut follower) = (primary.resp2(), replica.resp2());
        catch_up(&mut client, &mut follower);
        for filter in &golden {
            filter.load(&mut client);
        }
        catch_up(&mut client, &mut follower);
        for filter in &golden {
            filter.assert_unchanged(&mut client);
            filter.assert_unchanged(&mut follower);
        }

        primary.restart(Stop::Save);
        let mut client = primary.resp2();
        for filter in &golden {
            filter.assert_unchanged(&mut client);
            // They continue equally on both sides, and grow if they may.
            client.items("BF.MADD", &filter.key, &numbered("later", 300));
        }
        catch_up(&mut client, &mut follower);
        assert_equal(&mut client, &mut follower);
    });
}
