//! A program of operations on a cuckoo filter of either layout, compared with the reference model.
//! The filter is new, or that of a header from anywhere.

mod bloomline;
mod redisbloom;

use std::cell::Cell;

use arbitrary::{Arbitrary, Result, Unstructured};
use bloomline_core::Error;
use bloomline_core::host::Demand;
use bloomline_core::host::cuckoo::AnyCuckoo;

use crate::redisbloom_cuckoo::Refusal;
use crate::{bloomline_cuckoo, redisbloom_cuckoo};

/// The largest filter in bytes, as [`AnyCuckoo::size_bytes`] counts them.
const LIMIT: u64 = 8 << 10;

/// The reference model of a layout.
trait Reference: Sized {
    /// A new filter and its model; none if it is refused.
    fn created(u: &mut Unstructured) -> Result<Option<(AnyCuckoo, Option<Self>)>>;

    /// The filter of a header with any numbers, most of them near the limits. The model is that of
    /// its numbers, if they and the slots do not contradict each other.
    fn decoded(u: &mut Unstructured) -> Result<Option<(AnyCuckoo, Option<Self>)>>;

    fn contains(&self, item: &[u8]) -> bool;

    fn count(&self, item: &[u8]) -> u64;

    /// Before the items of a call.
    fn begin_call(&mut self) {}

    /// Inserts an item. `is_refused` if the permit refused memory.
    fn insert(&mut self, item: &[u8], is_refused: bool) -> Answer<()>;

    fn remove(&mut self, item: &[u8]) -> bool;

    /// True if anything has changed.
    fn compact(&mut self) -> bool;

    /// Writes a chunk that lies in one table, and otherwise returns false. None if the numbers of
    /// the model contradict its slots then.
    fn load(self, iterator: u64, data: &[u8]) -> Option<(Self, bool)>;

    /// Compares everything that can be read.
    fn assert_equal(&self, filter: &AnyCuckoo);

    /// Asserts that the filter can be built in the other ways of its layout.
    fn assert_rebuilds(_filter: &AnyCuckoo) {}
}

/// The result of an insertion, as far as the models distinguish it.
type Answer<T> = std::result::Result<T, Refusal>;

/// One step of a program.
#[derive(Arbitrary, Debug)]
enum Step {
    Insert(u8),
    InsertNew(u8),
    InsertMany { first: u8, count: u8, only_new: bool },
    Remove(u8),
    RemoveMany { first: u8, count: u8 },
    ContainsMany { first: u8, count: u8 },
    Count(u8),
    Compact,
    SaveAndLoad,
    Clone,
    LoadChunk { iterator: u16, len: u8, byte: u8 },
}

fn small(demand: Demand) -> bool {
    demand.filter_bytes <= LIMIT
}

/// The item of a number; item 0 is empty.
fn item(number: u8) -> Vec<u8> {
    vec![number; usize::from(number) % 37]
}

fn items(first: u8, count: u8) -> Vec<Vec<u8>> {
    (0..count).map(|index| item(first.wrapping_add(index))).collect()
}

/// The header and the slots.
fn digest(filter: &AnyCuckoo) -> Vec<u8> {
    let (mut bytes, mut iterator) = (filter.encode_header(), 1);
    while let Some((next, chunk)) = filter.scan_dump(iterator) {
        bytes.extend(chunk);
        iterator = next;
    }
    bytes
}

/// Runs the program in the bytes on a filter in RedisBloom's layout. True if there was a filter.
pub fn run(bytes: &[u8]) -> bool {
    program::<redisbloom_cuckoo::Model>(&mut Unstructured::new(bytes)).unwrap_or(false)
}

/// Runs the program in the bytes on a filter in this project's layout. True if there was a filter.
pub fn run_bloomline(bytes: &[u8]) -> bool {
    program::<bloomline_cuckoo::Model>(&mut Unstructured::new(bytes)).unwrap_or(false)
}

fn program<M: Reference>(u: &mut Unstructured) -> Result<bool> {
    let created = if u.arbitrary()? { M::created(u)? } else { M::decoded(u)? };
    let Some((filter, model)) = created else { return Ok(false) };
    let mut run = Run { filter, model };
    run.assert_equal();
    for _ in 0..u.int_in_range(0..=60u8)? {
        let step = u.arbitrary()?;
        run.perform(&step);
        run.assert_equal();
    }
    Ok(true)
}

/// A filter, and its model unless its slots were forged.
struct Run<M> {
    filter: AnyCuckoo,
    model: Option<M>,
}

fn answer<T>(result: std::result::Result<T, Error>) -> Answer<T> {
    result.map_err(|error| match error {
        Error::Full(_) => Refusal::Full,
        Error::Refused(_) | Error::TooManyLayers(_) => Refusal::CannotGrow,
        other => panic!("{other}"),
    })
}

impl<M: Reference> Run<M> {
    /// Inserts an item into the model, and compares the answer.
    fn compare_insertion(
        &mut self,
        item: &[u8],
        only_new: bool,
        is_refused: bool,
        answer: Answer<bool>,
    ) {
        let Some(model) = &mut self.model else { return };
        let expected = match only_new && model.contains(item) {
            true => Ok(false),
            false => model.insert(item, is_refused).map(|()| true),
        };
        assert_eq!(answer, expected);
    }

    fn insert(&mut self, item: &[u8], only_new: bool) {
        self.model.iter_mut().for_each(M::begin_call);
        let before = digest(&self.filter);
        let mut is_refused = false;
        let permit = &mut |demand| {
            is_refused = !small(demand);
            !is_refused
        };
        let answer = answer(match only_new {
            true => self.filter.insert_new(item, permit),
            false => self.filter.insert(item, permit).map(|()| true),
        });
        assert!(answer.is_err() || self.filter.contains(item));
        assert_eq!(answer == Ok(true), digest(&self.filter) != before);
        self.compare_insertion(item, only_new, is_refused, answer);
    }

    fn insert_many(&mut self, items: &[Vec<u8>], only_new: bool) {
        self.model.iter_mut().for_each(M::begin_call);
        let before = digest(&self.filter);
        let (is_refused, mut answers) = (Cell::new(false), Vec::new());
        let mut permit = |demand| {
            is_refused.set(!small(demand));
            small(demand)
        };
        self.filter.insert_batch(items.iter(), only_new, &mut permit, |result| {
            answers.push((answer(result), is_refused.take()));
        });
        assert_eq!(answers.len(), items.len());
        let is_changed = answers.iter().any(|(answer, _)| *answer == Ok(true));
        assert_eq!(is_changed, digest(&self.filter) != before);
        for (item, (answer, is_refused)) in items.iter().zip(answers) {
            self.compare_insertion(item, only_new, is_refused, answer);
        }
    }

    fn compare<T: PartialEq + std::fmt::Debug>(
        &mut self,
        answer: T,
        expected: impl FnOnce(&mut M) -> T,
    ) {
        if let Some(model) = &mut self.model {
            assert_eq!(answer, expected(model));
        }
    }

    fn perform(&mut self, step: &Step) {
        match *step {
            Step::Insert(number) => self.insert(&item(number), false),
            Step::InsertNew(number) => self.insert(&item(number), true),
            Step::InsertMany { first, count, only_new } => {
                self.insert_many(&items(first, count), only_new);
            }
            Step::Remove(number) => {
                let is_removed = self.filter.remove(&item(number));
                self.compare(is_removed, |model| model.remove(&item(number)));
            }
            Step::RemoveMany { first, count } => {
                let (items, mut answers) = (items(first, count), Vec::new());
                self.filter.remove_batch(items.iter(), |is_removed| answers.push(is_removed));
                self.compare(answers, |model| items.iter().map(|it| model.remove(it)).collect());
            }
            Step::ContainsMany { first, count } => {
                let (items, mut answers) = (items(first, count), Vec::new());
                self.filter.contains_batch(items.iter(), |is_in| answers.push(is_in));
                assert!(items.iter().map(|it| self.filter.contains(it)).eq(answers.clone()));
                self.compare(answers, |model| items.iter().map(|it| model.contains(it)).collect());
            }
            Step::Count(number) => {
                let count = self.filter.count(&item(number));
                assert_eq!(self.filter.contains(&item(number)), count > 0);
                self.compare(count, |model| model.count(&item(number)));
            }
            Step::Compact => {
                let (size, before) = (self.filter.size_bytes(), digest(&self.filter));
                let compaction = self.filter.compact().expect("memory");
                assert_eq!(size - compaction.freed, self.filter.size_bytes());
                assert_eq!(compaction.is_changed, digest(&self.filter) != before);
                self.compare(compaction.is_changed, M::compact);
            }
            Step::SaveAndLoad => self.filter = self.reloaded(),
            Step::Clone => self.filter = self.filter.try_clone(&mut |_| true).expect("memory"),
            Step::LoadChunk { iterator, len, byte } => {
                let iterator = u64::from(iterator) % (self.filter.size() * 2);
                let data = vec![byte; len.into()];
                let before = digest(&self.filter);
                let written = self.filter.load_chunk(iterator, &data);
                let is_changed = digest(&self.filter) != before;
                assert_eq!(written.as_ref().is_ok_and(|is_changed| *is_changed), is_changed);
                let is_written = written.is_ok();
                if let Some(model) = self.model.take()
                    && let Some((model, expected)) = model.load(iterator, &data)
                {
                    assert_eq!(is_written, expected);
                    self.model = Some(model);
                }
            }
        }
    }

    /// The filter of its header and its chunks.
    fn reloaded(&self) -> AnyCuckoo {
        let filter = &self.filter;
        let header = filter.encode_header();
        let mut copy = AnyCuckoo::decode_header(&header, &mut |_| true).expect("valid");
        let mut iterator = 1;
        while let Some((next, chunk)) = filter.scan_dump(iterator) {
            copy.load_chunk(next, chunk).expect("it fits");
            iterator = next;
        }
        assert_eq!(&copy, filter);
        M::assert_rebuilds(filter);
        copy
    }

    /// Checks that the filter is valid and what the model is.
    fn assert_equal(&self) {
        self.filter.check().expect("valid");
        // Lists of copies, which the header has too, grow without a permit.
        let header = self.filter.encode_header().len() as u64;
        assert!(self.filter.size_bytes() <= LIMIT + header);
        if let Some(model) = &self.model {
            model.assert_equal(&self.filter);
        }
    }
}
