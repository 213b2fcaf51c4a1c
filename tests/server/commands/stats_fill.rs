//! BF.STATS layer_fills and layer_fp_rates: their cost is bounded for every size and number of
//! layers, and small filters are counted exactly.

use bloomline_harness::{Client, Random, Setup, bulk};
use redis::Value;

use crate::inspect::{info_field, layer_bytes};
use crate::redisbloom::forged;

/// The most pages in which bits are counted, plus page faults of the server itself.
const MOST_FAULTS: u64 = 12_000;

/// Bytes per page.
const PAGE: usize = 4096;

/// Makes an untouched filter `k` with this number of layers of `capacity` items each. Returns its
/// bytes.
fn make(client: &mut Client, layout: &str, capacity: usize, layers: u32) -> u64 {
    let header = if layout == "bloomline" {
        client.ok(&format!("BF.RESERVE forged 0.01 {capacity} EXPANSION 1"));
        let (_, mut header) = client.scandump("forged", 0);
        header[20..24].copy_from_slice(&layers.to_le_bytes());
        assert_eq!(client.ask("DEL forged"), ":1");
        header
    } else {
        let one = forged::header(client, &format!("0.01 {capacity}"));
        forged::with_links(&one, &vec![0; layers as usize])
    };
    assert_eq!(client.loadchunk("k", 1, &header), "+OK");
    assert_eq!(info_field(client, "k", "FILTERS"), u64::from(layers));
    info_field(client, "k", "SIZE")
}

#[test]
fn fill_reads_few_pages_of_an_untouched_filter() {
    Setup::new().on_each_server(|mut client, server| {
        let faults = || server.process().page_faults().expect("a running process");
        // Layers of 1 to 4 MB, and as many as possible of 400 kB: more than half a gigabyte each.
        for (layout, capacity, layers) in [
            ("bloomline", 900_000, 250),
            ("bloomline", 80_000, 4096),
            ("redisbloom", 900_000, 600),
            ("redisbloom", 300_000, 4096),
        ] {
            assert!(make(&mut client, layout, capacity, layers) > 500_000_000);
            for field in ["layer_fills", "layer_fp_rates"] {
                let before = faults();
                let reply = client.ask(&format!("BF.STATS k {field}"));
                assert!(!reply.contains('.'), "{reply}");
                let faults = faults() - before;
                assert!(faults <= MOST_FAULTS, "{layout}: {faults} page faults for {field}");
            }
            client.ok("FLUSHALL");
        }
    });
}

/// Fills every layer of `k` with random bits, and returns the exact fraction of set bits in each
/// layer. It differs by about 4 % from page to page, as it does in a filter to which items were
/// added.
fn fill_at_random(client: &mut Client) -> Vec<f64> {
    let (mut random, mut end) = (Random(9), 1);
    let layers = layer_bytes(client, "k").into_iter().map(|size| {
        let mut bits = Vec::new();
        while bits.len() < size as usize {
            let zeros = random.next() % 13;
            for _ in 0..PAGE / 8 {
                let word = if random.next() % 100 < zeros { 0 } else { random.next() };
                bits.extend(word.to_le_bytes());
            }
        }
        bits.truncate(size as usize);
        end += size as i64;
        assert_eq!(client.loadchunk("k", end, &bits), "+OK");
        let ones: u64 = bits.iter().map(|byte| u64::from(byte.count_ones())).sum();
        ones as f64 / (size * 8) as f64
    });
    layers.collect()
}

/// The fill of each layer.
fn fills(client: &mut Client) -> Vec<f64> {
    let Value::Array(reply) = client.call("BF.STATS k layer_fills") else { panic!("an array") };
    let [_, Value::Array(layers)] = reply.as_slice() else { panic!("a name and an array") };
    let number = |layer| String::from_utf8_lossy(bulk(layer)).parse().expect("a number");
    layers.iter().map(number).collect()
}

#[test]
fn fill_is_exact_up_to_16_mib_and_near_above() {
    Setup::new().on_shared_servers(|mut client, _| {
        // The last column is the largest difference. A reply has six digits. Of 40 to 60 MB every
        // third or fourth page is read: 0.005 is more than ten standard errors.
        for (layout, capacity, layers, most) in [
            ("bloomline", 900_000, 7, 1e-6),
            ("redisbloom", 1_500_000, 7, 1e-6),
            ("bloomline", 4_000_000, 9, 0.005),
            ("redisbloom", 4_000_000, 9, 0.005),
        ] {
            let size = make(&mut client, layout, capacity, layers);
            assert!(if most < 1e-5 { size <= 16 << 20 } else { size > 40 << 20 }, "{size}");
            let (exact, reported) = (fill_at_random(&mut client), fills(&mut client));
            assert_eq!(exact.len(), reported.len());
            let difference = exact.iter().zip(&reported).map(|(a, b)| (a - b).abs());
            let difference = difference.fold(0.0, f64::max);
            assert!(difference < most, "{layout}: {reported:?}, {exact:?} counted");
            client.ok("FLUSHALL");
        }
    });
}
