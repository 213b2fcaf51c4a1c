//! A program of operations on a windowed filter, compared with the reference model.

use arbitrary::{Arbitrary, Result, Unstructured};
use bloomline_core::Error;
use bloomline_core::batch::contains_spot;
use bloomline_core::bloomline::hash::item_hash;
use bloomline_core::host::{AnyFilter, Demand, Growth, Insertion};
use bloomline_core::layer::Probe;
use bloomline_core::simd::Scalar;
use bloomline_core::window::{Window, WindowSpec, WindowedFilter};

use crate::windowed::{Answer, Model};

use super::check::{LIMIT, assert_consistent, assert_equal, assert_reloads, bits, small};
use super::items::{Item, numbered};

/// One step of a program.
#[derive(Arbitrary, Debug)]
enum Step {
    Insert(Item),
    InsertMany {
        first: u16,
        count: u8,
    },
    InsertRefused {
        first: u16,
        count: u8,
    },
    Test {
        first: u16,
        count: u8,
    },
    /// The time that passes before the next step, in 1/64 of a slot.
    Pass(u8),
    /// The clock jumps back by so many milliseconds.
    JumpBack(u16),
    Advance,
    AdvanceRefused,
    Rotate,
    SaveAndLoad,
    Clone,
}

/// A filter with all that is known about it.
struct Run {
    filter: AnyFilter,
    model: Model,
    now: u64,
}

impl Answer {
    fn of(result: &Result<Insertion, Error>) -> Self {
        match result {
            Ok(Insertion::New) => Self::New,
            Ok(Insertion::Refreshed) => Self::Refreshed,
            Ok(Insertion::Present) => Self::Present,
            Err(Error::Full(_)) => Self::Full,
            Err(_) => Self::CannotGrow,
        }
    }
}

/// Takes the bytes as a program and runs it. True if there was a filter.
pub fn run(bytes: &[u8]) -> bool {
    program(&mut Unstructured::new(bytes)).unwrap_or(false)
}

fn program(u: &mut Unstructured) -> arbitrary::Result<bool> {
    const ERRORS: [f64; 6] = [0.25, 0.1, 0.01, 1e-3, 1e-6, 1e-9];
    let generations = u.int_in_range(2..=8u32)?;
    let expansion = u.int_in_range(0..=3u32)?;
    let window = match u.int_in_range(0..=2u8)? {
        0 => Window::Time { millis: u.int_in_range(1..=5_000)? },
        1 => Window::Last,
        _ => Window::Manual,
    };
    let spec = WindowSpec {
        capacity: u.int_in_range(u64::from(generations)..=400)?,
        error_rate: *u.choose(&ERRORS)? * (1.0 - f64::from(u.int_in_range(0..=9u8)?) / 16.0),
        growth: if expansion == 0 { Growth::Fixed } else { Growth::Scaling { expansion } },
        window,
        generations,
        refreshes: u.arbitrary()?,
    };
    let (seed, now) = (u.arbitrary()?, u.arbitrary::<u32>()?.into());
    let Ok(filter) = WindowedFilter::new(spec, seed, now, &mut small) else { return Ok(false) };
    let mut run = Run { filter: filter.into(), model: Model::new(spec, seed, now), now };
    for _ in 0..u.int_in_range(0..=40u8)? {
        let step: Step = u.arbitrary()?;
        let text = format!("{step:?} {:?}", run.model.spec);
        run.step(step);
        if run.filter.size_bytes() <= LIMIT {
            assert_reloads(&run.filter);
        }
        assert_eq!(run.filter.len(), run.model.len(), "{text}");
        if run.filter.layer_count() > 60 {
            break;
        }
    }
    run.finish();
    Ok(true)
}

impl Run {
    fn windowed(&mut self) -> &mut WindowedFilter {
        self.filter.windowed_mut().expect("a windowed filter")
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Insert(item) => self.insert(&item.bytes()),
            Step::InsertMany { first, count } => self.insert_many(&numbered(first, count)),
            Step::InsertRefused { first, count } => self.insert_refused(&numbered(first, count)),
            Step::Test { first, count } => self.test(&numbered(first, count)),
            Step::Pass(parts) => {
                let slot = self.model.spec.times().map_or(100, |(_, slot)| slot);
                self.now += slot * u64::from(parts) / 64;
            }
            Step::JumpBack(millis) => self.now = self.now.saturating_sub(millis.into()),
            Step::Advance => self.advance(),
            Step::AdvanceRefused => self.advance_refused(),
            Step::Rotate => {
                let now = self.now;
                self.windowed().rotate(now, &mut |_| true).expect("memory");
                self.model.rotate(now);
            }
            Step::SaveAndLoad => self.filter = assert_reloads(&self.filter),
            Step::Clone => self.filter = self.filter.try_clone(&mut |_| true).expect("memory"),
        }
    }

    /// Advances as a host does: only if something is due.
    fn advance(&mut self) {
        let now = self.now;
        if self.windowed().is_due(now) || self.model.spec.window == Window::Last {
            self.windowed().advance(now, &mut |_| true).expect("memory");
            self.model.advance(now);
        } else if self.windowed().has_time() {
            let before = self.filter.encode_header();
            self.model.advance(now);
            self.windowed().advance(now, &mut |_| false).expect("no memory is needed");
            assert_eq!(self.filter.encode_header(), before, "not due, but changed");
        }
    }

    /// A refused rotation changes nothing.
    fn advance_refused(&mut self) {
        let (now, before) = (self.now, self.filter.try_clone(&mut |_| true).expect("memory"));
        match self.windowed().advance(now, &mut |_| false) {
            Ok(_) => self.model.advance(now),
            Err(_) => assert_equal(&self.filter, &before),
        }
    }

    fn check(&mut self, item: &[u8], answer: Answer) {
        assert_eq!(answer, self.model.insert(item), "for item {}", item.escape_ascii());
        if matches!(answer, Answer::New | Answer::Refreshed) {
            let opened = self.model.generations.last().map_or(0, |newest| newest.opened);
            assert!(self.model.contains(item, opened), "a written item is missing");
        }
    }

    fn insert(&mut self, item: &[u8]) {
        let answer = Answer::of(&self.filter.insert(item, &mut |_| true));
        self.check(item, answer);
    }

    fn insert_many(&mut self, items: &[Vec<u8>]) {
        let mut answers = Vec::new();
        let answered = |result| answers.push(Answer::of(&result));
        self.filter.insert_batch(items.iter().map(Vec::as_slice), &mut |_| true, answered);
        assert!(answers.len() == items.len() || answers.last() == Some(&Answer::Full));
        for (item, answer) in items.iter().zip(answers) {
            self.check(item, answer);
        }
    }

    /// Inserts items while every demand for memory is refused. A refused insertion changes nothing,
    /// and the filter gets no larger: at most, a new generation replaces the oldest.
    fn insert_refused(&mut self, items: &[Vec<u8>]) {
        let size = self.filter.size_bytes();
        for item in items {
            let header = self.filter.encode_header();
            let result = self.filter.insert(item, &mut |_: Demand| false);
            if matches!(result, Err(Error::Refused(_))) {
                assert_eq!(self.filter.encode_header(), header);
            } else {
                self.check(item, Answer::of(&result));
            }
        }
        assert!(self.filter.size_bytes() <= size, "the filter grew");
    }

    fn test(&self, items: &[Vec<u8>]) {
        let mut answers = Vec::new();
        let answered = |is_there| answers.push(is_there);
        self.filter.contains_batch(items.iter().map(Vec::as_slice), self.now, answered);
        let expected: Vec<bool> =
            items.iter().map(|item| self.model.contains(item, self.now)).collect();
        assert_eq!(answers, expected);
        for (item, expected) in items.iter().zip(expected) {
            assert_eq!(self.filter.contains(item, self.now), expected);
            assert_eq!(self.contains_scalar(item), expected);
        }
    }

    /// The answer of the scalar backend.
    fn contains_scalar(&self, item: &[u8]) -> bool {
        let filter = self.filter.windowed().expect("a windowed filter");
        let hash = item_hash(item, filter.seed());
        filter
            .generations()
            .filter(|(_, generation)| self.now < filter.expires(generation))
            .flat_map(|(_, generation)| generation.layers())
            .any(|layer| contains_spot(&layer, Scalar, &layer.locate(&hash)))
    }

    fn finish(self) {
        self.test(&numbered(0, 100));
        assert_eq!(self.filter.len(), self.model.len());
        assert_eq!(self.filter.len_at(self.now), self.model.len_at(self.now));
        assert_eq!(self.filter.first_byte(), self.model.dropped_bytes);
        let filter = self.filter.windowed().expect("a windowed filter");
        assert_eq!(filter.number(), self.model.number);
        let state = |live, len, opened| (live, len, opened);
        assert!(
            filter.generations().map(|(_, it)| state(it.live(), it.len(), it.opened())).eq(self
                .model
                .generations
                .iter()
                .map(|it| state(it.live, it.len(), it.opened)))
        );
        assert!(bits(&self.filter) == self.model.bits(), "the bits differ from the model");
        if self.filter.size_bytes() <= LIMIT {
            assert_consistent(&self.filter);
        }
        assert_reloads(&self.filter);
    }
}
