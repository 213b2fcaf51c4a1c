//! Filters in this project's layout compared with their reference model, byte by byte.

use std::cell::Cell;

use bloomline_core::Error;
use bloomline_core::host::Demand;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_reference::bloomline_cuckoo::Model;
use bloomline_reference::random::Random;
use bloomline_reference::redisbloom_cuckoo::Refusal;
use proptest::prelude::*;

use super::{Layout, compact, granted, reloaded, reloaded_in_chunks_of, tables};

const SEED: u64 = 0x5eed;

const RATES: [f64; 8] = [0.9, 0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6];

/// One step on some of few items.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(u16),
    InsertNew(u16),
    /// The same item again and again.
    InsertCopies(u16, u8),
    InsertMany(u16, u16),
    /// The permit refuses to grow.
    InsertWithinMemory(u16, u16),
    Remove(u16),
    RemoveMany(u16, u16),
    Contains(u16),
    Count(u16),
    Compact,
    Reload,
    /// The size of the chunks.
    ReloadInChunks(u16),
    Clone,
}

fn step() -> impl Strategy<Value = Step> {
    let item = || prop_oneof![0..400u16, Just(7)];
    prop_oneof![
        8 => item().prop_map(Step::Insert),
        4 => item().prop_map(Step::InsertNew),
        2 => (item(), 1..=100u8).prop_map(|(item, copies)| Step::InsertCopies(item, copies)),
        3 => (item(), 0..300u16).prop_map(|(first, count)| Step::InsertMany(first, count)),
        1 => (item(), 0..300u16).prop_map(|(first, count)| Step::InsertWithinMemory(first, count)),
        5 => item().prop_map(Step::Remove),
        2 => (item(), 0..200u16).prop_map(|(first, count)| Step::RemoveMany(first, count)),
        2 => item().prop_map(Step::Contains),
        2 => item().prop_map(Step::Count),
        1 => Just(Step::Compact),
        1 => Just(Step::Reload),
        1 => (1..300u16).prop_map(Step::ReloadInChunks),
        1 => Just(Step::Clone),
    ]
}

fn item(number: u16) -> Vec<u8> {
    format!("item:{number}").into_bytes()
}

fn items(first: u16, count: u16) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(move |index| item(first.wrapping_add(index)))
}

/// A filter and its model.
struct Pair {
    filter: AnyCuckoo,
    model: Model,
}

impl Pair {
    fn new(capacity: u64, error_rate: f64, is_fixed: bool) -> Self {
        let filter = Layout::Bloomline { error_rate, is_fixed }.create_seeded(capacity, SEED);
        let model = Model::new(capacity, error_rate, is_fixed, SEED).expect("a rate of the range");
        Self { filter, model }
    }

    /// Inserts items in both; `is_new` only those that are not there. `may_grow` is the permit.
    fn insert(&mut self, items: impl Iterator<Item = Vec<u8>>, only_new: bool, may_grow: bool) {
        let Self { filter, model } = self;
        for item in items {
            let mut is_refused = false;
            let mut permit = |_: Demand| {
                is_refused = !may_grow;
                may_grow
            };
            let inserted = match only_new {
                true => filter.insert_new(&item, &mut permit),
                false => filter.insert(&item, &mut permit).map(|()| true),
            };
            let expected = match only_new {
                // For a table, or for a longer list, which the model does not count.
                _ if is_refused => Err(Refusal::CannotGrow),
                true => model.insert_new(&item, may_grow),
                false => model.insert(&item, may_grow).map(|()| true),
            };
            assert_eq!(answer(inserted), expected);
        }
    }

    fn perform(&mut self, step: Step) {
        match step {
            Step::Insert(number) => self.insert(items(number, 1), false, true),
            Step::InsertNew(number) => self.insert(items(number, 1), true, true),
            Step::InsertCopies(number, copies) => {
                self.insert((0..copies).map(|_| item(number)), false, true);
            }
            Step::InsertMany(first, count) => self.insert(items(first, count), false, true),
            Step::InsertWithinMemory(first, count) => {
                self.insert(items(first, count), false, false);
            }
            Step::Remove(number) => self.remove(number, 1),
            Step::RemoveMany(first, count) => self.remove(first, count),
            Step::Contains(number) => {
                let item = item(number);
                assert_eq!(self.filter.contains(&item), self.model.contains(&item));
            }
            Step::Count(number) => {
                let item = item(number);
                assert_eq!(self.filter.count(&item), self.model.count(&item));
            }
            Step::Compact => {
                let compaction = compact(&mut self.filter);
                assert_eq!(compaction.is_changed, self.model.compact());
            }
            Step::Reload => self.filter = reloaded(&self.filter),
            Step::ReloadInChunks(size) => {
                self.filter = reloaded_in_chunks_of(&self.filter, size.into());
            }
            Step::Clone => self.filter = self.filter.try_clone(&mut granted).expect("a copy"),
        }
    }

    fn remove(&mut self, first: u16, count: u16) {
        for item in items(first, count) {
            assert_eq!(self.filter.remove(&item), self.model.remove(&item));
        }
    }

    /// Compares all bytes and numbers.
    fn assert_equal(&self) {
        let Self { filter, model } = self;
        filter.check().expect("valid");
        let expansion = if model.is_fixed { 0 } else { 1 };
        let is_equal = filter.encode_header() == model.header(2, 20, expansion);
        assert!(is_equal, "the headers differ: {filter:?}, {}", model.numbers());
        for (index, (bytes, table)) in tables(filter).iter().zip(&model.tables).enumerate() {
            assert!(*bytes == table.bytes(), "table {index} differs: {filter:?}");
        }
        assert_eq!((filter.len(), filter.deletes()), (model.len(), model.deletes));
        let rates = (filter.current_rate().unwrap(), model.current_rate());
        assert!((rates.0 - rates.1).abs() <= 1e-12 * rates.1, "{rates:?}");
        assert!(rates.1 <= model.rate_for_life() * (1.0 + 1e-12));
        assert!(model.rate_for_life() <= model.error_rate * (1.0 + 1e-12));
    }
}

/// The result of an insertion, as far as the model distinguishes it.
fn answer(result: Result<bool, Error>) -> Result<bool, Refusal> {
    result.map_err(|error| match error {
        Error::Full(_) => Refusal::Full,
        Error::Refused(_) | Error::TooManyLayers(_) => Refusal::CannotGrow,
        other => panic!("{other}"),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn own_streams_agree_with_the_reference_model(
        capacity in prop_oneof![1..60u64, 1..5_000u64],
        rate in 0..RATES.len(),
        is_fixed in prop_oneof![1 => Just(true), 3 => Just(false)],
        steps in proptest::collection::vec(step(), 0..80),
    ) {
        let mut pair = Pair::new(capacity, RATES[rate], is_fixed);
        pair.assert_equal();
        for step in steps {
            pair.perform(step);
            pair.assert_equal();
        }
    }
}

/// Every small capacity, compared after each insertion and each deletion.
#[test]
fn small_filters_agree_with_the_model_after_each_step() {
    let most = if cfg!(miri) { 3 } else { 70 };
    for capacity in 1..=most {
        for error_rate in [0.25, 0.01, 1e-5] {
            for is_fixed in [true, false] {
                let mut pair = Pair::new(capacity, error_rate, is_fixed);
                let count = capacity as u16 * 3 + 20;
                for number in 0..count {
                    pair.insert(items(number, 1), false, true);
                    pair.assert_equal();
                }
                for number in (0..count).step_by(2) {
                    pair.remove(number, 1);
                    pair.assert_equal();
                }
                pair.perform(Step::Compact);
                pair.assert_equal();
            }
        }
    }
}

/// Growth over several tables and their doublings, deletions of half of the items, compaction, and
/// growth again.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn grown_filters_agree_with_the_reference_model() {
    for (capacity, error_rate) in [(1, 0.01), (10, 0.25), (100, 1e-4), (1_000, 0.03)] {
        let mut pair = Pair::new(capacity, error_rate, false);
        let mut random = Random::new(capacity);
        for round in 0..3 {
            for number in 0..6_000 {
                pair.insert(items(round * 10_000 + number, 1), false, true);
                if random.below(3) == 0 {
                    // Any item so far, which may have been removed already.
                    let number = random.below(u64::from(round * 10_000 + number) + 1);
                    pair.remove(number as u16, 1);
                }
                if number % 101 == 0 {
                    pair.assert_equal();
                }
            }
            for number in 0..6_000 {
                pair.remove(round * 10_000 + number, 1);
            }
            pair.assert_equal();
            pair.perform(Step::Compact);
            pair.assert_equal();
        }
    }
}

/// Batches do what single calls do in the same order, also where the filter grows in their midst.
#[test]
fn own_batches_agree_with_the_reference_model() {
    let calls = if cfg!(miri) { 3 } else { 60 };
    for error_rate in [0.25, 0.01, 1e-4] {
        let mut pair = Pair::new(10, error_rate, false);
        for call in 0..calls {
            let only_new = call % 3 == 0;
            let items: Vec<_> = items(call * 70, 150).collect();
            let mut answers = Vec::new();
            pair.filter.insert_batch(items.iter(), only_new, &mut granted, |result| {
                answers.push(answer(result));
            });
            let model = &mut pair.model;
            let expected = items.iter().map(|item| match only_new {
                true => model.insert_new(item, true),
                false => model.insert(item, true).map(|()| true),
            });
            assert!(answers.into_iter().eq(expected));
            pair.assert_equal();
            let mut found = Vec::new();
            let tested: Vec<_> = (0..3_000).map(item).collect();
            pair.filter.contains_batch(tested.iter(), |is_in| found.push(is_in));
            assert!(tested.iter().map(|item| pair.model.contains(item)).eq(found));
        }
    }
}

/// In a batch, an item that is refused changes nothing for those after it.
#[test]
fn own_batches_continue_after_a_refusal() {
    let mut pair = Pair::new(50, 0.01, false);
    let items: Vec<_> = items(0, 300).collect();
    let (left, mut answers) = (Cell::new(2), Vec::new());
    // Two growths are granted.
    let mut permit = |_: Demand| left.replace(left.get().max(1) - 1) > 0;
    pair.filter.insert_batch(items.iter(), false, &mut permit, |result| answers.push(result));
    for (item, answer) in items.iter().zip(answers) {
        match answer {
            Ok(_) => pair.model.insert(item, true).unwrap(),
            Err(error) => assert!(matches!(error, Error::Refused(_)), "{error}"),
        }
    }
    pair.assert_equal();
    assert!(pair.model.len() < 300);
}
