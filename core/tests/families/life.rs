//! Random lives of filters of all kinds, with fixed seeds; see `bloomline_reference::life`.
//!
//! `BLOOMLINE_LIVES` multiplies their number, and `BLOOMLINE_SEED` is where the seeds begin.

use std::time::Instant;

use bloomline_reference::life::choices::Choices;
use bloomline_reference::life::kinds::{KINDS, Kind, LONG_KINDS};
use bloomline_reference::life::run::{Tally, run};
use bloomline_reference::life::steps::STEPS;
use bloomline_reference::life::variable;

/// Prints the seed of a life that panics.
struct Seed(&'static str, u64, Instant);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the life of {} with seed {}, after {:?}", self.0, self.1, self.2.elapsed());
        }
    }
}

/// Lives a number of lives of each kind. Fails if most lives of a kind had no filter.
fn live(kinds: &[Kind], lives: u64, steps: u64) -> Tally {
    let (start, mut tally) = (Instant::now(), Tally::default());
    let lives = if cfg!(miri) { 1 } else { lives * variable("BLOOMLINE_LIVES", 1) };
    let steps = if cfg!(miri) { 6 } else { steps };
    let first = variable("BLOOMLINE_SEED", 0);
    for seed in first..first + lives {
        for kind in kinds {
            let _seed = Seed(kind.name, seed, start);
            run(*kind, &mut Choices::of_seed(seed), steps, &mut tally);
        }
    }
    println!("{} steps in {:?}", tally.total(), start.elapsed());
    for (name, kind) in &tally.kinds {
        println!("{name}: {kind:?}");
    }
    for kind in kinds {
        let lived = tally.kinds.get(kind.name);
        assert!(lived.is_some_and(|it| it.lives * 2 >= lives), "{}: {lived:?}", kind.name);
    }
    tally.assert_rates();
    tally
}

#[test]
fn filters_of_all_kinds_keep_their_promises() {
    let tally = live(&KINDS, 40, 60);
    for (name, count) in &tally.steps {
        println!("{name}: {count:?}");
    }
    if !cfg!(miri) {
        assert!(tally.total() > 33_000, "{} steps", tally.total());
        for row in STEPS {
            let count = tally.steps.get(row.name).copied().unwrap_or_default();
            let least = if row.name == "pass" { 0 } else { 20 };
            assert!(count.done > 330 && count.effective >= least, "{}: {count:?}", row.name);
        }
        println!("sparse filters that became dense: {:?}", tally.dense);
        for (name, least) in [("insert", 10), ("merge", 3)] {
            assert!(tally.dense.get(name).is_some_and(|&count| count >= least));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn rounds_of_compactions_do_not_end_growth() {
    let tally = live(&LONG_KINDS, 5, 0);
    assert!(tally.kinds.values().all(|kind| kind.steps > 200 && kind.most_parts > 2));
}
