//! Links whose items exceed 2^64 - 1 in total. Such a header is refused. Such a value in a file is
//! repaired, because a refused file would prevent the start of a server.

use bloomline_harness::{Client, Setup, Stop, bulk, for_each_server, int, numbered, show};

use crate::inspect::{Totals, digest, number, totals};
use crate::redisbloom::forged::{header, load, with_links};

use super::value::{payload_of_links, restore};
use bloomline_reference::forged::overflowing_header;

const HALF: u64 = 1 << 63;

/// The reply for a number that a signed integer cannot hold.
const LARGEST: i64 = i64::MAX;

#[test]
fn headers_whose_items_overflow_are_bad_data() {
    Setup::new().on_each_server(|mut client, _| {
        let one = header(&mut client, "0.01 100");
        let before = number(&mut client, "loads_refused");
        let headers = [
            overflowing_header(),
            with_links(&one, &[HALF, HALF]),
            with_links(&one, &[u64::MAX, 1]),
            with_links(&one, &[1, u64::MAX]),
        ];
        for header in &headers {
            assert_eq!(load(&mut client, "k", header), "-ERR received bad data");
            assert_eq!(client.ask("EXISTS k"), ":0");
        }
        assert_eq!(number(&mut client, "loads_refused"), before + headers.len() as u64);
        assert_eq!(totals(&mut client), Totals::default());
        // The largest count is accepted and dumped again.
        for lens in [&[HALF, HALF - 1][..], &[u64::MAX]] {
            let header = with_links(&one, lens);
            assert_eq!(load(&mut client, "k", &header), "+OK");
            assert_eq!(int(&client.call("BF.CARD k")), LARGEST);
            let redis::Value::Array(pair) = client.call("BF.SCANDUMP k 0") else {
                panic!("a pair")
            };
            assert_eq!(bulk(&pair[1]), header);
            assert_eq!(client.ask("DEL k"), ":1");
        }
        assert_eq!(totals(&mut client), Totals::default());
    });
}

#[test]
fn items_beyond_the_largest_count_leave_no_total() {
    Setup::new().on_each_server(|mut client, _| {
        let one = header(&mut client, "0.01 100");
        for lens in [&[u64::MAX - 5, 5][..], &[HALF, HALF - 10, 9], &[u64::MAX]] {
            assert_eq!(load(&mut client, "k", &with_links(&one, lens)), "+OK");
            // They do not fit into the number of all items, and the second call adds a layer.
            client.items("BF.MADD", "k", &numbered("few", 50));
            client.items("BF.MADD", "k", &numbered("many", 500));
            assert_eq!(int(&client.call("BF.CARD k")), LARGEST);
            client.ok("FLUSHALL SYNC");
            assert_eq!(totals(&mut client), Totals::default(), "{lens:?}");
        }
    });
}

/// Asserts that the filter `k` works and reports the largest count.
fn assert_counts_all(client: &mut Client) {
    assert_eq!(int(&client.call("BF.CARD k")), LARGEST);
    assert_eq!(client.ask("BF.INFO k FILTERS"), "*[:2]");
    client.assert_answers_ping("the repaired filter");
}

#[test]
fn values_whose_items_overflow_are_repaired() {
    for_each_server(|kind| {
        for lens in [[HALF, HALF], [u64::MAX, 10], [10, u64::MAX]] {
            let mut server =
                Setup::new().debug().append_only().line("appendfsync always").start(kind);
            let mut client = server.resp2();
            let payload = payload_of_links(&mut client, &lens);
            assert_eq!(restore(&mut client, &payload), "+OK");
            assert_counts_all(&mut client);
            // Everything it saves is valid: payloads, files, commands, header and chunks.
            let before = digest(&mut client, "k");
            let dump = client.dump("k");
            client.ok("DEBUG RELOAD");
            assert_eq!(digest(&mut client, "k"), before);
            assert_eq!(client.ask("DEL k"), ":1");
            assert_eq!(restore(&mut client, &dump), "+OK");
            assert_eq!(digest(&mut client, "k"), before);
            client.rewrite_append_only_file();
            server.restart(Stop::NoSave);
            let mut client = server.resp2();
            assert_eq!(digest(&mut client, "k"), before, "{lens:?}: after a rewrite");
            assert_counts_all(&mut client);
            let redis::Value::Array(pair) = client.call("BF.SCANDUMP k 0") else {
                panic!("a pair")
            };
            assert_eq!(load(&mut client, "loaded", bulk(&pair[1])), "+OK");
            // BF.DEBUG shows the counts that are saved.
            assert_eq!(client.ask("BF.DEBUG loaded"), client.ask("BF.DEBUG k"));
            let found = show(&client.call("BF.ADD k another"));
            assert!(
                !found.starts_with(":-") && client.ask("BF.EXISTS k another") == ":1",
                "{found}"
            );
            client.call("DEL k loaded");
            client.wait_for_frees();
            assert_eq!(totals(&mut client), Totals::default());
            let log = server.log();
            let line = format!("repaired: {} items in the links, 7 in the sum", u64::MAX);
            assert_eq!(
                (log.matches("repaired").count(), log.matches(&line).count()),
                (1, 1),
                "{log}"
            );
        }
    });
}
