//! WINDOW: items are found for a time. The tests make filters older instead of waiting.

use bloomline_harness::{Setup, numbered, until};

use crate::inspect::{number, stat};
use crate::windowed::{GENERATION_BYTES, GENERATIONS};
use crate::windowed::{RATE, age, answers, header, number_at, set_number};

/// Milliseconds of a slot: so long that the time which a test takes does not matter.
const SLOT: u64 = 1_000_000_000;

/// A window of eight slots.
const WINDOW: &str = "WINDOW 8000000 GENERATIONS 8";

#[test]
fn items_are_found_for_the_window_and_at_most_a_slot() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok(&format!("BF.RESERVE k {RATE} 100 {WINDOW}"));
        let items = numbered("item", 30);
        for (step, item) in items.iter().enumerate() {
            if step > 0 {
                age(&mut client, "k", SLOT);
            }
            let found = answers(&client.items("BF.MEXISTS", "k", &items));
            let expected: Vec<bool> = (0..30).map(|i| i < step && step - i <= 8).collect();
            assert_eq!(found, expected, "before step {step}");
            assert_eq!(client.ask("BF.CARD k"), format!(":{}", step.min(8)));
            assert_eq!(answers(&client.items("BF.MADD", "k", &[item])), [true]);
            let found = answers(&client.items("BF.MEXISTS", "k", &items));
            let expected: Vec<bool> = (0..30).map(|i| i <= step && step - i <= 8).collect();
            assert_eq!(found, expected, "after step {step}");
            for (at, item) in items.iter().enumerate().take(step + 1) {
                let reply = if step - at <= 8 { ":1" } else { ":0" };
                let reply_of = client.items("BF.EXISTS", "k", &[item]);
                assert_eq!(bloomline_harness::show(&reply_of), reply, "item {at} at {step}");
            }
            let distinct = format!(":{}", (step + 1).min(9));
            assert_eq!(client.ask("BF.CARD k"), distinct);
            assert_eq!(stat(&mut client, "k", "items"), distinct);
            assert_eq!(stat(&mut client, "k", "layers"), distinct);
        }
        assert_eq!(number(&mut client, "rotations"), 29);
        assert_eq!(number(&mut client, "generations_dropped"), 21);
    });
}

#[test]
fn refreshed_items_are_found_for_another_window() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok(&format!("BF.RESERVE refreshed {RATE} 100 {WINDOW}"));
        client.ok(&format!("BF.RESERVE not {RATE} 100 {WINDOW} NOREFRESH"));
        for step in 0..30 {
            let expected = if step == 0 { ":1" } else { ":0" };
            assert_eq!(client.ask("BF.ADD refreshed a"), expected, "step {step}");
            // Forgotten a window and a slot after it was first added.
            let expected = if step % 9 == 0 { "*[:1 :0]" } else { "*[:0 :0]" };
            assert_eq!(client.ask("BF.MADD not a a"), expected, "step {step}");
            for key in ["refreshed", "not"] {
                assert_eq!(client.ask(&format!("BF.CARD {key}")), ":1", "{key} at {step}");
                assert_eq!(client.ask(&format!("BF.EXISTS {key} a")), ":1");
                age(&mut client, key, SLOT);
            }
        }
        let forgotten = "*[:0 :0]";
        age(&mut client, "refreshed", 8 * SLOT);
        assert_eq!(client.ask("BF.MEXISTS refreshed a b"), forgotten);
    });
}

#[test]
fn a_generation_may_be_dropped_without_opening_one() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok(&format!("BF.RESERVE k {RATE} 100 {WINDOW}"));
        assert_eq!(client.ask("BF.ADD k old"), ":1");
        age(&mut client, "k", 8 * SLOT + SLOT / 2);
        assert_eq!(client.ask("BF.ADD k new"), ":1");
        assert_eq!(stat(&mut client, "k", "layers"), ":2");
        age(&mut client, "k", SLOT / 2);
        assert_eq!(client.ask("BF.MEXISTS k old new"), "*[:0 :1]");
        assert_eq!(stat(&mut client, "k", "layers"), ":2");
        // A repeated item drops it as well.
        assert_eq!(client.ask("BF.ADD k new"), ":0");
        assert_eq!(stat(&mut client, "k", "layers"), ":1");
        assert_eq!(number(&mut client, "rotations"), 1);
        assert_eq!(number(&mut client, "generations_dropped"), 1);
    });
}

#[test]
fn a_full_slot_refuses_until_it_has_passed() {
    Setup::new().on_shared_servers(|mut client, _| {
        let full = "-ERR non scaling filter is full";
        client.ok(&format!("BF.RESERVE k {RATE} 16 {WINDOW} NONSCALING"));
        assert_eq!(client.ask("BF.MADD k a b c d"), format!("*[:1 :1 {full}]"));
        assert_eq!(client.ask("BF.MADD k b a c"), format!("*[:0 :0 {full}]"));
        age(&mut client, "k", SLOT / 2);
        assert_eq!(client.ask("BF.ADD k c"), full);
        age(&mut client, "k", SLOT / 2);
        assert_eq!(client.ask("BF.MADD k c a b d"), format!("*[:1 :0 {full}]"));
        assert_eq!(client.ask("BF.CARD k"), ":3");
    });
}

#[test]
fn opening_times_in_the_future_forget_nothing() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok(&format!("BF.RESERVE k {RATE} 100 {WINDOW}"));
        let mut header = header(&mut client, "k");
        let now = number_at(&header, GENERATIONS);
        set_number(&mut header, GENERATIONS, now + 50 * SLOT);
        assert_eq!(header.len() % GENERATION_BYTES, 0);
        assert_eq!(client.loadchunk("ahead", 1, &header), "+OK");
        assert_eq!(client.ask("BF.MADD ahead a b"), "*[:1 :1]");
        assert_eq!(client.ask("BF.MADD ahead a c"), "*[:0 :1]");
        assert_eq!(client.ask("BF.MEXISTS ahead a b c d"), "*[:1 :1 :1 :0]");
        assert_eq!(client.ask("BF.CARD ahead"), ":3");
        assert_eq!(stat(&mut client, "ahead", "layers"), ":1");
        let debug = client.ask("BF.DEBUG ahead");
        assert!(debug.ends_with("generation:0 age:0]"), "{debug}");
    });
}

#[test]
fn a_window_of_a_second_passes() {
    Setup::new().on_shared_servers(|mut client, _| {
        let line = format!("BF.INSERT k ERROR {RATE} WINDOW 1 GENERATIONS 2 ITEMS a");
        assert_eq!(client.ask(&line), "*[:1]");
        until("the item to be forgotten", || (client.ask("BF.EXISTS k a") == ":0").then_some(()));
        assert_eq!(client.ask("BF.CARD k"), ":0");
        assert_eq!(client.ask("BF.ADD k a"), ":1");
        assert_eq!(client.ask("EXISTS k"), ":1");
    });
}
