//! LAST: items are found until `capacity` further distinct items were added.

use bloomline_harness::{Setup, numbered};

use crate::inspect::stat;
use crate::windowed::{RATE, answers};

const CAPACITY: usize = 200;

#[test]
fn items_are_forgotten_a_generation_after_the_window() {
    Setup::new().on_each_server(|mut client, _| {
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
                let layers = stat(&mut client, "k", "layers");
                assert!(
                    [format!(":{}", generations + 1), format!(":{generations}")].contains(&layers)
                );
                client.ok("FLUSHALL");
            }
        }
    });
}

#[test]
fn repeats_do_not_make_a_filter_forget_early() {
    const CAPACITY: usize = 10_000;
    const BATCH: usize = 50;
    Setup::new().on_shared_servers(|mut client, _| {
        let items = numbered("item", 16_000);
        for (seed, repeats) in [0, 100, 250, 4_000].into_iter().enumerate() {
            let options = format!("LAST GENERATIONS 2 SEED {seed}");
            client.ok(&format!("BF.RESERVE k 0.01 {CAPACITY} {options}"));
            // By the time of their last addition. Once the third generation is open, some items of
            // the second one are added again.
            let (mut order, third) = (Vec::new(), 10_200);
            for start in (0..items.len()).step_by(BATCH) {
                let again = if start == third { 5_100..5_100 + repeats } else { 0..0 };
                order.retain(|item| !again.contains(item));
                for batch in [again, start..start + BATCH].into_iter().filter(|it| !it.is_empty()) {
                    client.items("BF.MADD", "k", &items[batch.clone()]);
                    order.extend(batch);
                }
                let Some(oldest) = order.len().checked_sub(CAPACITY) else { continue };
                let due = &order[oldest..oldest + 2 * BATCH];
                let due: Vec<_> = due.iter().map(|&item| items[item].clone()).collect();
                let found = answers(&client.items("BF.MEXISTS", "k", &due));
                let kept = found.iter().filter(|&&is_found| is_found).count();
                assert_eq!(kept, 2 * BATCH, "{repeats} repeats, {start} items");
            }
            assert_eq!(client.ask("DEL k"), ":1");
        }
    });
}
