//! A client that adds and looks up in a thread of its own, while the test changes the servers.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use bloomline_harness::{Client, SetOnDrop, show, until};
use redis::Value;

/// Items that a round adds to each key.
const ITEMS_PER_ROUND: usize = 10;

/// Adds to each key, round after round, until `during` has returned; returns the number of rounds.
///
/// `run` sends a command and returns its reply. Every round also looks up the items of this round
/// and of an earlier one. `during` can wait for rounds: see [`Rounds::pass`].
pub fn while_adding(
    keys: &[&str],
    run: impl FnMut(&[&[u8]]) -> Value + Send,
    during: impl FnOnce(&Rounds),
) -> usize {
    let (rounds, is_over) = (Rounds::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        // Panic messages contain the name of the thread, hence of the server.
        let name = thread::current().name().unwrap_or_default().to_owned();
        let adding = thread::Builder::new()
            .name(name)
            .spawn_scoped(scope, || {
                let _end = SetOnDrop(&rounds.has_ended);
                add_until(keys, run, &rounds, &is_over);
            })
            .expect("a thread");
        let end = SetOnDrop(&is_over);
        during(&rounds);
        drop(end);
        if let Err(panic) = adding.join() {
            resume_unwind(panic);
        }
    });
    rounds.done()
}

/// The number of rounds that the client has completed.
#[derive(Default)]
pub struct Rounds {
    done: AtomicUsize,
    has_ended: AtomicBool,
}

impl Rounds {
    /// The rounds whose items were all acknowledged.
    pub fn done(&self) -> usize {
        self.done.load(Ordering::SeqCst)
    }

    /// Waits for some more rounds. Panics if the client has panicked.
    pub fn pass(&self, more: usize) {
        let goal = self.done() + more;
        until("more items to be added", || {
            assert!(!self.has_ended.load(Ordering::SeqCst), "the client has ended");
            (self.done() >= goal).then_some(())
        });
    }
}

/// Asserts that the filter under each key has every item of every round.
pub fn assert_has_rounds(client: &mut Client, keys: &[&str], rounds: usize) {
    assert!(rounds > 0, "nothing was added");
    let items: Vec<Vec<u8>> = (0..rounds).flat_map(items_of).collect();
    for key in keys {
        let command = format!("{}.MEXISTS", client.family(key));
        for batch in items.chunks(1000) {
            let found = show(&client.items(&command, key, batch));
            assert_eq!(found.matches(":1").count(), batch.len(), "{key} lost items: {found}");
        }
    }
}

fn items_of(round: usize) -> Vec<Vec<u8>> {
    (0..ITEMS_PER_ROUND).map(|i| format!("round:{round}:{i}").into_bytes()).collect()
}

fn add_until(
    keys: &[&str],
    mut run: impl FnMut(&[&[u8]]) -> Value,
    rounds: &Rounds,
    is_over: &AtomicBool,
) {
    let mut answers = |command: &str, key: &str, items: &[Vec<u8>]| {
        let mut args = vec![command.as_bytes(), key.as_bytes()];
        args.extend(items.iter().map(Vec::as_slice));
        show(&run(&args))
    };
    for round in 0.. {
        if is_over.load(Ordering::SeqCst) {
            return;
        }
        for key in keys {
            let new = items_of(round);
            let added = answers("BF.MADD", key, &new);
            assert!(added.starts_with("*[:") && !added.contains('-'), "BF.MADD {key}: {added}");
            for items in [new, items_of(round / 2)] {
                let found = answers("BF.MEXISTS", key, &items);
                assert_eq!(found.matches(":1").count(), items.len(), "{key} lost items: {found}");
            }
        }
        rounds.done.fetch_add(1, Ordering::SeqCst);
    }
}
