//! BF.SCANDUMP of a sparse filter: chunks without a set bit are left out in our own layout, but not
//! in RedisBloom's.

use bloomline_harness::{Client, Setup};

use crate::inspect::{digest, layer_bytes};

/// Bytes of a full chunk.
const CHUNK: u64 = 16 << 20;

/// The chunks of the filter `k`, without its header: the offset and the bytes of each.
fn chunks(client: &mut Client) -> Vec<(u64, Vec<u8>)> {
    let chunks = client.chunks("k").into_iter().skip(1);
    chunks.map(|(next, data)| (next as u64 - 1 - data.len() as u64, data)).collect()
}

/// Sets eight bits: the byte at offset `at` of all layers.
fn set(client: &mut Client, at: u64) {
    assert_eq!(client.loadchunk("k", at as i64 + 2, b"\xff"), "+OK");
}

/// The offset and the length of each chunk.
fn ranges(chunks: &[(u64, Vec<u8>)]) -> Vec<(u64, u64)> {
    chunks.iter().map(|(start, data)| (*start, data.len() as u64)).collect()
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

        client.copy_by_chunks("k", "copy");
        assert_eq!(digest(&mut client, "copy"), digest(&mut client, "k"));
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
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok("BF.RESERVE k 0.01 40000000 NONSCALING LAYOUT redisbloom");
        let size = layer_bytes(&mut client, "k")[0];
        let all = (0..size).step_by(CHUNK as usize).map(|at| (at, CHUNK.min(size - at)));
        assert_eq!(ranges(&chunks(&mut client)), all.collect::<Vec<_>>());
    });
}
