//! `make plan`: the plans in the documentation are what the program prints, and the numbers of a
//! plan are those of a server's filter.

use std::fs;

use bloomline_core::{Growth, Spec};
use bloomline_harness::{Setup, for_newest_servers};

use bloomline_tools::plan::{self as program, Plan};

const GROWTHS: [Growth; 4] = [
    Growth::Fixed,
    Growth::Scaling { expansion: 1 },
    Growth::Scaling { expansion: 2 },
    Growth::Scaling { expansion: 4 },
];

/// What the program prints for these arguments.
fn answer(arguments: &str) -> Result<String, String> {
    let arguments = arguments.split_whitespace();
    program::answer(lexopt::Parser::from_args(arguments)).map_err(|error| error.to_string())
}

#[test]
fn plans_in_the_docs_are_what_the_program_prints() {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/choosing.md"))
        .expect("docs/choosing.md");
    let mut shown = 0;
    for block in text.split("$ make plan ARGS=\"").skip(1) {
        let (arguments, rest) = block.split_once("\"\n").expect("a closing quote");
        let (expected, _) = rest.split_once("```").expect("the end of the block");
        assert_eq!(answer(arguments).expect(arguments), expected, "{arguments}");
        shown += 1;
    }
    assert!(shown >= 2, "docs/choosing.md shows {shown} plans");
}

#[test]
fn refuses_impossible_plans_with_a_reason() {
    for (arguments, reason) in [
        ("", "--items is needed"),
        ("--items many", "many is no number"),
        ("--items 0.5", "0.5 is no number of items"),
        ("--items 10 --error 2", "error rate"),
        ("--items 1e6 --error 1e-20", "error rate"),
        ("--items 1000 --capacity 100 --expansion 0", "full"),
        ("--items 10 --colour red", "--colour"),
    ] {
        let printed = answer(arguments).expect_err(arguments);
        assert!(printed.contains(reason), "{arguments}: {printed}");
    }
    assert!(program::HELP.lines().count() > 4);
}

#[test]
fn a_plan_agrees_with_the_filter_of_a_server() {
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
                // An item that the filter already seems to contain is not inserted, so the test
                // attempts more.
                while client.ask("BF.CARD k") != format!(":{items}") {
                    let card: u64 = client.ask("BF.CARD k")[1..].parse().expect("a number");
                    let attempted: Vec<String> =
                        (next..next + items - card).map(|number| number.to_string()).collect();
                    next += items - card;
                    client.items("BF.MADD", "k", &attempted);
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
