//! The largest expansion, 32,768: from one item to layers of 2^15 and 2^30 items, and no further.

use bloomline_harness::{Client, bulk, for_newest_servers, int, numbered, show};

use crate::cluster::equal::setup;
use crate::inspect::{info_field, number, totals};

/// Items of the third layer.
const THIRD: u64 = 1 << 30;

/// Items of the first two layers, and a thousand of the third.
const ITEMS: u64 = 1 + 32_768 + 1_000;

/// Adds 1,000 items per call until the third layer holds 1,000; returns the attempted items.
fn fill(client: &mut Client, key: &str) -> Vec<Vec<u8>> {
    let items = numbered("item", ITEMS as usize + 2_000);
    let mut attempted = 0;
    for batch in items.chunks(1000) {
        let added = show(&client.items("BF.MADD", key, batch));
        assert!(!added.contains('-'), "{added}");
        attempted += batch.len();
        if info_field(client, key, "ITEMS") >= ITEMS {
            break;
        }
    }
    items[..attempted].to_vec()
}

/// The header of a filter, changed so that its third layer counts as full.
fn full_header(client: &mut Client, key: &str, layout: &str) -> Vec<u8> {
    let redis::Value::Array(pair) = client.call(&format!("BF.SCANDUMP {key} 0")) else {
        panic!("a pair")
    };
    assert_eq!(int(&pair[0]), 1);
    let mut header = bulk(&pair[1]).to_vec();
    if layout == "bloomline" {
        header[48..56].copy_from_slice(&THIRD.to_le_bytes());
    } else {
        header[..8].copy_from_slice(&(1 + 32_768 + THIRD).to_le_bytes());
        header[142..150].copy_from_slice(&THIRD.to_le_bytes());
    }
    header
}

#[test]
fn growth_by_32768_stops_before_the_fourth_layer() {
    for_newest_servers(|kind| {
        for layout in ["bloomline", "redisbloom"] {
            let mut server = setup().start(kind);
            let mut client = server.resp2();
            client.ok(&format!("BF.RESERVE k 0.01 1 EXPANSION 32768 LAYOUT {layout}"));
            let before = server.resident();
            let items = fill(&mut client, "k");
            assert_eq!(info_field(&mut client, "k", "FILTERS"), 3);
            assert_eq!(info_field(&mut client, "k", "CAPACITY"), 1 + 32_768 + THIRD);
            let size = info_field(&mut client, "k", "SIZE");
            assert!((THIRD * 10 / 8..THIRD * 14 / 8).contains(&size), "{size}");
            let debug = client.ask("BF.DEBUG k");
            for part in
                ["capacity:1 size:1 ", "capacity:32768 size:32768 ", "capacity:1073741824 size:1"]
            {
                assert!(debug.contains(part), "{debug}");
            }
            // Only the pages that items touch are resident, of more than a gigabyte.
            let touched = server.resident().saturating_sub(before);
            assert!(touched < 128 << 20, "{touched} bytes touched");
            for batch in items.chunks(1000) {
                let found = show(&client.items("BF.MEXISTS", "k", batch));
                assert_eq!(found.matches(":1").count(), batch.len(), "{layout} lost items");
            }

            let header = full_header(&mut client, "k", layout);
            let loaded = client.run(&[b"BF.LOADCHUNK", b"full".as_slice(), b"1", &header]);
            assert_eq!(show(&loaded), "+OK");
            assert_eq!(info_field(&mut client, "full", "ITEMS"), 1 + 32_768 + THIRD);
            let before = (
                client.ask("BF.DEBUG full"),
                totals(&mut client),
                client.ask("BF.SCANDUMP full 0"),
            );
            let refused = number(&mut client, "growths_refused");
            let error = "-ERR problem inserting into filter";
            assert_eq!(client.ask("BF.ADD full a"), error);
            assert_eq!(client.ask("BF.MADD full a b"), format!("*[{error} {error}]"));
            assert_eq!(client.ask("BF.INSERT full ITEMS a"), format!("*[{error}]"));
            assert_eq!(client.ask("BF.MEXISTS full a b"), "*[:0 :0]");
            let after = (
                client.ask("BF.DEBUG full"),
                totals(&mut client),
                client.ask("BF.SCANDUMP full 0"),
            );
            assert_eq!(after, before);
            // One item of each call but of BF.MADD, which has two.
            assert_eq!(number(&mut client, "growths_refused") - refused, 4);
            client.assert_answers_ping("the refusals");
            assert!(server.is_running());
        }
    });
}
