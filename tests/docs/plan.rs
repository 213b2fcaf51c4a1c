//! `make plan`: the plans in the documentation are what the program prints, and the numbers of a
//! plan are those of a server's filter.

use bloomline_core::bloom::window::{Window, WindowSpec};
use bloomline_core::host::{Growth, Spec};
use bloomline_harness::{Setup, for_newest_servers};

use bloomline_tools::bloom::Plan;
use bloomline_tools::deletable::DeletablePlan;
use bloomline_tools::plan as program;

use crate::pages;

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
    let mut shown = 0;
    for (page, text) in pages::all() {
        for block in text.split("$ make plan ARGS=\"").skip(1) {
            let (arguments, rest) = block.split_once("\"\n").expect("a closing quote");
            let (expected, _) = rest.split_once("```").expect("the end of the block");
            assert_eq!(answer(arguments).expect(arguments), expected, "{page}: {arguments}");
            shown += 1;
        }
    }
    assert!(shown >= 6, "the docs show {shown} plans");
}

#[test]
fn bytes_per_item_of_a_million_items_are_those_of_plans() {
    const ITEMS: u64 = 1_000_000;
    const ABOVE: &str = "Bytes per item, from `BF.INFO key SIZE` of filters of a million items:";
    let growing = Growth::Scaling { expansion: 2 };
    let rows = pages::rows("docs/how-to/choosing.md", ABOVE);
    for (row, error_rate) in rows.iter().zip([0.01, 0.001, 0.0001]) {
        let bytes =
            [(ITEMS, Growth::Fixed), (ITEMS, growing), (100, growing)].map(|(capacity, growth)| {
                let plan = Plan::new(Spec { capacity, error_rate, growth }, ITEMS).expect("a plan");
                format!("{:.2}", plan.size_bytes() as f64 / ITEMS as f64)
            });
        assert_eq!(row[0], format!("{} %", error_rate * 100.0));
        assert_eq!(row[1..], bytes);
    }
    assert_eq!(rows.len(), 3);
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
        ("--items 10 --deletable --error 1e-9", "error rate"),
        ("--items 1e18 --deletable", "capacity"),
        ("--items 10 --deletable --capacity 20", "--items and --error only"),
        ("--items 10 --deletable --window 60", "--items and --error only"),
        ("--items 10 --deletable --norefresh", "--norefresh needs"),
        ("--items 1e6 --window 60 --last", "exclude each other"),
        ("--items 1e6 --norefresh", "--norefresh needs"),
        ("--items 1e6 --window 60 --generations 1", "generations"),
        ("--items 1e6 --window 0", "window"),
        ("--items 2000 --capacity 1000 --window 60 --expansion 0", "full"),
        // A generation has no more overflow layers.
        ("--items 70000 --capacity 1000 --window 60 --expansion 1", "has 64 overflow layers"),
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
        for (capacity, items) in [(100, 1), (100, 3_000), (20_000, 20_000), (20_000, 9_000)] {
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
                let freed = format!(":{}", plan.freed_bytes());
                assert_eq!(client.ask("BF.COMPACT k"), freed, "{case}");
            }
        }
    });
}

#[test]
fn a_plan_of_a_cuckoo_filter_agrees_with_a_server() {
    for_newest_servers(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for items in [1, 100, 5_000, 1_000_000] {
            for (error_rate, is_fixed) in [0.5, 0.01, 1e-6]
                .into_iter()
                .flat_map(|rate| [true, false].map(|is_fixed| (rate, is_fixed)))
            {
                let plan = DeletablePlan::new(items, error_rate, is_fixed).expect("a plan");
                let case = plan.command("k");
                client.ok("FLUSHALL");
                client.ok(&case);
                let size = client.ask("CF.INFO k SIZE");
                assert_eq!(size, format!("*[:{}]", plan.size_bytes()), "{case}");
            }
        }
    });
}

#[test]
fn a_plan_shows_what_compacting_saves() {
    for arguments in ["--items 1e5 --capacity 1e6 --compact", "--items 1e6 --compact"] {
        let printed = answer(arguments).expect(arguments);
        let (_, table) = printed.split_once("after BF.COMPACT").expect(arguments);
        let saving = table.lines().skip(1).filter(|line| !line.ends_with(" 0.0 %")).count();
        assert!(saving > 0, "{printed}");
    }
    let refused = answer("--items 1e5 --capacity 1e6 --window 60 --compact").unwrap_err();
    assert!(refused.starts_with("--compact is not for a windowed filter"), "{refused}");
}

#[test]
fn a_plan_with_generations_agrees_with_a_full_filter() {
    const CAPACITY: u64 = 1_200;
    for_newest_servers(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (generations, growth) in
            [2, 4, 12].into_iter().flat_map(|number| GROWTHS.map(|growth| (number, growth)))
        {
            // Half of the capacity, all of it, and a burst of five times as much.
            for items in [CAPACITY / 2, CAPACITY, 5 * CAPACITY] {
                if growth == Growth::Fixed && items > CAPACITY {
                    continue;
                }
                let (window, error_rate, refreshes) = (Window::Manual, 1e-6, true);
                let spec = WindowSpec {
                    capacity: CAPACITY,
                    error_rate,
                    growth,
                    window,
                    generations,
                    refreshes,
                };
                let plan = Plan::windowed(spec, items).expect("a plan");
                let case = plan.command("k");
                client.ok("FLUSHALL");
                client.ok(&case);
                let slot = items / u64::from(generations);
                for number in 0..plan.generation_count() {
                    let first = u64::from(number) * slot;
                    let items: Vec<String> = (first..first + slot).map(|n| n.to_string()).collect();
                    client.items("BF.MADD", "k", &items);
                    if number + 1 < plan.generation_count() {
                        client.ok("BF.ROTATE k");
                    }
                }
                let size = client.ask("BF.INFO k SIZE");
                assert_eq!(size, format!("*[:{}]", plan.size_bytes()), "{case}, {items} items");
                let layers = client.ask("BF.INFO k FILTERS");
                assert_eq!(layers, format!("*[:{}]", plan.layer_count()), "{case}, {items} items");
                assert!(plan.fp_rate() <= error_rate, "{case}, {items} items");
            }
        }
    });
}
