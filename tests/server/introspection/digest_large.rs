//! DEBUG DIGEST of layers above 4 GiB: every byte counts, and untouched pages are not read.

use bloomline_harness::{Client, Setup, report_missing};

use crate::inspect::{digest, layer_bytes};
use crate::redisbloom::forged;

/// The offset of the bit that differs.
const AT: u64 = 100_000_000;

/// The hash of the server counts bytes in 32 bits.
const COUNTED: u64 = 1 << 32;

/// The most physical memory that digests of untouched filters may use.
const MOST_RESIDENT: u64 = 64 << 20;

/// The header of a filter whose layer exceeds 4 GiB by less than [`AT`], so that the bit lies
/// outside of the length modulo 2^32.
fn header(client: &mut Client, layout: &str) -> Vec<u8> {
    if layout == "redisbloom" {
        let small = forged::header(client, "0.01 1000 NONSCALING");
        return forged::with_layer_of(small, COUNTED + 4096);
    }
    client.ok("BF.RESERVE probe 0.01 1000000000 NONSCALING");
    let capacity = 1_000_000_000.0 * COUNTED as f64 / layer_bytes(client, "probe")[0] as f64;
    assert_eq!(client.ask("DEL probe"), ":1");
    client.ok(&format!("BF.RESERVE probe 0.01 {} NONSCALING", (capacity * 1.003) as u64));
    let (_, header) = client.scandump("probe", 0);
    assert_eq!(client.ask("DEL probe"), ":1");
    header
}

/// Makes a filter from the header, sets one bit if any, deletes the filter again, and returns its
/// digest.
fn digest_with(client: &mut Client, header: &[u8], bit: Option<u64>) -> String {
    assert_eq!(forged::load(client, "k", header), "+OK");
    let bytes = layer_bytes(client, "k")[0];
    assert!(bytes > COUNTED && bytes % COUNTED < AT, "{bytes} bytes");
    if let Some(at) = bit {
        assert_eq!(client.loadchunk("k", at as i64 + 9, &1_u64.to_le_bytes()), "+OK");
    }
    let digest = digest(client, "k");
    assert_eq!(client.ask("DEL k"), ":1");
    client.wait_for_frees();
    digest
}

#[test]
fn digests_cover_all_bytes_of_a_layer_above_4_gib() {
    Setup::new().debug().on_each_server(|mut client, server| {
        let before = server.resident();
        for layout in ["bloomline", "redisbloom"] {
            if layout == "redisbloom" && server.kind.is_before_7() {
                // Redis 6.2 refuses such layers.
                continue;
            }
            let header = header(&mut client, layout);
            let reply = forged::load(&mut client, "k", &header);
            if reply.contains("the machine") {
                return report_missing(&server.kind, "memory for a filter above 4 GiB");
            }
            assert_eq!((reply.as_str(), client.ask("DEL k").as_str()), ("+OK", ":1"));
            let untouched = digest_with(&mut client, &header, None);
            assert_eq!(
                digest_with(&mut client, &header, None),
                untouched,
                "{layout}: digests of equal filters differ"
            );
            let last = COUNTED - 8;
            let digests = [AT, AT + 8, AT + (1 << 30), last].map(|at| {
                let digest = digest_with(&mut client, &header, Some(at));
                assert_eq!(
                    digest_with(&mut client, &header, Some(at)),
                    digest,
                    "{layout}: digests of the bit at {at} differ"
                );
                digest
            });
            for (index, digest) in digests.iter().enumerate() {
                assert_ne!(*digest, untouched, "{layout}: a bit did not change the digest");
                assert!(
                    !digests[..index].contains(digest),
                    "{layout}: equal digests of different bits"
                );
            }
        }
        let resident = server.resident().saturating_sub(before);
        assert!(resident < MOST_RESIDENT, "{resident} bytes became resident");
    });
}
