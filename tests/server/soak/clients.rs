//! The clients: several that run all commands on filters of their own and check the replies, and
//! one that keeps large filters busy.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use bloomline_harness::{Client, Random, show, until};

use super::Load;
use super::model::{Known, Model, items};

/// The most filters of a client. Beyond it a creation needs a deletion.
const MOST_FILTERS: usize = 40;
/// The most items of a filter, which is then deleted.
const MOST_ITEMS: u64 = 30_000;

/// Runs all kinds of calls on its own filters until the load ends or the number of calls is
/// reached; returns the expected state.
pub fn check(client: &mut Client, name: u64, calls: u64, load: &Load) -> Model {
    let (mut model, mut random, mut next_key) = (Model::default(), Random(name), 0);
    while load.continues() && model.tally.calls < calls {
        model.tally.calls += 1;
        let choice = random.next() % 1000;
        if model.filters.is_empty() || (choice < 10 && model.filters.len() < MOST_FILTERS) {
            next_key += 1;
            create(client, &mut model, &format!("soak:{name}:{next_key}"), &mut random);
            continue;
        }
        let chosen = random.next() as usize % model.filters.len();
        let (key, attempted) = model
            .filters
            .iter()
            .nth(chosen)
            .map(|(key, known)| (key.clone(), known.attempted))
            .expect("as many filters as were counted");
        if attempted > MOST_ITEMS {
            remove(client, &mut model, &key, choice);
            continue;
        }
        match choice {
            10..20 if model.filters.len() > MOST_FILTERS / 2 => {
                remove(client, &mut model, &key, choice)
            }
            20..22 => copy_by_chunks(client, &mut model, &key),
            22..30 => model.check_count(client, &key),
            30..330 => {
                let reply = client.run(&[
                    b"BF.ADD",
                    key.as_bytes(),
                    &items(&key, attempted, attempted + 1)[0],
                ]);
                model.note_added(&key, 1, &reply);
            }
            330..430 => {
                let count = 1 + random.next() % 200;
                let reply =
                    client.items("BF.MADD", &key, &items(&key, attempted, attempted + count));
                model.note_added(&key, count, &reply);
            }
            430..700 if attempted > 0 => {
                let from = random.next() % attempted;
                model.look_up_present(client, &key, from, attempted.min(from + 100));
            }
            _ => model.look_up_absent(client, &key, random.next() >> 20, 1 + random.next() % 50),
        }
    }
    model
}

/// Creates a filter by BF.INSERT or BF.RESERVE.
fn create(client: &mut Client, model: &mut Model, key: &str, random: &mut Random) {
    let (rate, capacity, expansion) = match random.next() % 5 {
        0 => (0.01, 100, 2),
        1 => (0.001, 10, 1),
        2 => (0.0001, 20_000, 4),
        3 => (0.05, 1000, 2),
        _ => (0.01, 500_000, 2),
    };
    if random.next().is_multiple_of(3) {
        let made = client.ask(&format!(
            "BF.INSERT {key} ERROR {rate} CAPACITY {capacity} EXPANSION {expansion} ITEMS {key}:0"
        ));
        assert_eq!(made, "*[:1]");
        model.filters.insert(key.to_owned(), Known { attempted: 1, inserted: 1, error_rate: rate });
    } else {
        client.ok(&format!("BF.RESERVE {key} {rate} {capacity} EXPANSION {expansion}"));
        model.filters.insert(key.to_owned(), Known { attempted: 0, inserted: 0, error_rate: rate });
    }
    model.tally.created += 1;
}

/// Deletes a filter by DEL, by UNLINK or by a time to live, and asserts that it is gone.
fn remove(client: &mut Client, model: &mut Model, key: &str, choice: u64) {
    match choice % 3 {
        0 => assert_eq!(client.ask(&format!("DEL {key}")), ":1"),
        1 => assert_eq!(client.ask(&format!("UNLINK {key}")), ":1"),
        _ => {
            assert_eq!(client.ask(&format!("PEXPIRE {key} 5")), ":1");
            until("the filter to expire", || {
                (client.ask(&format!("EXISTS {key}")) == ":0").then_some(())
            });
            model.tally.expired += 1;
        }
    }
    assert_eq!(client.ask(&format!("BF.EXISTS {key} {key}:0")), ":0");
    model.filters.remove(key);
    model.tally.deleted += 1;
}

/// Replaces a filter with its copy, made by BF.SCANDUMP and BF.LOADCHUNK.
fn copy_by_chunks(client: &mut Client, model: &mut Model, key: &str) {
    let copy = format!("{key}:copy");
    client.copy_by_chunks(key, &copy);
    client.ok(&format!("RENAME {copy} {key}"));
    model.tally.copied += 1;
}

/// Adds to large filters and looks items up in them, 1,000 items per call, and makes the filters
/// anew every 500 rounds.
pub fn heavy(socket: &Path, load: &Load) {
    let mut client = Client::connect(socket).expect("a connection");
    let mut rounds = 0_u64;
    while load.continues() {
        if !load.is_heavy.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(5));
            continue;
        }
        if rounds.is_multiple_of(500) {
            client.call("UNLINK heavy heavy:growing");
            // One filter of 180 MB, and one whose layers become as large.
            client.ok("BF.RESERVE heavy 0.001 100000000");
            client.ok("BF.RESERVE heavy:growing 0.01 1000 EXPANSION 8");
        }
        for key in ["heavy", "heavy:growing"] {
            let some = items(key, rounds * 1000, rounds * 1000 + 1000);
            client.items("BF.MADD", key, &some);
            let found = show(&client.items("BF.MEXISTS", key, &some));
            assert_eq!(found.matches(":1").count(), some.len(), "{key} lost items");
        }
        rounds += 1;
    }
}
