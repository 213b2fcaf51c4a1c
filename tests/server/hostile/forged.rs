//! Forged headers that are valid, and claim what no command makes: layers without memory, more
//! items than numbers count, filters that cannot go on.

use bloomline_harness::{Setup, int, matches, numbered};
use bloomline_reference::forged::ring_at;

use crate::inspect::{Totals, info_field, totals};
use crate::redisbloom::forged::{header, load, with_links};
use crate::windowed::{self, GENERATION_BYTES, GENERATIONS, RATE, present, set_number};

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
        let dump = client.dump("k");
        assert_eq!(client.ask("COPY k copy"), ":1");
        assert_eq!(client.restore("restored", &dump), "+OK");
        let size: u64 =
            ["k", "copy", "restored"].iter().map(|key| info_field(&mut client, key, "SIZE")).sum();
        let grown = server.resident().saturating_sub(before);
        assert!(size > 1_000_000_000 && grown < size / 8, "{grown} bytes are resident of {size}");
    });
}

#[test]
fn items_beyond_the_largest_count_leave_no_total() {
    const HALF: u64 = 1 << 63;
    Setup::new().on_each_server(|mut client, _| {
        let one = header(&mut client, "0.01 100");
        for lens in [&[u64::MAX - 5, 5][..], &[HALF, HALF - 10, 9], &[u64::MAX]] {
            assert_eq!(load(&mut client, "k", &with_links(&one, lens)), "+OK");
            // They do not fit into the number of all items, and the second call adds a layer.
            client.items("BF.MADD", "k", &numbered("few", 50));
            client.items("BF.MADD", "k", &numbered("many", 500));
            // The largest number that the protocol can carry.
            assert_eq!(int(&client.call("BF.CARD k")), i64::MAX);
            client.ok("FLUSHALL SYNC");
            assert_eq!(totals(&mut client), Totals::default(), "{lens:?}");
        }
    });
}

#[test]
fn full_filter_that_cannot_grow_ends_its_reply() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok(&format!("BF.RESERVE made {RATE} 8 LAST GENERATIONS 2 NOREFRESH"));
        client.items("BF.MADD", "made", &numbered("item", 12));
        let mut full = windowed::header(&mut client, "made");
        assert_eq!(present(&full), 3);
        // The newer generations do not hold the items of a window, so the oldest is kept: each of
        // the first two has one item, which is live.
        for at in [0, 1].map(|generation| GENERATIONS + GENERATION_BYTES * generation) {
            set_number(&mut full, at + 8, 1);
            set_number(&mut full, at + 16, 1);
        }
        assert_eq!(client.loadchunk("k", 1, &full), "+OK");
        let full = "*[-ERR non scaling filter is full]";
        for line in ["BF.MADD k a b c", "BF.INSERT k ITEMS a b c"] {
            assert_eq!(client.ask(line), full, "{line}");
            assert_eq!(client.ask("ECHO next"), "$4 next", "{line}");
        }
        client.ok("MULTI");
        assert_eq!(client.ask("BF.MADD k a b c"), "+QUEUED");
        assert_eq!(client.ask("EXEC"), format!("*[{full}]"));
        // A reply that is shorter than its head makes all later scripts fail.
        let script = "redis.pcall('BF.MADD', KEYS[1], 'a', 'b', 'c') return 1";
        for _ in 0..2 {
            assert_eq!(client.ask(&format!("EVAL \"{script}\" 1 k")), ":1");
        }
    });
}

#[test]
fn rotation_without_offsets_left_is_not_called_lack_of_memory() {
    Setup::new().on_shared_servers(|mut client, _| {
        // The bits end near 2^62, the last offset there is, after a few more generations.
        assert_eq!(client.loadchunk("k", 1, &ring_at((1 << 62) - 4096)), "+OK");
        let mut rotations = (0..100).map(|_| client.ask("BF.ROTATE k"));
        let refused = rotations.find(|reply| reply != "+OK").expect("a refusal");
        let expected = "-ERR could not rotate filter: a filter of <n> bytes exceeds a limit";
        assert!(matches(expected, &refused), "{refused}");
    });
}
