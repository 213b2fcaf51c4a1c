//! A filter that cannot grow any more, for whatever reason: each refused item is counted, the log
//! names the reason, and nothing has changed.

use bloomline_harness::{Client, Setup, matches, numbered, show};

use crate::filters::Family;
use crate::inspect::{digest, number};

/// How a filter is reserved, a setting beside, the reply to an item that is refused, and the reason
/// in the log.
const ENDS: [(&str, &str, &str, &str); 6] = [
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
        "the filter has 64 layers, the most there can be",
    ),
    (
        "CF.RESERVE k 4 ERROR 5e-7",
        "",
        "-ERR Insufficient memory",
        "the filter has <n> layers, the most there can be",
    ),
    (
        "CF.RESERVE k 64 BUCKETSIZE 2 LAYOUT REDISBLOOM",
        "CONFIG SET cf-max-expansions 3",
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
    Setup::new().debug().on_each_server(|mut client, server| {
        for (reserve, setting, refusal, reason) in ENDS {
            client.ok("FLUSHALL");
            if !setting.is_empty() && client.ask(setting) != "+OK" {
                // Servers before 7.0 have load arguments only.
                continue;
            }
            client.ok(reserve);
            let family = if reserve.starts_with("CF") { Family::Cuckoo } else { Family::Bloom };
            let next = fill(&mut client, family);
            // Another filter's line of this second may have taken the place of this one's.
            let before = (digest(&mut client, "k"), number(&mut client, "growths_refused"));
            let prefix = family.prefix();
            let mut refused = 0;
            bloomline_harness::until("a line with the reason", || {
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
        }
    });
}
