//! `used_memory` of filters: what `make plan` computes, and what choosing.md shows per key, is what
//! servers count.

use std::path::Path;
use std::slice;

use bloomline_core::bloom::window::{Window, WindowSpec};
use bloomline_core::host::{Growth, Spec};
use bloomline_harness::{
    Kind, Setup, arguments, for_each_server, for_newest_servers, report_missing,
};
use bloomline_tools::deletable::DeletablePlan;
use bloomline_tools::growing::Plan;
use bloomline_tools::used::{KEY_BYTES, Rounding};
use bloomline_tools::windowed::WindowedPlan;

use crate::pages;

/// Keys of the small filters. The dictionary of this number of keys is nearly full.
const KEYS: u64 = 4_000;

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

/// How the server's jemalloc rounds; none for another allocator.
fn rounding(kind: &Kind) -> Option<Rounding> {
    let allocator = Setup::new().start(kind).resp2().info("mem_allocator");
    allocator.strip_prefix("jemalloc-").map(|version| match version {
        "5.1.0" | "5.3.0" => Rounding::Classes,
        _ => Rounding::Pages,
    })
}

/// Bytes per key by which a measurement may be off: the server's dictionary of keys, two of which
/// exist while it grows.
const DICTIONARY: u64 = 16;

/// Asserts that two numbers of bytes differ by at most a percentage and [`DICTIONARY`].
fn assert_close(percent: u64, measured: u64, expected: u64, case: &str) {
    println!("{case}: {measured}, expected {expected}");
    let allowed = expected * percent / 100 + DICTIONARY;
    assert!(measured.abs_diff(expected) <= allowed, "{case}: {measured}, expected {expected}");
}

/// The rows of numbers below a heading of choosing.md: the text of the first cell, and the numbers
/// of the others.
fn rows(heading: &str) -> Vec<(String, Vec<u64>)> {
    let page = pages::read(Path::new("docs/how-to/choosing.md"));
    let (_, section) = page.split_once(heading).expect(heading);
    let section = section.split("\n## ").next().expect("a section");
    let cells = |line: &str| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let name = cells.next().expect("a cell").to_owned();
        let numbers: Vec<u64> =
            cells.filter_map(|cell| cell.replace(',', "").parse().ok()).collect();
        (name, numbers)
    };
    let lines = section.lines().filter(|line| line.starts_with('|'));
    lines.map(cells).filter(|(_, numbers)| !numbers.is_empty()).collect()
}

/// What choosing.md says that a server allocates per key, and in addition with a time to live; none
/// if the page does not name the server.
fn of_the_server(kind: &Kind) -> Option<[u64; 2]> {
    let name = kind.series().replace("redis-", "Redis ").replace("valkey-", "Valkey ");
    let (_, numbers) =
        rows("\n## What the server counts").into_iter().find(|(row, _)| *row == name)?;
    numbers.try_into().ok()
}

/// A filter, the number of keys that get one, the commands for each, and the bytes of the plan.
struct Case {
    keys: u64,
    commands: Vec<String>,
    used_bytes: u64,
}

/// The command that adds this number of items.
fn additions(items: u64) -> String {
    let items: String = (0..items).map(|item| format!(" {item}")).collect();
    format!("BF.MADD KEY{items}")
}

fn cases(rounding: Rounding) -> Vec<Case> {
    let mut cases = Vec::new();
    let scaling = Growth::Scaling { expansion: 2 };
    // The size of a layer just below and above that with a page more, and from 1 MiB on.
    for (keys, items, growth) in [
        (KEYS, 10, Growth::Fixed),
        (KEYS, 100, Growth::Fixed),
        (KEYS, 100, scaling),
        (KEYS, 1_000, scaling),
        (500, 20_000, scaling),
        (500, 25_000, scaling),
        (50, 100_000, scaling),
        (10, 1_000_000, scaling),
    ] {
        let spec = Spec { capacity: items, error_rate: 0.01, growth };
        let plan = Plan::new(spec, items).expect("a plan");
        let (mut commands, used_bytes) = (vec![plan.command("KEY")], plan.used_bytes(rounding));
        if items <= 100 {
            // A filter of few items takes less.
            commands.push(additions(items));
        }
        cases.push(Case { keys, commands, used_bytes });
        let plan = DeletablePlan::new(items, 0.01, growth == Growth::Fixed).expect("a plan");
        let (commands, used_bytes) = (vec![plan.command("KEY")], plan.used_bytes(rounding));
        cases.push(Case { keys, commands, used_bytes });
    }
    let spec = Spec { capacity: 100, error_rate: 0.01, growth: scaling };
    // Lists of few items, and the first number for which there is none. Grown to 5 layers.
    for (keys, items, attempted) in [
        (KEYS, 0, 0),
        (KEYS, 1, 1),
        (KEYS, 8, 8),
        (KEYS, 16, 16),
        (KEYS, 17, 17),
        (500, 2_000, 2_020),
    ] {
        let plan = Plan::new(spec, items).expect("a plan");
        let mut commands = vec![plan.command("KEY")];
        if attempted > 0 {
            commands.push(additions(attempted));
        }
        cases.push(Case { keys, commands, used_bytes: plan.used_bytes(rounding) });
    }
    // One allocation for all generations; one for each; with overflow layers.
    for (keys, capacity, items) in
        [(KEYS, 100, 100), (1_000, 8_000, 8_000), (100, 8_000, 16_000), (50, 200_000, 200_000)]
    {
        let (window, generations) = (Window::Manual, 4);
        let spec = WindowSpec {
            capacity,
            error_rate: 0.01,
            growth: scaling,
            window,
            generations,
            refreshes: true,
        };
        let plan = WindowedPlan::new(spec, items).expect("a plan");
        let mut commands = vec![plan.command("KEY")];
        for generation in 0..=generations {
            if generation > 0 {
                commands.push("BF.ROTATE KEY".to_owned());
            }
            if items > capacity {
                let first = u64::from(generation) * items;
                let numbers = first..first + items / u64::from(generations);
                let items: String = numbers.map(|item| format!(" {item}")).collect();
                commands.push(format!("BF.MADD KEY{items}"));
            }
        }
        cases.push(Case { keys, commands, used_bytes: plan.used_bytes(rounding) });
    }
    cases
}

#[test]
fn plans_agree_with_used_memory_of_servers() {
    for_newest_servers(|kind| {
        let rounding = rounding(kind).expect("jemalloc");
        let [key_bytes, _] = of_the_server(kind).expect("a row of choosing.md");
        for Case { keys, commands, used_bytes } in cases(rounding) {
            let case: String = commands[0].chars().take(60).collect();
            let measured = used_per_key(kind, keys, &commands);
            let expected = used_bytes - KEY_BYTES + key_bytes;
            assert_close(2, measured, expected, &format!("{}: {keys} × {case}", kind.name));
        }
    });
}

#[test]
fn bytes_per_key_are_those_of_the_page() {
    let documented = rows("\n## What the server counts");
    let all: Vec<u64> = documented.iter().map(|(_, numbers)| numbers[0]).collect();
    let (least, most) = (all.iter().min().expect("rows"), all.iter().max().expect("rows"));
    assert!((*least..=*most).contains(&KEY_BYTES), "{KEY_BYTES} is not in {all:?}");
    for_each_server(|kind| {
        let Some([key_bytes, ttl_bytes]) = of_the_server(kind) else {
            return report_missing(kind, "jemalloc");
        };
        let spec = Spec { capacity: 100, error_rate: 0.01, growth: Growth::Fixed };
        let plan = Plan::new(spec, 100).expect("a plan");
        let of_filter = plan.used_bytes(Rounding::Classes) - KEY_BYTES;
        let command = plan.command("KEY");
        let bare = used_per_key(kind, KEYS, slice::from_ref(&command));
        assert_close(0, bare - of_filter, key_bytes, &kind.name);
        let expiring = used_per_key(kind, KEYS, &[command, EXPIRE.to_owned()]);
        assert_close(0, expiring - bare, ttl_bytes, &format!("{}, TTL", kind.name));
    });
}

const EXPIRE: &str = "EXPIRE KEY 604800";
