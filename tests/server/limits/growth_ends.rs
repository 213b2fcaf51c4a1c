//! A filter that cannot grow any more, for whatever reason: each refused item is counted, the log
//! names the reason, and nothing has changed.

use bloomline_harness::{Client, Setup, for_each_server, matches, numbered, show, until};

use crate::filters::Family;
use crate::inspect::{digest, number};

/// How a filter is reserved, load arguments, the reply to an item that is refused, and the reason
/// in the log.
const ENDS: [(&str, &str, &str, &str); 7] = [
    (
        "BF.RESERVE k 2e-14 10 EXPANSION 1",
        "",
        "-ERR problem inserting into filter",
        "a layer error rate of <any> is below the minimum of this layout",
    ),
    (
        "BF.RESERVE k 0.25 1 EXPANSION 1",
        "",
        "-ERR problem inserting into filter",
        "the filter has 4096 layers, the most there can be",
    ),
    (
        "BF.RESERVE k 0.01 1 EXPANSION 1 LAYOUT REDISBLOOM",
        "",
        "-ERR problem inserting into filter",
        "error rate 0 is out of range<any>",
    ),
    (
        "BF.RESERVE k 0.001 2 GENERATIONS 2 EXPANSION 1",
        "",
        "-ERR problem inserting into filter",
        "a generation has 64 overflow layers, the most there can be",
    ),
    (
        "CF.RESERVE k 4 ERROR 5e-7",
        "",
        "-ERR Insufficient memory",
        "the filter has <n> tables, the most there can be",
    ),
    (
        "CF.RESERVE k 100 SEED 7",
        "cf-max-expansions 2",
        "-Maximum expansions reached",
        "it has 2 tables, cf-max-expansions allows 2",
    ),
    (
        "CF.RESERVE k 64 BUCKETSIZE 2 LAYOUT REDISBLOOM",
        "cf-max-expansions 3",
        "-Maximum expansions reached",
        "it has <n> tables, cf-max-expansions allows 3",
    ),
];

/// Adds items until one is refused. Returns the number of the first that was.
fn fill(client: &mut Client, family: Family) -> usize {
    let items = numbered("item", 400_000);
    for (call, part) in items.chunks(200).enumerate() {
        let reply = show(&family.add(client, "k", part));
        if reply.contains('-') {
            return (call + 1) * 200;
        }
    }
    panic!("the filter still grows");
}

#[test]
fn every_end_of_growth_is_counted_and_logged() {
    for_each_server(|kind| {
        for (reserve, args, refusal, reason) in ENDS {
            let server = Setup::new().debug().module_args(args).start(kind);
            let mut client = server.resp2();
            client.ok(reserve);
            let family = if reserve.starts_with("CF") { Family::Cuckoo } else { Family::Bloom };
            let next = fill(&mut client, family);
            let before = (digest(&mut client, "k"), number(&mut client, "growths_refused"));
            let prefix = family.prefix();
            let mut refused = 0;
            until("a line with the reason", || {
                // A present item is no refusal, so there are several.
                for item in next..next + 20 {
                    let reply = client.ask(&format!("{prefix}.ADD k other:{item}:{refused}"));
                    refused += u64::from(reply == refusal);
                    assert!(reply == refusal || reply == ":0", "{reserve}: {reply}");
                }
                let line = format!("<any>growth of filter 'k' refused: {reason}");
                server.log().lines().any(|logged| matches(&line, logged)).then_some(())
            });
            let after = (digest(&mut client, "k"), number(&mut client, "growths_refused"));
            assert_eq!(after, (before.0, before.1 + refused), "{reserve}");
            if reserve == "CF.RESERVE k 100 SEED 7" {
                // The first table, and a second one of as many windows that was doubled four times.
                assert!(next > 1_600, "{next} items");
                // What is deleted makes room.
                assert_eq!(client.ask("CF.DEL k item:0"), ":1");
                assert_eq!(client.ask("CF.ADD k item:0"), ":1");
            }
        }
    });
}

#[test]
fn one_call_of_copies_makes_few_tables() {
    Setup::new().on_each_server(|mut client, _| {
        // Each table has room for four copies of an item. A search comes before each: it fails
        // after all iterations. Beyond cf-max-expansions a call has 2^20 of them.
        for (iterations, tables) in [(20, 512), (2_048, 512), (65_535, 32)] {
            client.ok(&format!("CF.RESERVE k 4 MAXITERATIONS {iterations} LAYOUT REDISBLOOM"));
            let refused = number(&mut client, "growths_refused");
            let copies = "a ".repeat(3000);
            let reply = client.ask(&format!("CF.INSERT k ITEMS {copies}"));
            let (stored, left) = (reply.matches(":1").count(), reply.matches(":-1").count());
            assert_eq!(stored + left, 3000);
            let debug = client.ask("CF.DEBUG k");
            assert!(debug.contains(&format!("filters:{tables} ")), "{debug}");
            assert_eq!(number(&mut client, "growths_refused") - refused, left as u64);
            assert_eq!(client.ask("CF.ADD k b"), "-Maximum expansions reached");
            client.call("DEL k");
        }
    });
}
