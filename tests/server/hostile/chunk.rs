//! BF.LOADCHUNK with headers that are foreign or expensive.

use bloomline_harness::{Client, Setup, bulk, show};

use super::assert_works;
use crate::inspect::info_field;

/// Loads any header. A filter that it makes must work.
fn assert_refused_or_works(client: &mut Client, header: &[u8], what: &str) {
    let reply = client.loadchunk("k", 1, header);
    client.assert_answers_ping(what);
    if reply == "+OK" {
        assert_works(client, "k", what);
    } else {
        assert!(reply.starts_with("-ERR"), "{what}: {reply}");
        assert_eq!(client.ask("EXISTS k"), ":0", "{what}");
    }
}

/// A server with a limit, so that a damaged header cannot request gigabytes, which DUMP would copy.
fn limited() -> Setup {
    Setup::new().module_args("bf-max-filter-bytes 16mb")
}

#[test]
fn headers_of_many_layers_take_little_memory() {
    /// Where the number of layers stands in a header.
    const LAYERS: usize = 20;
    Setup::new().on_each_server(|mut client, server| {
        client.ok("BF.RESERVE one 0.25 100000 EXPANSION 1");
        let mut header = client.scandump("one", 0).1;
        header[LAYERS..LAYERS + 4].copy_from_slice(&1_000_u32.to_le_bytes());
        let before = server.resident();
        assert_eq!(client.loadchunk("k", 1, &header), "+OK");
        let dump = client.call("DUMP k");
        assert_eq!(client.ask("COPY k copy"), ":1");
        let restored = client.run(&[b"RESTORE", b"restored".as_slice(), b"0", bulk(&dump)]);
        assert_eq!(show(&restored), "+OK");
        let size: u64 =
            ["k", "copy", "restored"].iter().map(|key| info_field(&mut client, key, "SIZE")).sum();
        let grown = server.resident().saturating_sub(before);
        assert!(size > 1_000_000_000 && grown < size / 8, "{grown} bytes are resident of {size}");
    });
}

/// A RedisBloom header of one layer: 20 bytes of filter, 53 of layer, little-endian.
struct Foreign {
    total: u64,
    layers: u32,
    options: u32,
    bytes: u64,
    bits: u64,
    size: u64,
    error: f64,
    bits_per_item: f64,
    hashes: u32,
    entries: u64,
    n2: u8,
}

impl Foreign {
    /// The header of `BF.RESERVE k .01 100` after one BF.ADD.
    fn sound() -> Self {
        Foreign {
            total: 1,
            layers: 1,
            options: 5,
            bytes: 144,
            bits: 1152,
            size: 1,
            error: 0.005,
            bits_per_item: 11.027_754_391_170_62,
            hashes: 8,
            entries: 100,
            n2: 0,
        }
    }

    fn encode(&self) -> Vec<u8> {
        [
            &self.total.to_le_bytes()[..],
            &self.layers.to_le_bytes(),
            &self.options.to_le_bytes(),
            &2_u32.to_le_bytes(),
            &self.bytes.to_le_bytes(),
            &self.bits.to_le_bytes(),
            &self.size.to_le_bytes(),
            &self.error.to_le_bytes(),
            &self.bits_per_item.to_le_bytes(),
            &self.hashes.to_le_bytes(),
            &self.entries.to_le_bytes(),
            &[self.n2],
        ]
        .concat()
    }
}

#[test]
fn foreign_headers_with_impossible_numbers_are_bad_data() {
    let sound = Foreign::sound;
    // The core's tests know all the numbers that are refused.
    let impossible = [
        ("no layer", Foreign { layers: 0, ..sound() }),
        ("more bits than bytes hold", Foreign { bits: 1160, ..sound() }),
        ("a total that does not add up", Foreign { total: 2, ..sound() }),
    ];
    limited().on_each_server(|mut client, _| {
        for (what, header) in &impossible {
            assert_eq!(
                client.loadchunk("k", 1, &header.encode()),
                "-ERR received bad data",
                "{what}"
            );
            client.assert_answers_ping(what);
        }
        assert_eq!(client.ask("DBSIZE"), ":0");
    });
}

#[test]
fn foreign_headers_cannot_make_one_call_take_seconds() {
    let sound = Foreign::sound;
    limited().on_each_server(|mut client, _| {
        for (what, header) in [
            (
                "two thousand million hashes",
                Foreign { bits_per_item: 2.9e9, hashes: 2_010_126_824, ..sound() },
            ),
            (
                "twenty million hashes",
                Foreign { bits_per_item: 3e7, hashes: 20_794_416, ..sound() },
            ),
            ("an error rate of NaN", Foreign { error: f64::NAN, ..sound() }),
            ("an unlimited capacity", Foreign { entries: u64::MAX, ..sound() }),
            ("a filter as RedisBloom makes it", sound()),
        ] {
            // 200 lookups of seconds each would exceed the deadline of the connection.
            assert_refused_or_works(&mut client, &header.encode(), what);
        }
    });
}
