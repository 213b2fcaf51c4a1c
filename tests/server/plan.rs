//! `make plan`: its numbers are those of a server's filters, before the first item as after the
//! last.

#[path = "../../examples/plan/plan.rs"]
#[allow(dead_code, reason = "the program uses the rest")]
mod calculator;

use bloomline_core::{Growth, Spec};
use calculator::Plan;

use crate::harness::{Setup, for_newest_servers};

const GROWTHS: [Growth; 4] = [
    Growth::Fixed,
    Growth::Scaling { expansion: 1 },
    Growth::Scaling { expansion: 2 },
    Growth::Scaling { expansion: 4 },
];

#[test]
fn a_plan_is_what_a_server_tells_of_the_filter() {
    for_newest_servers(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (capacity, items) in [(100, 1), (100, 3_000), (20_000, 20_000)] {
            for (error_rate, growth) in
                [0.1, 0.01, 1e-4].into_iter().flat_map(|rate| GROWTHS.map(|growth| (rate, growth)))
            {
                let items = if growth == Growth::Fixed { items.min(capacity) } else { items };
                let plan = Plan::new(Spec { capacity, error_rate, growth }, items).expect("a plan");
                client.ok("FLUSHALL");
                client.ok(&plan.command("k"));
                let mut next = 0;
                // What seems to be there already is not counted, so more are offered.
                while client.ask("BF.CARD k") != format!(":{items}") {
                    let card: u64 = client.ask("BF.CARD k")[1..].parse().expect("a number");
                    let offered: Vec<String> =
                        (next..next + items - card).map(|number| number.to_string()).collect();
                    next += items - card;
                    client.items("BF.MADD", "k", &offered);
                }
                let case = plan.command("k");
                assert_eq!(
                    client.ask("BF.INFO k SIZE"),
                    format!("*[:{}]", plan.size_bytes()),
                    "{case}"
                );
                assert_eq!(
                    client.ask("BF.INFO k FILTERS"),
                    format!("*[:{}]", plan.layer_count()),
                    "{case}"
                );
                let newest = client.ask("BF.DEBUG k");
                let newest = newest.rsplit("hashes:").next().expect("a layer");
                assert!(newest.starts_with(&format!("{} ", plan.hashes())), "{case}: {newest}");
                assert!(plan.fp_rate() <= error_rate, "{case}");
            }
        }
    });
}
