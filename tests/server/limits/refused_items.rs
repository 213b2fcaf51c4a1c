//! A call whose many items a limit refuses: every item gets a reply and is counted, and `maxmemory`
//! refuses as fast as other limits, although the module must query the server for it.

use bloomline_harness::{Client, Setup, for_each_server, matches, numbered};
use redis::Value;

use crate::inspect::number;

/// Items of the refused call.
const ITEMS: usize = 200_000;

/// How often a call is measured. The fastest counts.
const TIMES: usize = 3;

/// A full filter of one layer, whose next layer takes 250 MB.
fn about_to_grow(client: &mut Client) {
    client.ok("BF.RESERVE k 0.000000001 1000 EXPANSION 32768 SEED 7");
    client.items("BF.MADD", "k", &numbered("item", 1000));
}

/// The time of one BF.MADD in microseconds; every item is refused.
fn time_of_refused_call(client: &mut Client, items: &[Vec<u8>]) -> u64 {
    let before = number(client, "growths_refused");
    client.ok("CONFIG RESETSTAT");
    let Value::Array(answers) = client.items("BF.MADD", "k", items) else { panic!("an array") };
    assert_eq!(answers.len(), items.len());
    assert!(
        answers.iter().all(|answer| matches!(answer, Value::ServerError(_))),
        "an item was added"
    );
    assert_eq!(number(client, "growths_refused"), before + items.len() as u64);
    let stats = client.info("cmdstat_bf.madd");
    let time = stats.split(',').find_map(|field| field.strip_prefix("usec="));
    time.and_then(|time| time.parse().ok()).unwrap_or_else(|| panic!("no time in {stats}"))
}

fn fastest(client: &mut Client, items: &[Vec<u8>]) -> u64 {
    (0..TIMES).map(|_| time_of_refused_call(client, items)).min().expect("several")
}

#[test]
fn maxmemory_refuses_many_items_as_fast_as_other_limits() {
    for_each_server(|kind| {
        let items = numbered("new", ITEMS);
        let limited = Setup::new().module_args("bf-max-filter-bytes 100mb").start(kind);
        let mut client = limited.resp2();
        about_to_grow(&mut client);
        let by_filter_bytes = fastest(&mut client, &items);

        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        about_to_grow(&mut client);
        // The limit leaves room for the call, which takes 30 MB, but not for the layer.
        client.ok("CONFIG SET maxmemory 150mb");
        let by_maxmemory = fastest(&mut client, &items);
        assert!(
            by_maxmemory <= 5 * by_filter_bytes,
            "{by_maxmemory} us by maxmemory, {by_filter_bytes} us by bf-max-filter-bytes"
        );
        let line = "<any>growth of filter 'k' refused: its new layers need <n> bytes, maxmemory 157286400 \
                    leaves <n><any>";
        assert!(matches(line, &server.log()), "{}", server.log());
    });
}
