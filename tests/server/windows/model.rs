//! Replies are compared with an exact model, while the clock moves on.

use std::collections::HashMap;

use bloomline_harness::{Client, Random, show};

use crate::timed::{RESERVE, SLOT, Timed, WINDOW, time};

/// Seconds that a test may take: an item this close to the end of its window may be gone or not.
const SLACK: i64 = 100;

/// When each item was inserted, by the server's clock.
struct Model {
    times: HashMap<String, i64>,
    refreshes: bool,
}

impl Model {
    /// What the server must reply whether an item is present; none if both are right.
    fn expects(&self, item: &str, now: i64) -> Option<bool> {
        let Some(added) = self.times.get(item) else { return Some(false) };
        match now - added {
            age if age < WINDOW - SLACK => Some(true),
            age if age > WINDOW + SLOT + SLACK => Some(false),
            _ => None,
        }
    }

    fn lookup(&self, client: &mut Client, item: &str, step: usize) {
        let now = time(client);
        let found = client.ask(&format!("BF.EXISTS k {item}")) == ":1";
        if let Some(expected) = self.expects(item, now) {
            let age = self.times.get(item).map(|added| now - added);
            assert_eq!(found, expected, "step {step}: {item}, added {age:?} s ago");
        }
    }

    fn add(&mut self, client: &mut Client, items: &[String], step: usize) {
        let now = time(client);
        let reply = show(&client.items("BF.MADD", "k", items));
        let replies = reply.trim_start_matches("*[").trim_end_matches(']').split(' ');
        assert_eq!(replies.clone().count(), items.len(), "{reply}");
        for (item, reply) in items.iter().zip(replies) {
            let is_new = reply == ":1";
            if let Some(expected) = self.expects(item, now) {
                assert_eq!(is_new, !expected, "step {step}: BF.MADD {item}: {reply}");
            }
            if is_new || self.refreshes {
                self.times.insert(item.clone(), now);
            }
        }
    }
}

fn run_against_model(options: &str, refreshes: bool) {
    Timed::on_each_server(&[], |mut client, Timed { clock, .. }| {
        client.ok(&format!("{RESERVE} {options}"));
        let (mut model, mut random) = (Model { times: HashMap::new(), refreshes }, Random(7));
        for step in 0..400 {
            let choice = random.next() % 100;
            let some = |random: &mut Random| format!("item:{}", random.next() % 300);
            match choice {
                0..30 => clock.advance((random.next() % (SLOT as u64 * 3 / 2)) as i64),
                // Rarely idle for several windows.
                30 => clock.advance((random.next() % (WINDOW as u64 * 4)) as i64),
                31..65 => {
                    let count = 1 + random.next() % 20;
                    let items: Vec<String> = (0..count).map(|_| some(&mut random)).collect();
                    model.add(&mut client, &items, step);
                }
                _ => (0..10).for_each(|_| model.lookup(&mut client, &some(&mut random), step)),
            }
        }
        let items: Vec<String> = model.times.keys().cloned().collect();
        items.iter().for_each(|item| model.lookup(&mut client, item, 400));
    });
}

#[test]
fn items_are_found_for_the_window_and_then_forgotten() {
    run_against_model("", true);
}

#[test]
fn without_refresh_items_are_forgotten_after_their_first_addition() {
    run_against_model("NOREFRESH", false);
}
