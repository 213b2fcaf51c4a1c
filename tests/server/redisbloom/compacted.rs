//! RedisBloom's layout: a compacted filter is dumped with a header that RedisBloom can load.

use bloomline_harness::{Client, Setup, numbered, show};

use crate::filters::{compact, observe};
use crate::inspect::info_field;

/// Bytes of RedisBloom's header before its links, and of each link.
const HEAD: usize = 20;
const LINK: usize = 53;

/// The numbers of a link in the header, by the offsets in `docs/format.md`.
#[derive(Debug)]
struct Link {
    bytes: u64,
    bits: u64,
    items: u64,
    error: f64,
    bits_per_item: f64,
    hashes: u32,
    capacity: u64,
    log2_bits: u8,
}

fn link(bytes: &[u8]) -> Link {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    Link {
        bytes: number(0),
        bits: number(8),
        items: number(16),
        error: f64::from_bits(number(24)),
        bits_per_item: f64::from_bits(number(32)),
        hashes: u32::from_le_bytes(bytes[40..44].try_into().expect("4 bytes")),
        capacity: number(44),
        log2_bits: bytes[52],
    }
}

fn links(client: &mut Client, key: &str) -> Vec<Link> {
    let header = client.scandump(key, 0).1;
    assert!((header.len() - HEAD).is_multiple_of(LINK), "{} bytes", header.len());
    header[HEAD..].chunks(LINK).map(link).collect()
}

#[test]
fn the_header_of_a_compacted_filter_is_valid() {
    Setup::new().debug().on_each_server(|mut client, _| {
        // Numbers of words that have many divisors.
        for (options, items) in [
            ("0.001 40778", 0),
            ("0.001 40778", 5000),
            ("0.01 1000", 4000),
            ("0.001 44869 NONSCALING", 5000),
            ("0.00001 38089 EXPANSION 4", 100),
        ] {
            client.ok(&format!("BF.RESERVE k {options} LAYOUT redisbloom"));
            client.items("BF.MADD", "k", &numbered("item", items));
            let before = links(&mut client, "k");
            assert!(compact(&mut client, "k") > 0, "{options}");
            let after = links(&mut client, "k");
            assert_eq!(after.len(), before.len());
            let last = after.len() - 1;
            for (index, (old, new)) in before.iter().zip(&after).enumerate() {
                assert_eq!(new.bytes * 8, new.bits, "{new:?}");
                assert!(old.bits.is_multiple_of(new.bits) && new.bits % 64 == 0, "{new:?}");
                assert_eq!(new.bits < old.bits, index == last, "{new:?}");
                assert_eq!((new.items, new.hashes), (old.items, old.hashes));
                assert_eq!(new.error.to_bits(), old.error.to_bits());
                assert_eq!(new.bits_per_item.to_bits(), old.bits_per_item.to_bits());
                assert!(new.capacity >= new.items.max(1) && new.capacity <= old.capacity);
                // What RedisBloom computes for a link: enough bits for its capacity.
                assert!(new.capacity as f64 * new.bits_per_item <= new.bits as f64, "{new:?}");
                assert!(new.log2_bits == 0 || 1 << new.log2_bits == new.bits, "{new:?}");
            }
            // The header is loaded again, and by a server of which this is the own layout.
            client.copy_by_chunks("k", "copy");
            let expected = observe(&mut client, "k");
            assert_eq!(observe(&mut client, "copy"), expected);
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn a_compacted_filter_has_the_bits_of_a_smaller_one() {
    Setup::new().debug().on_each_server(|mut client, _| {
        let items = numbered("item", 3000);
        client.ok("BF.RESERVE k 0.001 64000 NONSCALING LAYOUT redisbloom");
        client.items("BF.MADD", "k", &items);
        assert!(compact(&mut client, "k") > 0);
        // A filter that was created with so many bits gets the same ones by the same items.
        let header = client.scandump("k", 0).1;
        assert_eq!(client.loadchunk("twin", 1, &header), "+OK");
        let capacity = info_field(&mut client, "k", "CAPACITY");
        assert_eq!(info_field(&mut client, "twin", "CAPACITY"), capacity);
        // The header counts the items already, so a header with none is needed.
        let mut empty = header;
        empty[..8].fill(0);
        empty[HEAD + 16..HEAD + 24].fill(0);
        assert_eq!(client.ask("DEL twin"), ":1");
        assert_eq!(client.loadchunk("twin", 1, &empty), "+OK");
        for part in items.chunks(1000) {
            client.items("BF.MADD", "twin", part);
        }
        let (next, bits) = client.scandump("k", 1);
        assert!(client.scandump("twin", 1) == (next, bits), "other bits");
        for name in ["item", "absent"] {
            let [one, other] = ["k", "twin"]
                .map(|key| show(&client.items("BF.MEXISTS", key, &numbered(name, 3000))));
            assert_eq!(one, other);
        }
    });
}
