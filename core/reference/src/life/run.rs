//! A life: a filter of some kind, steps on it, and what must hold after each.

use std::collections::BTreeMap;

use bloomline_core::Error;
use bloomline_core::chunk::Bits;
use bloomline_core::host::{AnyRef, Demand};
use bloomline_core::work;

use super::choices::Choices;
use super::filter::{Filter, Outcome, emptied};
use super::forgery::forge;
use super::kinds::{KINDS, Kind, Numbers, Shape};
use super::oracle::Oracle;
use super::promises::Promises;
use super::rounds;
use super::steps::{ABSENT, Items, Order, Span, Step, breaks_promises, choose, item};
use crate::calls::Calls;
use crate::checks::accepted::assert_valid;
use crate::checks::check::LIMIT;
use crate::checks::encodings::demand_of;

/// The most steps of a life in bytes.
const MOST_STEPS: u64 = 100;

/// The largest filter of a life of rounds, in bytes.
const LARGE_LIMIT: u64 = 16 << 20;

/// Large filters are checked after this number of steps.
const CHECKED_ROUNDS: u64 = 7;

/// The most steps of searches that a call of a cuckoo filter may take.
const MOST_WORK: u64 = 4_000_000;

/// The most layers: the time of the reference models grows with the square of their number.
const MOST_PARTS: u32 = 60;

/// How often a step was done, and how often it changed something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub done: u64,
    pub effective: u64,
}

/// What the lives of a kind have exercised.
#[derive(Debug, Default)]
pub struct KindTally {
    pub lives: u64,
    pub steps: u64,
    /// Lookups of items that were not to be found, those that found one, and how many may have.
    pub lookups: u64,
    pub hits: u64,
    pub expected: f64,
    pub most_parts: u32,
}

/// What all lives have exercised.
#[derive(Debug, Default)]
pub struct Tally {
    pub steps: BTreeMap<&'static str, Count>,
    pub kinds: BTreeMap<&'static str, KindTally>,
    /// Steps in which a sparse filter became dense, by the name of the step.
    pub dense: BTreeMap<&'static str, u64>,
}

impl Tally {
    pub fn total(&self) -> u64 {
        self.kinds.values().map(|kind| kind.steps).sum()
    }

    /// Asserts that the false-positive rates of each kind are at most the target rates, as a mean
    /// over all its filters.
    pub fn assert_rates(&self) {
        for (name, tally) in &self.kinds {
            // Filters of few bits differ from each other, and RedisBloom rounds numbers of hashes.
            let most = 1.2 * tally.expected + 8.0 * tally.expected.sqrt() + 8.0;
            let (hits, lookups) = (tally.hits, tally.lookups);
            assert!(hits as f64 <= most, "{name}: {hits} of {lookups}, {most} are the most");
        }
    }
}

/// A filter with all that is known about it.
struct Life<'t> {
    numbers: Numbers,
    filter: Filter,
    /// `None` if there is no model of what the filter has become.
    oracle: Option<Oracle>,
    promises: Promises,
    now: u64,
    /// The filter as it was when it was copied last.
    older: Option<Filter>,
    /// The items below this number were inserted.
    next: u64,
    /// Bytes that the filter may have.
    limit: u64,
    /// True if the life may do what breaks promises.
    is_wild: bool,
    /// True if the filter is that of a forged dump.
    is_forged: bool,
    tally: &'t mut KindTally,
}

/// Lives the life in the bytes, whose first one is the kind. True if there was a filter.
pub fn run_bytes(bytes: &[u8]) -> bool {
    let mut choices = Choices::of_bytes(bytes);
    let kind = choices.of(&KINDS);
    run(kind, &mut choices, MOST_STEPS, &mut Tally::default())
}

/// Lives a life of a kind, of at most `steps` steps. False if there was no filter.
pub fn run(kind: Kind, choices: &mut Choices, steps: u64, tally: &mut Tally) -> bool {
    let numbers = Numbers::choose(kind, choices);
    let (now, is_wild) = (choices.below(1 << 32), choices.one_in(4));
    let limit = if kind.has_rounds { LARGE_LIMIT } else { LIMIT };
    let Some((filter, oracle)) = numbers.create(now, limit) else { return false };
    let kind_tally = tally.kinds.entry(kind.name).or_default();
    kind_tally.lives += 1;
    let promises = Promises::new(numbers.window, numbers.is_cuckoo());
    let mut life = Life {
        numbers,
        filter,
        oracle: Some(oracle),
        promises,
        now,
        older: None,
        next: 1,
        limit,
        is_wild,
        is_forged: false,
        tally: kind_tally,
    };
    if kind.has_rounds {
        life.rounds(choices);
        return true;
    }
    let most = choices.of(&[2, 30, 250]);
    for _ in 0..steps {
        if choices.is_over() || life.filter.parts() > MOST_PARTS && !numbers.is_cuckoo() {
            break;
        }
        let (name, step) = choose(choices, &numbers, Span { next: life.next, most });
        if breaks_promises(&step, &numbers) && !is_wild {
            continue;
        }
        let was_listed = life.filter.is_listed();
        let is_effective = life.step(step);
        if was_listed && !life.filter.is_listed() {
            *tally.dense.entry(name).or_default() += 1;
        }
        let count = tally.steps.entry(name).or_default();
        count.done += 1;
        count.effective += u64::from(is_effective);
    }
    life.look_at_all();
    true
}

impl Life<'_> {
    /// Does a step and checks the filter. True if it changed something.
    fn step(&mut self, step: Step) -> bool {
        self.tally.steps += 1;
        let context = Context(self.numbers, step, self.tally.steps);
        let before = self.offsets();
        let is_effective = self.perform(step);
        self.check_allocations();
        self.check();
        // The chunks of a dump that was begun before are written to the same layers, or to none.
        let end = before.last().map_or(0, |&(start, bytes)| start + bytes);
        let is_known = |layer: &(u64, u64)| layer.0 >= end || before.contains(layer);
        assert!(self.offsets().iter().all(is_known), "offsets of other layers: {:?}", self.filter);
        drop(context);
        is_effective
    }

    /// A filter is one allocation as soon as it can be, also after it was more.
    fn check_allocations(&mut self) {
        if let Some(filter) = self.filter.windowed_mut() {
            // As a host does after each call.
            drop(filter.take_dropped());
        }
        let Some(filter) = self.filter.bloom() else { return };
        let mut allocations = 0;
        filter.each_allocation(|_| allocations += 1);
        let is_small = match filter.view() {
            AnyRef::Small(_) => true,
            AnyRef::Windowed(filter) => {
                let bits = filter.layers().map(|layer| layer.bytes()).sum::<u64>();
                filter.size_bytes() == bits + 64 + 8 * filter.generation_count() as u64
            }
            _ => false,
        };
        assert_eq!(allocations == 1, is_small, "{allocations} allocations: {filter:?}");
    }

    fn perform(&mut self, step: Step) -> bool {
        match step {
            Step::Insert { items, only_new, is_refused } => {
                self.insert(items, only_new, is_refused)
            }
            Step::Grow { more } => {
                let count = self.filter.room().min(3_000) + more;
                self.insert(Items { first: self.next, count, stride: 1 }, false, false)
            }
            Step::Test(items) => self.test(&items.numbers().collect::<Vec<_>>()),
            Step::Remove(items) => self.remove(items),
            Step::Pass { parts, back, back_parts } => {
                let slot = self.numbers.window.and_then(|it| it.times()).map_or(100, |it| it.1);
                let millis = |parts| slot.saturating_mul(parts) / 64;
                let passed = millis(parts);
                self.promises.elapsed = self.promises.elapsed.saturating_add(passed);
                self.now = self.now.saturating_add(passed).saturating_sub(back);
                self.now = self.now.saturating_sub(millis(back_parts));
                false
            }
            Step::Advance { is_refused } => self.advance(is_refused).unwrap_or(false),
            Step::Rotate => self.rotate(),
            Step::Compact => self.compact(),
            Step::Merge { items, is_copy, is_compacted, is_refused } => {
                self.merge(items, is_copy, is_compacted, is_refused)
            }
            Step::Load { size, order } => self.load(size, order),
            Step::Copy => {
                let copy = self.filter.copy();
                assert!(copy.dump() == self.filter.dump(), "the copy differs");
                assert_eq!(copy.size_bytes(), self.filter.size_bytes());
                self.older = Some(std::mem::replace(&mut self.filter, copy));
                true
            }
            Step::Forge { changes, seed } => self.forge(changes, &mut Choices::of_seed(seed)),
        }
    }

    /// Where the layers of a windowed filter begin, and their lengths in bytes.
    fn offsets(&self) -> Vec<(u64, u64)> {
        let Some(filter) = self.filter.windowed() else { return Vec::new() };
        let mut start = filter.first_byte();
        let layers = filter.layers().map(|layer| {
            let bytes = layer.words().bytes();
            start += bytes;
            (start - bytes, bytes)
        });
        layers.collect()
    }

    /// What must hold after each step.
    fn check(&mut self) {
        let Self { filter, promises, numbers, .. } = self;
        if numbers.kind.has_rounds && !self.tally.steps.is_multiple_of(CHECKED_ROUNDS) {
            return;
        }
        self.tally.most_parts = self.tally.most_parts.max(filter.parts());
        assert_valid(filter);
        if let Some(oracle) = &self.oracle {
            oracle.assert_equal(filter, self.now);
        }
        promises.assert_len(filter);
        let demanded = filter.bloom().map_or_else(|| filter.size_bytes(), demand_of);
        assert!(demanded <= self.limit, "{demanded} bytes");
        let steps = work::take();
        assert!(steps <= MOST_WORK, "{steps} steps of work: {filter:?}");
        if self.is_forged {
            return;
        }
        if let Some(AnyRef::Bloomline(filter)) = filter.view() {
            let full: f64 = filter.layers().map(|layer| layer.fp_rate(layer.capacity())).sum();
            assert!(full <= numbers.error_rate * (1.0 + 1e-9), "{full} when all layers are full");
        }
        if let Some(windowed) = filter.windowed() {
            assert!(windowed.fp_rate() <= numbers.error_rate, "{}", windowed.fp_rate());
        }
    }

    /// Brings a windowed filter to the time, as a host does before it inserts items. `None` if it
    /// was refused.
    fn advance(&mut self, is_refused: bool) -> Option<bool> {
        let (now, limit, before) = (self.now, self.limit, self.filter.dump());
        let Some(filter) = self.filter.windowed_mut() else { return Some(false) };
        let result = filter.advance(now, &mut |it: Demand| !is_refused && it.filter_bytes <= limit);
        let is_changed = result.as_ref().is_ok_and(|is_changed| *is_changed);
        let again = result.is_ok().then(|| filter.advance(now, &mut |_| true));
        assert!(!matches!(again, Some(Ok(true) | Err(_))), "due again");
        if result.is_ok() {
            self.promises.follow(filter);
            self.oracle.iter_mut().for_each(|oracle| oracle.advance(now));
        }
        assert_eq!(is_changed, self.filter.dump() != before);
        result.ok()
    }

    fn rotate(&mut self) -> bool {
        let (now, limit, before) = (self.now, self.limit, self.filter.dump());
        let Some(filter) = self.filter.windowed_mut() else { return false };
        let result = filter.rotate(now, &mut |demand: Demand| demand.filter_bytes <= limit);
        if result.is_ok() {
            self.promises.are_kept &= !breaks_promises(&Step::Rotate, &self.numbers);
            self.promises.follow(filter);
            self.oracle.iter_mut().for_each(|oracle| oracle.rotate(now));
        }
        assert_eq!(result.is_ok(), self.filter.dump() != before);
        result.is_ok()
    }

    fn insert(&mut self, items: Items, only_new: bool, is_refused: bool) -> bool {
        if self.advance(is_refused).is_none() {
            return false;
        }
        self.next = self.next.max(items.first + items.count * items.stride);
        let limit = if is_refused { 0 } else { self.limit };
        let permit = &mut |demand: Demand| demand.filter_bytes <= limit;
        let (bytes, before) = (items.bytes(), self.filter.dump());
        // One by one, for comparison; a call to a classic cuckoo filter counts its failed searches.
        let has_single = self.numbers.kind.shape != Shape::RedisBloomCuckoo;
        if self.numbers.kind.shape == Shape::Cuckoo {
            // As much room in its lists as the other copy has.
            self.filter = self.filter.copy();
        }
        let mut single = has_single.then(|| self.filter.copy());
        let outcomes = match &bytes[..] {
            [item] => vec![self.filter.insert_one(item, only_new, self.now, permit)],
            _ => self.filter.insert(&bytes, only_new, self.now, permit),
        };
        let is_whole = outcomes.len() == bytes.len();
        assert!(is_whole || single.is_some() && outcomes.last() == Some(&Outcome::Full));
        self.oracle.iter_mut().for_each(|oracle| oracle.begin_call(&self.filter));
        for ((number, item), &outcome) in items.numbers().zip(&bytes).zip(&outcomes) {
            if let Some(single) = &mut single {
                let answer = single.insert_one(item, only_new, self.now, permit);
                assert_eq!(outcome, answer, "one call, and one by one");
                if let Some(filter) = single.windowed() {
                    self.promises.follow(filter);
                }
            }
            if let Some(oracle) = &mut self.oracle {
                oracle.assert_inserts(item, only_new, limit, outcome);
            }
            let filter = single.as_ref().unwrap_or(&self.filter);
            self.promises.inserted(filter, number, self.now, outcome);
        }
        let after = self.filter.dump();
        assert!(single.is_none_or(|single| single.dump() == after), "one call, and one by one");
        let is_written = outcomes.iter().any(|outcome| outcome.is_written());
        assert_eq!(is_written, after != before, "{outcomes:?}");
        is_written
    }

    fn remove(&mut self, items: Items) -> bool {
        // Only wild lives delete what was not inserted.
        let may_remove = |number: &u64| self.is_wild || self.promises.items.contains_key(number);
        let mut numbers: Vec<u64> = items.numbers().filter(may_remove).collect();
        if items.stride == 0 && !self.is_wild {
            numbers.truncate(self.promises.least_copies(items.first) as usize);
        }
        let bytes: Vec<Vec<u8>> = numbers.iter().map(|&number| item(number)).collect();
        let before = self.filter.dump();
        let answers = self.filter.remove(&bytes);
        for ((number, item), is_removed) in numbers.into_iter().zip(&bytes).zip(&answers) {
            if let Some(oracle) = &mut self.oracle {
                oracle.assert_removes(item, *is_removed);
            }
            self.promises.removed(number, *is_removed);
        }
        let is_removed = answers.contains(&true);
        assert_eq!(is_removed, self.filter.dump() != before);
        is_removed
    }

    fn compact(&mut self) -> bool {
        let (size, len, before) = (self.filter.size_bytes(), self.filter.len(), self.filter.dump());
        let result = self.filter.compact();
        assert_eq!(result.err(), self.refusal());
        let (is_changed, freed) = result.unwrap_or_default();
        assert_eq!(size.checked_sub(freed), Some(self.filter.size_bytes()));
        assert!(self.filter.len() == len || self.is_forged);
        assert_eq!(is_changed, self.filter.dump() != before);
        let oracle = self.oracle.as_mut();
        let (expected, has_model) =
            oracle.map_or((None, false), |oracle| oracle.compact(&self.filter, is_changed));
        assert!(expected.is_none_or(|expected| expected == is_changed), "{is_changed}");
        if !has_model {
            self.oracle = None;
        }
        self.look_at_all();
        is_changed
    }

    /// Why filters of this kind are neither merged nor compacted.
    fn refusal(&self) -> Option<Error> {
        match self.filter.view()? {
            AnyRef::Windowed(_) => Some(Error::Windowed),
            AnyRef::ValkeyBloom(_) => Some(Error::OfValkeyBloom),
            _ => None,
        }
    }

    /// A refused union changes nothing, and the result is not larger than was permitted.
    fn merge(&mut self, items: Items, is_copy: bool, is_compacted: bool, is_refused: bool) -> bool {
        if self.advance(false).is_none() {
            return false;
        }
        let (now, before, refusal) = (self.now, self.filter.dump(), self.refusal());
        let Filter::Bloom(filter) = &mut self.filter else { return false };
        let limit = if is_refused { demand_of(filter) } else { self.limit };
        let mut other = match is_copy {
            true => match self.older.take() {
                Some(Filter::Bloom(older)) => older,
                _ => filter.try_clone(&mut |_| true).expect("memory"),
            },
            false => match emptied(filter, now, &mut |_| true) {
                Ok(other) => other,
                Err(_) => return false,
            },
        };
        let small = &mut |demand: Demand| demand.filter_bytes <= self.limit;
        other.insert_each(&mut items.bytes().iter().map(Vec::as_slice), 0, small, &mut |_| {});
        if is_compacted {
            let _ = other.compact();
        }
        let result = filter.union(&[&other], &mut |demand| demand.filter_bytes <= limit);
        assert!(demand_of(filter) <= limit);
        assert!(refusal.is_none() || result.as_ref().err() == refusal.as_ref());
        let is_changed = *result.as_ref().unwrap_or(&false);
        if result.is_ok() {
            let found = |number: &u64| other.contains_item(&item(*number), now);
            let merged: Vec<u64> = items.numbers().filter(found).collect();
            assert!(merged.iter().all(|&number| filter.contains_item(&item(number), now)));
            if is_changed {
                self.oracle = None;
                self.promises.merged(&self.filter, merged.into_iter(), now);
            }
        }
        assert_eq!(is_changed, self.filter.dump() != before);
        self.look_at_all();
        is_changed
    }

    fn load(&mut self, size: u64, order: Order) -> bool {
        let dump = self.filter.dump();
        let loaded = self.filter.decode(&dump.header, &mut |_| true);
        let mut loaded = loaded.unwrap_or_else(|why| panic!("{why}: {:?}", self.filter));
        let size = usize::try_from(size.max(self.filter.size_bytes() / 500)).unwrap_or(usize::MAX);
        let mut parts = Vec::new();
        for (position, chunk) in &dump.chunks {
            for (index, part) in chunk.chunks(size).enumerate() {
                let at = index * size;
                parts.push((loaded.part_position((*position, chunk), at, part.len()), part));
            }
        }
        match order {
            Order::Forward => {}
            Order::Backward => parts.reverse(),
            Order::Twice => parts = parts.iter().flat_map(|part| [*part, *part]).collect(),
        }
        for (index, (position, part)) in parts.into_iter().enumerate() {
            let is_changed = loaded.load(position, part).expect("its own chunk");
            let is_second = matches!(order, Order::Twice) && index % 2 == 1;
            assert!(is_changed == (!is_second && part.iter().any(|byte| *byte != 0)));
        }
        assert!(loaded.dump() == dump, "the loaded filter differs: {loaded:?}");
        self.filter = loaded;
        true
    }

    /// Tests items, some absent ones, and some that are forgotten.
    fn test(&mut self, numbers: &[u64]) -> bool {
        let stranger = (self.tally.steps << 20 | self.next) << 8;
        let absent = (0..40).map(|index| ABSENT | (stranger + index));
        let now = self.filter.windowed().map_or(0, |windowed| windowed.time_at(self.now));
        let gone = self.promises.gone(now);
        let missing: Vec<u64> = absent.chain(gone.into_iter().step_by(7)).collect();
        let all: Vec<u64> = numbers.iter().chain(&missing).copied().collect();
        let bytes: Vec<Vec<u8>> = all.iter().map(|&number| item(number)).collect();
        let answers = self.filter.contains_all(&bytes, self.now);
        for ((&number, item), &found) in all.iter().zip(&bytes).zip(&answers) {
            assert!(found || !self.promises.must_find(number), "item {number} is missing");
            assert_eq!(self.filter.contains(item, self.now), found);
            assert_eq!(self.filter.contains_scalar(item, self.now), found);
            let count = self.filter.count(item, self.now);
            assert_eq!(count > 0, found);
            // In RedisBloom's layout an item counts twice while its two buckets are one.
            if self.numbers.kind.shape == Shape::Cuckoo {
                assert!(count >= self.promises.least_copies(number), "copies of {number}");
            }
            if let Some(oracle) = &self.oracle {
                oracle.assert_counts(item, self.now, count);
            }
        }
        if self.numbers.promises_rate() && !self.is_forged {
            let hits = answers[numbers.len()..].iter().filter(|found| **found).count() as u64;
            self.tally.hits += hits;
            self.tally.lookups += missing.len() as u64;
            self.tally.expected += missing.len() as f64 * self.numbers.error_rate;
        }
        true
    }

    /// Tests the items that were inserted, or a part of very many.
    fn look_at_all(&mut self) {
        let stride = self.promises.items.len() / 2_000 + 1;
        let numbers: Vec<u64> = self.promises.items.keys().copied().step_by(stride).collect();
        self.test(&numbers);
    }

    /// Lives some steps with the filter of a forged dump. False if it is refused.
    fn forge(&mut self, changes: u64, choices: &mut Choices) -> bool {
        let Some(filter) = forge(&self.filter, changes, choices) else { return false };
        let now = filter.windowed().map_or(0, |windowed| windowed.newest().opened());
        let mut promises = Promises::new(self.numbers.window, self.numbers.is_cuckoo());
        (promises.are_kept, promises.is_counted) = (false, false);
        let mut life = Life {
            oracle: Oracle::of(&filter),
            numbers: Numbers { window: filter.windowed().map(|it| it.spec()), ..self.numbers },
            filter,
            promises,
            now: now.saturating_add(choices.below(9_000)),
            older: None,
            next: self.next,
            limit: self.limit,
            is_wild: true,
            is_forged: true,
            tally: &mut *self.tally,
        };
        life.check();
        match choices.below(4) {
            0 => drop(life.step(Step::Compact)),
            1 => {
                let items = Items { first: life.next, count: choices.within(1..=250), stride: 1 };
                life.step(Step::Merge {
                    items,
                    is_copy: false,
                    is_compacted: false,
                    is_refused: false,
                });
            }
            2 => {
                let items = Items { first: life.next, count: choices.within(1..=60), stride: 0 };
                life.step(Step::Insert { items, only_new: false, is_refused: false });
            }
            _ => {}
        }
        let steps = choices.of(&[12, 12, 40]);
        for _ in 0..choices.below(steps) {
            let most = choices.of(&[2, 30, 250]);
            let (_, step) = choose(choices, &life.numbers, Span { next: life.next, most });
            if !matches!(step, Step::Forge { .. }) {
                life.step(step);
            }
        }
        true
    }

    /// Insertions and compactions in turn.
    fn rounds(&mut self, choices: &mut Choices) {
        let capacity = self.numbers.capacity;
        let batch = choices.of(&[1, 100, capacity / 10 + 1, capacity / 2 + 1, 3 * capacity / 2]);
        let rounds = (40_000 / batch).clamp(4, 400);
        for _ in 0..rounds {
            let items = Items { first: self.next, count: batch, stride: 1 };
            let is_over = !self.step(Step::Insert { items, only_new: false, is_refused: false });
            if is_over {
                break;
            }
            self.step(Step::Compact);
        }
        rounds::assert_rounds(&self.filter, &self.numbers, self.next);
    }
}

/// Prints what was done if that panics.
struct Context(Numbers, Step, u64);

impl Drop for Context {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("step {} of this kind: {:?} of {:?}", self.2, self.1, self.0);
        }
    }
}
