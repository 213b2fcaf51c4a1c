//! BF.SCANDUMP of a sparse filter: chunks without a set bit are left out in our own layout, but not
//! in RedisBloom's.

use bloomline_harness::{Client, Setup, numbered, show};

use crate::inspect::{digest, layer_bytes};

/// Bytes of a full chunk.
const CHUNK: u64 = 16 << 20;

/// The chunks of the filter `k`, without its header: the offset and the bytes of each.
fn chunks(client: &mut Client) -> Vec<(u64, Vec<u8>)> {
    let chunks = client.chunks("k").into_iter().skip(1);
    chunks.map(|(next, data)| (next as u64 - 1 - data.len() as u64, data)).collect()
}

/// Asserts that the chunks of the filter `k` make an equal filter.
fn assert_copied(client: &mut Client) {
    client.copy_by_chunks("k", "copy");
    assert_eq!(digest(client, "copy"), digest(client, "k"));
}

/// Sets eight bits: the byte at offset `at` of all layers.
fn set(client: &mut Client, at: u64) {
    assert_eq!(client.loadchunk("k", at as i64 + 2, b"\xff"), "+OK");
}

/// The offset and the length of each chunk.
fn ranges(chunks: &[(u64, Vec<u8>)]) -> Vec<(u64, u64)> {
    chunks.iter().map(|(start, data)| (*start, data.len() as u64)).collect()
}

/// All chunks of layers of these sizes.
fn all_ranges(layers: &[u64]) -> Vec<(u64, u64)> {
    let mut layer_start = 0;
    let mut ranges = Vec::new();
    for bytes in layers {
        let starts = (0..*bytes).step_by(CHUNK as usize);
        ranges.extend(starts.map(|start| (layer_start + start, CHUNK.min(bytes - start))));
        layer_start += bytes;
    }
    ranges
}

#[test]
fn chunks_of_zeros_are_left_out_of_a_dump() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        // About 100 MB.
        client.ok("BF.RESERVE k 0.01 80000000 NONSCALING");
        let size = layer_bytes(&mut client, "k")[0];
        let (full, last) = (size / CHUNK, size % CHUNK);
        assert!(full >= 5 && last != 0, "{size} bytes");
        // The last chunk is shorter, and is always dumped.
        let end = (full * CHUNK, last);
        let untouched = chunks(&mut client);
        assert_eq!(ranges(&untouched), [end]);
        assert!(untouched[0].1.iter().all(|byte| *byte == 0));

        // Set bits in the first byte of one chunk, and in the last byte of another.
        set(&mut client, CHUNK);
        set(&mut client, 4 * CHUNK - 1);
        assert_eq!(ranges(&chunks(&mut client)), [(CHUNK, CHUNK), (3 * CHUNK, CHUNK), end]);
        // A scan may start at any byte. Chunks of full size follow from there.
        for (from, start) in [(0, CHUNK), (1, 1), (CHUNK, CHUNK), (CHUNK + 1, 3 * CHUNK + 1)] {
            let (next, data) = client.scandump("k", from as i64 + 1);
            let found = (next as u64 - 1 - data.len() as u64, data.len() as u64);
            assert_eq!(found, (start, CHUNK), "from {from}");
        }

        // Each item sets bits in one page.
        let items = numbered("item", 3);
        client.items("BF.MADD", "k", &items);
        let dumped = chunks(&mut client);
        let is_zero = |data: &[u8]| data.iter().all(|byte| *byte == 0);
        for (chunk, range) in dumped.iter().zip(ranges(&dumped)) {
            assert!(range == end || !is_zero(&chunk.1), "zeros at {range:?}");
        }
        assert_copied(&mut client);
        assert_eq!(show(&client.items("BF.MEXISTS", "copy", &items)), "*[:1 :1 :1]");
    });
}

#[test]
fn each_layer_ends_with_its_short_chunk_in_a_dump() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        // A third layer of about 25 MB.
        client.ok("BF.RESERVE k 0.01 20 EXPANSION 800");
        client.items("BF.MADD", "k", &numbered("item", 16_200));
        let layers = layer_bytes(&mut client, "k");
        assert!(layers.len() == 3 && layers[2] > CHUNK, "{layers:?}");
        let (found, all) = (ranges(&chunks(&mut client)), all_ranges(&layers));
        assert!(found.iter().all(|range| all.contains(range)), "{found:?}");
        for short in all.iter().filter(|(_, len)| *len < CHUNK) {
            assert!(found.contains(short), "{short:?} is not in {found:?}");
        }
        assert_copied(&mut client);
    });
}

#[test]
fn a_scan_over_a_gigabyte_of_zeros_ends() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE k 0.01 1500000000 NONSCALING");
        let size = layer_bytes(&mut client, "k")[0];
        assert!(size > 66 * CHUNK, "{size} bytes");
        // One call reads at most 64 chunks, and returns the last of them even if it is zero.
        let steps = ranges(&chunks(&mut client));
        assert_eq!(steps.len() as u64, size.div_ceil(64 * CHUNK), "{steps:?}");
        assert_eq!(steps[0], (63 * CHUNK, CHUNK));
        assert_eq!(steps.last(), Some(&(size / CHUNK * CHUNK, size % CHUNK)));
    });
}

#[test]
fn dumps_in_redisblooms_layout_have_all_chunks() {
    Setup::new().debug().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE k 0.01 40000000 NONSCALING LAYOUT redisbloom");
        let layers = layer_bytes(&mut client, "k");
        assert!(layers[0] > 2 * CHUNK, "{layers:?}");
        assert_eq!(ranges(&chunks(&mut client)), all_ranges(&layers));
        assert_eq!(client.ask("BF.MADD k a b"), "*[:1 :1]");
        assert_eq!(ranges(&chunks(&mut client)), all_ranges(&layers));
        assert_copied(&mut client);
    });
}
