//! A program of operations on a filter, compared with an exact set and with the reference model.

use std::collections::HashSet;

use arbitrary::{Arbitrary, Result, Unstructured};
use bloomline_core::Error;
use bloomline_core::batch::contains_spot;
use bloomline_core::bloomline::hash::item_hash;
use bloomline_core::host::{AnyFilter, Demand, Filter, Growth, Insertion, Spec};
use bloomline_core::layer::Probe;
use bloomline_core::redisbloom::geometry::Options;
use bloomline_core::redisbloom::{ClassicFilter, Common};
use bloomline_core::simd::Scalar;

use crate::{bloomline, redisbloom};

use super::check::{LIMIT, assert_consistent, assert_equal, assert_reloads, bits, small};
use super::items::{Item, numbered};
use super::{cuckoo, windowed};

/// Filters without a window ignore the time.
const NOW: u64 = 0;

/// One step of a program.
#[derive(Arbitrary, Debug)]
enum Step {
    Insert(Item),
    InsertMany { first: u16, count: u8 },
    InsertRefused { first: u16, count: u8 },
    Contains(Item),
    ContainsMany { first: u16, count: u8 },
    SaveAndLoad,
    Clone,
    Compact,
    Merge { first: u16, count: u8 },
}

/// The result of an insertion, as far as the reference models distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    New,
    Seen,
    Full,
    CannotGrow,
}

impl Answer {
    fn of(result: Result<Insertion, Error>) -> Self {
        match result {
            Ok(Insertion::New) => Self::New,
            Ok(Insertion::Present) => Self::Seen,
            Ok(Insertion::Refreshed) => panic!("the filter has no window"),
            Err(Error::Full(_)) => Self::Full,
            Err(_) => Self::CannotGrow,
        }
    }
}

/// The reference model of either layout.
enum Model {
    Own(bloomline::Model),
    Foreign(redisbloom::Model),
}

impl Model {
    fn contains(&self, item: &[u8]) -> bool {
        match self {
            Self::Own(model) => model.contains(item),
            Self::Foreign(model) => model.contains(item),
        }
    }

    fn insert(&mut self, item: &[u8]) -> Answer {
        match self {
            Self::Own(model) => match model.insert(item) {
                bloomline::Answer::New => Answer::New,
                bloomline::Answer::Seen => Answer::Seen,
                bloomline::Answer::Full => Answer::Full,
                bloomline::Answer::CannotGrow => Answer::CannotGrow,
            },
            Self::Foreign(model) => match model.insert(item) {
                redisbloom::Answer::New => Answer::New,
                redisbloom::Answer::Seen => Answer::Seen,
                redisbloom::Answer::Full => Answer::Full,
                redisbloom::Answer::CannotGrow => Answer::CannotGrow,
            },
        }
    }

    fn bits(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Own(model) => {
                model.layers.iter().map(|layer| layer.bits.as_raw_slice().to_vec()).collect()
            }
            Self::Foreign(model) => {
                model.layers.iter().map(|layer| layer.bits.as_raw_slice().to_vec()).collect()
            }
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::Own(model) => model.len(),
            Self::Foreign(model) => model.layers.iter().map(|layer| layer.len).sum(),
        }
    }
}

/// A filter with all that is known about it.
struct Run {
    filter: AnyFilter,
    /// A filter as it was created.
    empty: AnyFilter,
    /// None after the filter was compacted or merged: from then on only the exact set counts.
    model: Option<Model>,
    /// The items that the filter must report as present.
    inside: HashSet<Vec<u8>>,
    inserted: u64,
}

/// Takes the bytes as a program and runs it. The last byte decides which kind of
/// filter it is for. True if there was a filter.
pub fn run(bytes: &[u8]) -> bool {
    match bytes.split_last() {
        Some((last, rest)) if last % 4 == 3 => return windowed::run(rest),
        Some((last, rest)) if last % 16 == 2 => return cuckoo::run(rest),
        Some((last, rest)) if last % 16 == 6 => return cuckoo::run_bloomline(rest),
        _ => {}
    }
    let mut u = Unstructured::new(bytes);
    program(&mut u).unwrap_or(false)
}

fn program(u: &mut Unstructured) -> Result<bool> {
    let Some((filter, model)) = created(u)? else { return Ok(false) };
    let empty = filter.try_clone(&mut |_| true).expect("memory");
    let (model, inside) = (Some(model), HashSet::new());
    let mut run = Run { filter, empty, model, inside, inserted: 0 };
    for _ in 0..u.int_in_range(0..=40u8)? {
        let step = u.arbitrary()?;
        run.step(step);
        if run.filter.size_bytes() <= LIMIT {
            assert_reloads(&run.filter);
        }
        if run.filter.layer_count() > 40 {
            break;
        }
    }
    run.finish();
    Ok(true)
}

/// A filter of either layout, small enough that it grows.
fn created(u: &mut Unstructured) -> Result<Option<(AnyFilter, Model)>> {
    const ERRORS: [f64; 9] = [0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12];
    let capacity = u.int_in_range(1..=400u64)?;
    let error_rate = *u.choose(&ERRORS)? * (1.0 - f64::from(u.int_in_range(0..=9u8)?) / 16.0);
    let expansion = u.int_in_range(0..=4u32)?;
    // The time of the reference models grows with the square of the number of layers, and one step
    // may add dozens of layers.
    let capacity = if expansion <= 1 { capacity.max(8) } else { capacity };
    if u.arbitrary()? {
        let growth = if expansion == 0 { Growth::Fixed } else { Growth::Scaling { expansion } };
        let spec = Spec { capacity, error_rate, growth };
        let seed = u.arbitrary()?;
        let filter = Filter::new(spec, seed, &mut small);
        return Ok(filter
            .ok()
            .map(|filter| (filter.into(), Model::Own(bloomline::Model::new(spec, seed)))));
    }
    // Without the option that takes the capacity as a number of bits. No filter has it by default.
    let options = u.int_in_range(0..=15u32)? & !2;
    let expansion = expansion.max(1);
    let common = Common { options: Options::from_bits(options), expansion };
    let first = if options & 8 == 0 { error_rate * 0.5 } else { error_rate };
    let filter = ClassicFilter::new(capacity, error_rate, common, &mut small);
    let plan = redisbloom::Plan::new(options, capacity, first);
    assert_eq!(filter.is_ok(), plan.is_some());
    Ok(filter.ok().zip(plan).map(|(filter, plan)| {
        let layers = vec![redisbloom::ModelLayer::new(plan)];
        (
            filter.into(),
            Model::Foreign(redisbloom::Model { options, expansion: expansion.into(), layers }),
        )
    }))
}

impl Run {
    fn step(&mut self, step: Step) {
        match step {
            Step::Insert(item) => self.insert(&item.bytes()),
            Step::InsertMany { first, count } => self.insert_many(&numbered(first, count)),
            Step::InsertRefused { first, count } => {
                self.insert_without_growth(&numbered(first, count))
            }
            Step::Contains(item) => self.test(&[item.bytes()]),
            Step::ContainsMany { first, count } => self.test(&numbered(first, count)),
            Step::SaveAndLoad => self.filter = assert_reloads(&self.filter),
            Step::Clone => self.filter = self.filter.try_clone(&mut |_| true).expect("memory"),
            Step::Compact => self.compact(),
            Step::Merge { first, count } => self.merge(&numbered(first, count)),
        }
    }

    /// Compacting changes neither the count nor, upwards, the size.
    fn compact(&mut self) {
        let (size, len) = (self.filter.size_bytes(), self.filter.len());
        let freed = self.filter.compact();
        assert_eq!((self.filter.size_bytes() + freed, self.filter.len()), (size, len));
        if freed > 0 {
            self.model = None;
        }
    }

    /// Merges the filter with one that was created in the same way and contains the items. A refused
    /// union changes nothing.
    fn merge(&mut self, items: &[Vec<u8>]) {
        let mut other = self.empty.try_clone(&mut |_| true).expect("memory");
        let mut inside = Vec::new();
        for item in items {
            if other.insert(item, &mut |_| true).is_ok() {
                inside.push(item.clone());
            }
        }
        let before = self.filter.try_clone(&mut |_| true).expect("memory");
        match self.filter.union(&[&other], &mut |_| true) {
            Ok(true) => {
                self.inside.extend(inside);
                // An estimate.
                self.inserted = self.filter.len();
                self.model = None;
            }
            Ok(false) => {
                assert_equal(&self.filter, &before);
                self.inside.extend(inside);
            }
            Err(_) => assert_equal(&self.filter, &before),
        }
    }

    fn check(&mut self, item: &[u8], answer: Answer) {
        if let Some(model) = &mut self.model {
            assert_eq!(answer, model.insert(item), "for item {}", item.escape_ascii());
        }
        match answer {
            Answer::New => {
                assert!(self.inside.insert(item.to_vec()), "an item was inserted twice");
                self.inserted += 1;
            }
            // It stays present, because no bit is ever cleared.
            Answer::Seen => drop(self.inside.insert(item.to_vec())),
            Answer::Full | Answer::CannotGrow => {
                assert!(!self.inside.contains(item), "an inserted item is missing")
            }
        }
    }

    fn insert(&mut self, item: &[u8]) {
        let answer = Answer::of(self.filter.insert(item, &mut |_| true));
        self.check(item, answer);
    }

    fn insert_many(&mut self, items: &[Vec<u8>]) {
        let mut answers = Vec::new();
        let answered = |result| answers.push(Answer::of(result));
        self.filter.insert_batch(items.iter().map(Vec::as_slice), &mut |_| true, answered);
        assert!(answers.len() == items.len() || answers.last() == Some(&Answer::Full));
        for (item, answer) in items.iter().zip(answers) {
            self.check(item, answer);
        }
    }

    /// Inserts items while every demand for memory is refused. A refused insertion must change
    /// nothing.
    fn insert_without_growth(&mut self, items: &[Vec<u8>]) {
        let layers = self.filter.layer_count();
        for item in items {
            let result = self.filter.insert(item, &mut |_: Demand| false);
            if matches!(result, Err(Error::Refused(_))) {
                assert!(self.filter.room() == 0 && !self.inside.contains(item));
            } else {
                self.check(item, Answer::of(result));
            }
        }
        assert_eq!(self.filter.layer_count(), layers);
    }

    fn test(&self, items: &[Vec<u8>]) {
        let mut answers = Vec::new();
        self.filter.contains_batch(items.iter().map(Vec::as_slice), NOW, |is_there| {
            answers.push(is_there)
        });
        assert_eq!(answers.len(), items.len());
        for (item, found) in items.iter().zip(answers) {
            if let Some(model) = &self.model {
                assert_eq!(found, model.contains(item));
            }
            assert_eq!(self.filter.contains(item, NOW), found);
            assert_eq!(self.contains_scalar(item), found);
            assert!(found || !self.inside.contains(item), "an inserted item is missing");
        }
    }

    /// The answer of the scalar backend, in the layout that has vector backends.
    fn contains_scalar(&self, item: &[u8]) -> bool {
        let AnyFilter::Bloomline(filter) = &self.filter else {
            return self.filter.contains(item, NOW);
        };
        let hash = item_hash(item, filter.seed());
        filter.layers().any(|layer| contains_spot(layer, Scalar, &layer.locate(&hash)))
    }

    fn finish(self) {
        let inside: Vec<Vec<u8>> = self.inside.iter().cloned().collect();
        self.test(&inside);
        assert_eq!(self.filter.len(), self.inserted);
        if let Some(model) = &self.model {
            assert_eq!(model.len(), self.inserted);
            assert!(bits(&self.filter) == model.bits(), "the bits differ from the model");
        }
        if self.filter.size_bytes() <= LIMIT {
            assert_consistent(&self.filter);
        }
        assert_reloads(&self.filter);
    }
}
