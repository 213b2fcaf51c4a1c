//! BF.INFO FILL and FPRATE: their cost is bounded for every size and number of layers, and small
//! filters are counted exactly.

use bloomline_harness::{Client, Random, Server, Setup, bulk, for_each_server, show};
use redis::Value;

use crate::redisbloom::forged;

/// The most pages in which bits are counted, plus page faults of the server itself.
const MOST_FAULTS: u64 = 12_000;

/// Bytes per page.
const PAGE: usize = 4096;

/// The header of a filter in our own layout with this number of layers of `capacity` items each.
fn header_of_layers(client: &mut Client, capacity: usize, layers: u32) -> Vec<u8> {
    client.ok(&format!("BF.RESERVE forged 0.01 {capacity} EXPANSION 1"));
    let (_, mut header) = client.scandump("forged", 0);
    header[20..24].copy_from_slice(&layers.to_le_bytes());
    assert_eq!(client.ask("DEL forged"), ":1");
    header
}

/// Makes an untouched filter `k` with this number of layers of `capacity` items each.
fn make(client: &mut Client, layout: &str, capacity: usize, layers: u32) {
    let header = match layout {
        "bloomline" => header_of_layers(client, capacity, layers),
        _ => {
            let one = forged::header(client, &format!("0.01 {capacity}"));
            forged::with_links(&one, &vec![0; layers as usize])
        }
    };
    assert_eq!(forged::load(client, "k", &header), "+OK");
    assert_eq!(client.ask("BF.INFO k FILTERS"), format!("*[:{layers}]"));
}

/// Page faults of a server so far that needed no disk.
fn faults(server: &Server) -> u64 {
    server.process().page_faults().expect("a running process")
}

#[test]
fn fill_reads_few_pages_of_an_untouched_filter() {
    for_each_server(|kind| {
        // Layers of 1 to 4 MB, and as many as possible of 400 kB: more than a gigabyte each time.
        for (layout, capacity, layers) in [
            ("bloomline", 900_000, 250),
            ("bloomline", 80_000, 4096),
            ("redisbloom", 900_000, 600),
            ("redisbloom", 300_000, 4096),
        ] {
            let server = Setup::new().start(kind);
            let mut client = server.resp2();
            make(&mut client, layout, capacity, layers);
            assert!(size(&mut client) > 500_000_000);
            for field in ["FILL", "FPRATE"] {
                let before = faults(&server);
                let reply = client.ask(&format!("BF.INFO k {field}"));
                assert!(!reply.contains('.'), "{reply}");
                let faults = faults(&server) - before;
                assert!(faults <= MOST_FAULTS, "{layout}: {faults} page faults for {field}");
            }
        }
    });
}

/// The bytes of the filter.
fn size(client: &mut Client) -> u64 {
    crate::inspect::info_field(client, "k", "SIZE")
}

/// Fills every layer of `k` with random bits, and returns the exact share of set bits in each
/// layer. The share differs by about 4 % from page to page, as it does in a filter to which items
/// were added.
fn fill_at_random(client: &mut Client) -> Vec<f64> {
    const CHUNK: usize = 4 << 20;
    let mut random = Random(9);
    let debug = client.ask("BF.DEBUG k");
    let sizes = debug.split("bytes:").skip(1).map(|rest| rest.split(' ').next().expect("a size"));
    let (mut shares, mut at) = (Vec::new(), 0);
    for size in sizes.map(|size| size.parse::<usize>().expect("bytes")) {
        let (mut ones, mut left) = (0, size);
        while left > 0 {
            let mut chunk = Vec::new();
            while chunk.len() < left.min(CHUNK) {
                let zeros = random.next() % 13;
                for _ in 0..PAGE / 8 {
                    let word = if random.next() % 100 < zeros { 0 } else { random.next() };
                    chunk.extend(word.to_le_bytes());
                }
            }
            chunk.truncate(left);
            ones += chunk.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
            at += chunk.len();
            left -= chunk.len();
            let iterator = (at + 1).to_string();
            let loaded =
                client.run(&[b"BF.LOADCHUNK", b"k".as_slice(), iterator.as_bytes(), &chunk]);
            assert_eq!(show(&loaded), "+OK");
        }
        shares.push(ones as f64 / (size * 8) as f64);
    }
    shares
}

/// The share of set bits in each layer, counted in the chunks of BF.SCANDUMP. Every layer has one
/// chunk.
fn counted(client: &mut Client) -> Vec<f64> {
    let (mut shares, mut iterator) = (Vec::new(), 1);
    loop {
        let (next, bits) = client.scandump("k", iterator);
        iterator = next;
        if iterator == 0 {
            return shares;
        }
        let ones: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
        shares.push(f64::from(ones) / (bits.len() * 8) as f64);
    }
}

/// The numbers of BF.INFO FILL.
fn fills(client: &mut Client) -> Vec<f64> {
    let Value::Array(reply) = client.call("BF.INFO k FILL") else { panic!("an array") };
    let [Value::Array(layers)] = reply.as_slice() else { panic!("an array of one") };
    layers
        .iter()
        .map(|layer| String::from_utf8_lossy(bulk(layer)).parse().expect("a number"))
        .collect()
}

/// The largest difference between two lists of equal length.
fn difference(one: &[f64], other: &[f64]) -> f64 {
    assert_eq!(one.len(), other.len());
    one.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn fill_is_exact_up_to_16_mib() {
    Setup::new().on_each_server(|mut client, _| {
        for layout in ["bloomline", "redisbloom"] {
            // Seven layers, the largest of about 2 MB.
            make(&mut client, layout, if layout == "bloomline" { 900_000 } else { 1_500_000 }, 7);
            assert!(size(&mut client) <= 16 << 20);
            let exact = fill_at_random(&mut client);
            assert!(difference(&exact, &counted(&mut client)) < 1e-12);
            let reported = fills(&mut client);
            // The reply has six digits.
            assert!(
                difference(&reported, &exact) < 1e-6,
                "{layout}: {reported:?}, {exact:?} counted"
            );
            assert_eq!(client.ask("DEL k"), ":1");
        }
    });
}

#[test]
fn fill_above_16_mib_differs_by_at_most_0_005() {
    Setup::new().on_shared_servers(|mut client, _| {
        for layout in ["bloomline", "redisbloom"] {
            // 40 to 60 MB, of which every third or fourth page is read: 0.005 is more than ten
            // standard errors.
            make(&mut client, layout, 4_000_000, 9);
            assert!(size(&mut client) > 40 << 20);
            let exact = fill_at_random(&mut client);
            let reported = fills(&mut client);
            let difference = difference(&reported, &exact);
            assert!(difference < 0.005, "{layout}: {reported:?}, {exact:?} counted");
            assert_eq!(client.ask("DEL k"), ":1");
        }
    });
}
