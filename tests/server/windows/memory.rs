//! MEMORY USAGE, freeing and active defragmentation of filters that forget.

use std::sync::atomic::{AtomicUsize, Ordering};

use bloomline_harness::{
    Client, Setup, for_each_build, for_each_server, int, numbered, report_missing, show, until,
};

use super::fixture::{RATE, age};
use crate::inspect::{info_field, number};

const SLOT: u64 = 1_000_000_000;

fn usage(client: &mut Client, key: &str) -> u64 {
    int(&client.call(&format!("MEMORY USAGE {key}"))).try_into().expect("bytes")
}

#[test]
fn usage_agrees_with_used_memory() {
    for_each_build(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (capacity, items) in [(400_000, 100_000), (40_000, 60_000)] {
            // The buffers of the server do not grow after this command.
            client.items("BF.MADD", "k", &numbered("step0", 1000));
            client.ok("FLUSHALL SYNC");
            let before = client.info_number("used_memory");
            client.ok(&format!("BF.RESERVE k 0.001 {capacity} GENERATIONS 4"));
            // Six rotations drop two generations; bursts add overflow layers.
            for step in 0..7 {
                let all = numbered(&format!("step{step}"), items / 4);
                for batch in all.chunks(1000) {
                    client.items("BF.MADD", "k", batch);
                }
                client.ok("BF.ROTATE k");
            }
            client.wait_for_frees();
            let size = info_field(&mut client, "k", "SIZE");
            let reported = usage(&mut client, "k");
            until("dropped generations to be freed", || {
                let grown = client.info_number("used_memory").saturating_sub(before) as f64;
                ((reported as f64 / grown - 1.0).abs() < 0.1).then_some(())
            });
            // The allocator gives up to a quarter more than requested.
            assert!(size <= reported && size * 5 / 4 > reported, "{size}, {reported} reported");
            client.ok("FLUSHALL SYNC");
        }
    });
}

#[test]
fn usage_does_not_grow_with_time() {
    for_each_build(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        client.ok(&format!("BF.RESERVE hand {RATE} 8000 GENERATIONS 8"));
        client.ok(&format!("BF.RESERVE last {RATE} 8000 LAST"));
        let mut most = [0; 2];
        for step in 0..60 {
            let items = numbered(&format!("step{step}"), 1000);
            for (at, key) in ["hand", "last"].into_iter().enumerate() {
                client.items("BF.MADD", key, &items);
                let bytes = usage(&mut client, key);
                // The ring is complete after nine steps.
                if step < 12 {
                    most[at] = most[at].max(bytes);
                }
                // The allocator of Redis 6.2 gives blocks of one length a few bytes more or less.
                assert!(
                    bytes <= most[at] + most[at] / 100,
                    "{key}: {} bytes, {bytes} in step {step}",
                    most[at]
                );
            }
            client.ok("BF.ROTATE hand");
        }
    });
}

#[test]
fn dropped_generations_are_freed() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        let before = client.info_number("used_memory");
        // Nine generations of 5 MB: they are freed on a thread.
        client.ok("BF.RESERVE k 0.0001 16000000 WINDOW 8000000");
        for _ in 0..8 {
            age(&mut client, "k", SLOT);
            client.items("BF.MADD", "k", &numbered("item", 1000));
        }
        let full = usage(&mut client, "k");
        assert!(full > 40_000_000, "{full}");
        assert!(client.info_number("used_memory") > before + full * 9 / 10);
        age(&mut client, "k", 100 * SLOT);
        assert_eq!(client.ask("BF.ADD k a"), ":1");
        assert!(usage(&mut client, "k") < full / 8);
        until("the memory to be freed", || {
            (client.info_number("used_memory") < before + full / 7).then_some(())
        });
        assert_eq!(number(&mut client, "layers"), 1);
        assert_eq!(client.ask("DEL k"), ":1");
        until("the memory to be freed", || {
            (client.info_number("used_memory") < before + 3_000_000).then_some(())
        });
    });
}

const FILTERS: usize = 1500;

/// Makes a filter with all generations, most with overflow layers. Items of the first are dropped.
fn make(client: &mut Client, i: usize) {
    let capacity = [40, 400, 4_000][i % 3];
    client.ok(&format!("BF.RESERVE f:{i} {RATE} {capacity} GENERATIONS 4"));
    for step in 0..6 {
        client.items("BF.MADD", &format!("f:{i}"), &items(i, step));
        if step < 5 {
            client.ok(&format!("BF.ROTATE f:{i}"));
        }
    }
}

fn items(i: usize, step: usize) -> Vec<Vec<u8>> {
    numbered(&format!("item:{i}:{step}"), if i.is_multiple_of(10) { 300 } else { 20 })
}

#[test]
fn defragmentation_moves_rings_and_loses_no_item() {
    let tested = AtomicUsize::new(0);
    for_each_build(|kind| {
        let server = Setup::new().line("hz 100").start(kind);
        let mut client = server.resp2();
        if client.ask("CONFIG SET activedefrag yes") != "+OK" {
            return report_missing(kind, "active defragmentation");
        }
        client.ok("CONFIG SET activedefrag no");
        for i in 0..FILTERS {
            make(&mut client, i);
        }
        for i in (0..FILTERS).filter(|i| i % 4 != 0) {
            client.call(&format!("DEL f:{i}"));
        }
        let before = client.ask("DEBUG DIGEST");
        for line in [
            "active-defrag-ignore-bytes 1",
            "active-defrag-threshold-lower 0",
            "active-defrag-threshold-upper 1",
            "active-defrag-cycle-min 40",
            "active-defrag-cycle-max 60",
            "active-defrag-max-scan-fields 8",
            "activedefrag yes",
        ] {
            client.ok(&format!("CONFIG SET {line}"));
        }
        // Additions and rotations of another filter while others are moved.
        let mut round = 0;
        client.ok(&format!("BF.RESERVE meanwhile {RATE} 400 GENERATIONS 4"));
        until("most filters to be moved", || {
            let new = numbered(&format!("meanwhile:{round}"), 30);
            round += 1;
            client.items("BF.MADD", "meanwhile", &new);
            client.ok("BF.ROTATE meanwhile");
            let found = show(&client.items("BF.MEXISTS", "meanwhile", &new));
            assert!(!found.contains(":0"), "{found}");
            (client.info_number("active_defrag_hits") > 2000).then_some(())
        });
        client.ok("CONFIG SET activedefrag no");
        client.call("DEL meanwhile");
        assert_eq!(client.ask("DEBUG DIGEST"), before);
        for i in (0..FILTERS).step_by(4) {
            let key = format!("f:{i}");
            for step in 0..6 {
                let found = show(&client.items("BF.MEXISTS", &key, &items(i, step)));
                let wrong = if step == 0 { ":1" } else { ":0" };
                assert!(!found.contains(wrong), "{key}, step {step}: {found}");
            }
            // Moved filters grow, rotate, and are freed at their new addresses.
            client.items("BF.MADD", &key, &numbered("more", 200));
            client.ok(&format!("BF.ROTATE {key}"));
            client.ok(&format!("BF.ROTATE {key}"));
            assert_eq!(client.ask(&format!("BF.EXISTS {key} more:7")), ":1");
        }
        client.ok("FLUSHALL");
        client.assert_answers_ping("FLUSHALL");
        tested.fetch_add(1, Ordering::Relaxed);
    });
    assert!(tested.into_inner() > 0, "no server here has active defragmentation");
}
