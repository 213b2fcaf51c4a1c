//! `used_memory` of filters: what `make plan` computes, and what choosing.md shows per key, is what
//! servers count.

use bloomline_core::bloom::window::{Window, WindowSpec};
use bloomline_core::host::{Growth, Spec};
use bloomline_harness::{
    Kind, Setup, arguments, for_each_server, for_newest_servers, report_missing,
};
use bloomline_tools::bloom::Plan;
use bloomline_tools::deletable::DeletablePlan;
use bloomline_tools::used::{KEY_BYTES, Rounding};

use crate::pages;

/// Keys of the small filters. The dictionary of this number of keys is nearly full.
const KEYS: u64 = 4_000;

/// Bytes per key by which a measurement may be off: the server's dictionary of keys, two of which
/// exist while it grows.
const DICTIONARY: u64 = 16;

const GROWTH: Growth = Growth::Scaling { expansion: 2 };

/// What `used_memory` falls by per key when the keys are deleted. Each key gets these commands: its
/// name is their first argument.
fn used_per_key(kind: &Kind, keys: u64, commands: &[String]) -> u64 {
    let server = Setup::new().start(kind);
    let mut client = server.resp2();
    let mut commands: Vec<_> = commands.iter().map(|line| arguments(line)).collect();
    // Millions of replies are not what this measures: errors are counted.
    client.send(&["CLIENT", "REPLY", "OFF"]);
    for key in 0..keys {
        for command in &mut commands {
            command[1] = format!("seen:{key:07}").into_bytes();
            client.send(command);
        }
    }
    client.ok("CLIENT REPLY ON");
    assert_eq!(client.info_number("total_error_replies"), 0, "{kind:?}: {keys} keys");
    assert_eq!(client.ask("DBSIZE"), format!(":{keys}"));
    drop(client);
    server.freed_by_flushall() / keys
}

/// How the server's jemalloc rounds.
fn rounding(kind: &Kind) -> Rounding {
    let allocator = Setup::new().start(kind).resp2().info("mem_allocator");
    match allocator.strip_prefix("jemalloc-").expect("jemalloc") {
        "5.1.0" | "5.3.0" => Rounding::Classes,
        _ => Rounding::Pages,
    }
}

fn assert_close(percent: u64, measured: u64, expected: u64, case: &str) {
    let allowed = expected * percent / 100 + DICTIONARY;
    assert!(measured.abs_diff(expected) <= allowed, "{case}: {measured}, expected {expected}");
}

/// What choosing.md says that servers allocate per key, and in addition with a time to live.
fn documented() -> Vec<(String, [u64; 2])> {
    let rows = pages::rows("docs/how-to/choosing.md", "## What the server counts");
    let number = |cell: &String| cell.parse().expect("a number");
    rows.iter().map(|row| (row[0].clone(), [1, 2].map(|at| number(&row[at])))).collect()
}

/// The row of choosing.md for a server; none if the page does not name it.
fn of_the_server(kind: &Kind) -> Option<[u64; 2]> {
    let name = kind.series().replace("redis-", "Redis ").replace("valkey-", "Valkey ");
    documented().into_iter().find(|(row, _)| *row == name).map(|(_, numbers)| numbers)
}

/// A command that adds items to a filter.
fn additions(items: std::ops::Range<u64>) -> String {
    let items: String = items.map(|item| format!(" {item}")).collect();
    format!("BF.MADD KEY{items}")
}

/// Filters: the number of keys that get one, the commands for each, and the bytes of its plan.
fn cases(rounding: Rounding) -> Vec<(u64, Vec<String>, u64)> {
    let mut cases = Vec::new();
    // Lists of few items, and the first number for which there is none; a full layer; 5 layers, for
    // which some of the attempted items are not new. Without items: the size of a layer just below
    // and above that with a page more, and from 1 MiB on.
    for (keys, capacity, items, attempted) in [
        (KEYS, 100, 0, 0),
        (KEYS, 100, 1, 1),
        (KEYS, 100, 8, 8),
        (KEYS, 100, 16, 16),
        (KEYS, 100, 17, 17),
        (KEYS, 100, 100, 100),
        (500, 100, 2_000, 2_020),
        (500, 20_000, 20_000, 0),
        (500, 25_000, 25_000, 0),
        (10, 1_000_000, 1_000_000, 0),
    ] {
        let spec = Spec { capacity, error_rate: 0.01, growth: GROWTH };
        let plan = Plan::new(spec, items).expect("a plan");
        let mut commands = vec![plan.command("KEY")];
        if attempted > 0 {
            commands.push(additions(0..attempted));
        }
        cases.push((keys, commands, plan.used_bytes(rounding)));
    }
    for (keys, items, is_fixed) in
        [(KEYS, 10, true), (KEYS, 100, false), (500, 20_000, false), (10, 1_000_000, true)]
    {
        let plan = DeletablePlan::new(items, 0.01, is_fixed).expect("a plan");
        cases.push((keys, vec![plan.command("KEY")], plan.used_bytes(rounding)));
    }
    // One allocation for all generations; one for each; with overflow layers.
    for (keys, capacity, items) in
        [(KEYS, 100, 100), (1_000, 8_000, 8_000), (100, 8_000, 16_000), (50, 200_000, 200_000)]
    {
        let (error_rate, window, generations) = (0.01, Window::Manual, 4);
        let growth = GROWTH;
        let spec =
            WindowSpec { capacity, error_rate, growth, window, generations, refreshes: true };
        let plan = Plan::windowed(spec, items).expect("a plan");
        let mut commands = vec![plan.command("KEY")];
        for generation in 0..=u64::from(generations) {
            if generation > 0 {
                commands.push("BF.ROTATE KEY".to_owned());
            }
            if items > capacity {
                let first = generation * items;
                commands.push(additions(first..first + items / u64::from(generations)));
            }
        }
        cases.push((keys, commands, plan.used_bytes(rounding)));
    }
    cases
}

#[test]
fn plans_agree_with_used_memory_of_servers() {
    for_newest_servers(|kind| {
        let [key_bytes, _] = of_the_server(kind).expect("a row of choosing.md");
        for (keys, commands, used_bytes) in cases(rounding(kind)) {
            let case: String = commands[0].chars().take(60).collect();
            let measured = used_per_key(kind, keys, &commands);
            let expected = used_bytes - KEY_BYTES + key_bytes;
            assert_close(2, measured, expected, &format!("{}: {keys} × {case}", kind.name));
        }
    });
}

#[test]
fn bytes_per_key_are_those_of_the_page() {
    let all: Vec<u64> = documented().iter().map(|(_, [key_bytes, _])| *key_bytes).collect();
    let (least, most) = (all.iter().min().expect("rows"), all.iter().max().expect("rows"));
    assert!((least..=most).contains(&&KEY_BYTES), "{KEY_BYTES} is not in {all:?}");
    for_each_server(|kind| {
        let Some([key_bytes, ttl_bytes]) = of_the_server(kind) else {
            return report_missing(kind, "jemalloc");
        };
        let spec = Spec { capacity: 100, error_rate: 0.01, growth: Growth::Fixed };
        // The key has an empty filter: the list of one item takes as much.
        let plan = Plan::new(spec, 1).expect("a plan");
        let of_filter = plan.used_bytes(Rounding::Classes) - KEY_BYTES;
        let mut commands = vec![plan.command("KEY")];
        let bare = used_per_key(kind, KEYS, &commands);
        assert_close(0, bare - of_filter, key_bytes, &kind.name);
        commands.push("EXPIRE KEY 604800".to_owned());
        let expiring = used_per_key(kind, KEYS, &commands);
        assert_close(0, expiring - bare, ttl_bytes, &format!("{}, TTL", kind.name));
    });
}
