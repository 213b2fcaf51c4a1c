//! LAST: items are found until `capacity` further distinct items were added.

use std::collections::HashMap;

use bloomline_harness::{Client, Random, Setup, int, numbered};

use crate::windowed::{RATE, answers, info};

const CAPACITY: usize = 200;
const UNIVERSE: usize = 700;

/// When each item was last written: a number that increases with every item.
struct Model {
    written: HashMap<usize, usize>,
    now: usize,
    refreshes: bool,
}

impl Model {
    /// Distinct items that were written after this one; none if it never was.
    fn further(&self, item: usize) -> Option<usize> {
        let since = *self.written.get(&item)?;
        Some(self.written.values().filter(|&&written| written > since).count())
    }

    /// True if the promise holds for the item.
    fn must_be_found(&self, item: usize) -> bool {
        self.further(item).is_some_and(|further| further < CAPACITY)
    }

    /// Takes the reply for an item. `was_there`: before the call.
    fn take(&mut self, item: usize, is_new: bool, was_there: bool, is_repeated: bool) {
        assert!(is_new || was_there || is_repeated, "item {item} is reported as present");
        assert!(!(is_new && self.must_be_found(item)), "item {item} was forgotten early");
        self.now += 1;
        if is_new || self.refreshes {
            self.written.insert(item, self.now);
        }
    }
}

/// Adds some items in one call and returns the replies.
fn add(client: &mut Client, items: &[&Vec<u8>], random: &mut Random) -> Vec<bool> {
    match items {
        [item] if random.next().is_multiple_of(2) => {
            vec![int(&client.items("BF.ADD", "k", &[item])) == 1]
        }
        items if random.next().is_multiple_of(2) => answers(&client.items("BF.MADD", "k", items)),
        items => {
            let mut args = vec![&b"BF.INSERT"[..], b"k", b"ITEMS"];
            args.extend(items.iter().map(|item| item.as_slice()));
            answers(&client.run(&args))
        }
    }
}

#[test]
fn the_last_items_are_found_whatever_is_repeated() {
    Setup::new().on_each_build(|mut client, _| {
        let universe = numbered("item", UNIVERSE);
        for (generations, refreshes) in [(2, true), (8, true), (8, false), (3, false), (64, true)] {
            let option = if refreshes { "" } else { " NOREFRESH" };
            let options = format!("LAST GENERATIONS {generations}{option}");
            client.ok(&format!("BF.RESERVE k {RATE} {CAPACITY} {options}"));
            let mut random = Random(generations);
            let mut model = Model { written: HashMap::new(), now: 0, refreshes };
            for step in 0..200 {
                let before = answers(&client.items("BF.MEXISTS", "k", &universe));
                let count =
                    if random.next().is_multiple_of(3) { 1 } else { 1 + random.next() % 40 };
                // Some phases repeat few items, others take any.
                let range = if step / 20 % 3 == 0 { 60 } else { UNIVERSE };
                let first = random.next() as usize % UNIVERSE;
                let pick = |at: u64| (first + at as usize % range) % UNIVERSE;
                let picked: Vec<usize> = (0..count).map(|_| pick(random.next())).collect();
                let items: Vec<&Vec<u8>> = picked.iter().map(|&item| &universe[item]).collect();
                let replies = add(&mut client, &items, &mut random);
                assert_eq!(replies.len(), picked.len());
                for (at, (&item, is_new)) in picked.iter().zip(replies).enumerate() {
                    model.take(item, is_new, before[item], picked[..at].contains(&item));
                }
                let found = answers(&client.items("BF.MEXISTS", "k", &universe));
                for (item, &is_found) in found.iter().enumerate() {
                    assert!(is_found || !model.must_be_found(item), "{options}: {item} at {step}");
                    assert!(!is_found || model.written.contains_key(&item), "{item} is not there");
                }
                let distinct = found.iter().filter(|&&is_found| is_found).count() as i64;
                assert_eq!(int(&client.call("BF.CARD k")), distinct, "{options} at {step}");
                assert_eq!(info(&mut client, "k", "ITEMS"), format!(":{distinct}"));
            }
            client.ok("FLUSHALL");
        }
    });
}

#[test]
fn items_are_forgotten_a_generation_after_the_window() {
    Setup::new().on_each_build(|mut client, _| {
        let items = numbered("item", 4 * CAPACITY);
        for generations in [2, 8, 50] {
            for batch in [1, 7, 64] {
                let options = format!("LAST GENERATIONS {generations}");
                client.ok(&format!("BF.RESERVE k {RATE} {CAPACITY} {options}"));
                let mut added = 0;
                for items_of_call in items.chunks(batch) {
                    let replies = answers(&client.items("BF.MADD", "k", items_of_call));
                    assert!(replies.iter().all(|&is_new| is_new));
                    added += items_of_call.len();
                    if added % 3 != 0 {
                        continue;
                    }
                    let found = answers(&client.items("BF.MEXISTS", "k", &items[..added]));
                    let further = (0..added).rev();
                    let slot = CAPACITY.div_ceil(generations);
                    for (further, &is_found) in further.zip(&found) {
                        assert!(is_found || further >= CAPACITY, "{further} of {added}: lost");
                        let bound = CAPACITY + slot;
                        assert!(!is_found || further < bound, "{further} of {added}: kept");
                    }
                }
                // Without repetitions there are no overflow layers.
                let layers = info(&mut client, "k", "FILTERS");
                assert!(
                    [format!(":{}", generations + 1), format!(":{generations}")].contains(&layers)
                );
                client.ok("FLUSHALL");
            }
        }
    });
}

#[test]
fn refreshed_items_are_forgotten_in_the_end() {
    Setup::new().on_each_build(|mut client, _| {
        client.ok(&format!("BF.RESERVE k {RATE} {CAPACITY} LAST GENERATIONS 8"));
        let repeated = numbered("repeated", CAPACITY);
        let mut random = Random(5);
        for _ in 0..40 {
            let at = random.next() as usize % (CAPACITY - 20);
            client.items("BF.MADD", "k", &repeated[at..at + 20]);
        }
        let mut bytes = 0;
        for batch in numbered("other", 20 * CAPACITY).chunks(10) {
            client.items("BF.MADD", "k", batch);
            bytes = bytes.max(crate::inspect::info_field(&mut client, "k", "SIZE"));
        }
        let found = answers(&client.items("BF.MEXISTS", "k", &repeated));
        assert!(found.iter().all(|&is_found| !is_found));
        // Overflow layers have gone with their generations.
        assert_eq!(info(&mut client, "k", "FILTERS"), ":9");
        assert_eq!(info(&mut client, "k", "CAPACITY"), format!(":{CAPACITY}"));
    });
}
