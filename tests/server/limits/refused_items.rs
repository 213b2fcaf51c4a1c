//! A call whose many items a limit refuses: every item gets a reply and is counted, and the log has
//! the reason in few lines.

use bloomline_harness::{Setup, for_each_server, matches, numbered};
use redis::Value;

use crate::inspect::number;

/// Items of the refused call.
const ITEMS: usize = 200_000;

#[test]
fn every_refused_item_of_a_call_is_an_error_and_counted() {
    for_each_server(|kind| {
        let items = numbered("new", ITEMS);
        for (args, maxmemory, reason) in [
            (
                "bf-max-filter-bytes 100mb",
                "0",
                "it needs <n> bytes, bf-max-filter-bytes allows <n>",
            ),
            // Room for the call, which takes 30 MB, but not for the layer.
            ("", "150mb", "its new layers need <n> bytes, maxmemory 157286400 leaves <n>"),
        ] {
            let server = Setup::new().module_args(args).start(kind);
            let mut client = server.resp2();
            // The next layer takes 250 MB.
            client.ok("BF.RESERVE k 0.000000001 1000 EXPANSION 32768 SEED 7");
            client.items("BF.MADD", "k", &numbered("item", 1000));
            client.ok(&format!("CONFIG SET maxmemory {maxmemory}"));
            let before = number(&mut client, "growths_refused");
            let Value::Array(answers) = client.items("BF.MADD", "k", &items) else {
                panic!("an array")
            };
            assert_eq!(answers.len(), ITEMS);
            assert!(
                answers.iter().all(|answer| matches!(answer, Value::ServerError(_))),
                "an item was added"
            );
            assert_eq!(number(&mut client, "growths_refused"), before + ITEMS as u64);
            let log = server.log();
            let line = format!("<any>growth of filter 'k' refused: {reason}<any>");
            assert!(matches(&line, &log), "{log}");
            // At most one line per second.
            let lines = log.matches("growth of filter 'k' refused").count();
            assert!(lines < ITEMS / 100, "{lines} lines for {ITEMS} items");
        }
    });
}
