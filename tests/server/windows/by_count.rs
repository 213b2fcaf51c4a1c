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
