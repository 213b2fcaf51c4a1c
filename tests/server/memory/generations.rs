//! Memory of windowed filters over time.

use bloomline_harness::{Setup, numbered, until};

use super::usage;
use crate::inspect::number;
use crate::windowed::{RATE, age};

const SLOT: u64 = 1_000_000_000;

#[test]
fn usage_does_not_grow_with_time() {
    Setup::new().on_each_build(|mut client, _| {
        client.ok(&format!("BF.RESERVE hand {RATE} 8000 GENERATIONS 8"));
        client.ok(&format!("BF.RESERVE last {RATE} 8000 LAST GENERATIONS 8"));
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
    Setup::new().on_each_server(|mut client, _| {
        let before = client.info_number("used_memory");
        // Nine generations of 5 MB: they are freed on a thread.
        client.ok("BF.RESERVE k 0.0001 16000000 WINDOW 8000000 GENERATIONS 8");
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
