//! A filter of either family, with the operations that both have.

use bloomline_core::Error;
use bloomline_core::bloom::redisbloom::RedisBloomFilter;
use bloomline_core::bloom::valkey::ValkeyFilter;
use bloomline_core::bloom::window::WindowedFilter;
use bloomline_core::hash::xxh3::item_hash;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_core::host::{AnyFilter, AnyRef, Demand, Insertion};
use bloomline_core::simd::Scalar;

use crate::calls::{Calls, CuckooCalls};
use crate::checks::check::expires;

/// A filter of either family.
#[derive(Debug, PartialEq)]
pub enum Filter {
    Bloom(AnyFilter),
    Cuckoo(AnyCuckoo),
}

impl<T: Into<AnyFilter>> From<T> for Filter {
    fn from(filter: T) -> Self {
        Self::Bloom(filter.into())
    }
}

/// An empty filter with the same parameters and seed, whose first generation is opened at `now` if
/// it has generations. In the layouts of others it has the first layer as it is now, which may have
/// been compacted.
pub fn emptied(
    filter: &AnyFilter,
    now: u64,
    permit: &mut dyn FnMut(Demand) -> bool,
) -> Result<AnyFilter, Error> {
    match filter.view() {
        AnyRef::Bloomline(filter) => AnyFilter::bloomline(filter.spec(), filter.seed(), permit),
        AnyRef::Small(filter) => AnyFilter::bloomline(filter.spec(), filter.seed(), permit),
        AnyRef::Windowed(filter) => {
            WindowedFilter::new(filter.spec(), filter.seed(), now, permit).map(Into::into)
        }
        AnyRef::RedisBloom(filter) => {
            let plan = filter.layers().next().expect("a layer").plan_with(0);
            RedisBloomFilter::with_plan(*filter.params(), &plan, permit).map(Into::into)
        }
        AnyRef::ValkeyBloom(filter) => {
            let plan = filter.layers().next().expect("a layer").plan_with(0);
            ValkeyFilter::with_plan(*filter.params(), &plan, permit).map(Into::into)
        }
    }
}

/// The result of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    New,
    Refreshed,
    Present,
    Full,
    /// The permit has refused memory.
    Refused,
    CannotGrow,
}

impl Outcome {
    fn of(result: Result<Insertion, Error>) -> Self {
        match result {
            Ok(Insertion::New) => Self::New,
            Ok(Insertion::Refreshed) => Self::Refreshed,
            Ok(Insertion::Present) => Self::Present,
            Err(Error::Full(_)) => Self::Full,
            Err(Error::Refused(_)) => Self::Refused,
            Err(_) => Self::CannotGrow,
        }
    }

    fn of_cuckoo(result: Result<bool, Error>) -> Self {
        Self::of(result.map(|is_new| if is_new { Insertion::New } else { Insertion::Present }))
    }

    /// True if the item was written.
    pub fn is_written(self) -> bool {
        matches!(self, Self::New | Self::Refreshed)
    }

    pub fn is_error(self) -> bool {
        matches!(self, Self::Full | Self::Refused | Self::CannotGrow)
    }
}

/// All bytes of a filter: the header, and the chunks with their positions. A position is that of
/// the argument of LOADCHUNK: the first byte, and in cuckoo filters the byte behind the last one.
#[derive(Clone, PartialEq, Eq)]
pub struct Dump {
    pub header: Vec<u8>,
    pub chunks: Vec<(u64, Vec<u8>)>,
}

/// Evaluates an expression with the filter of either family.
macro_rules! any {
    ($any:expr, $filter:ident => $do:expr) => {
        match $any {
            Filter::Bloom($filter) => $do,
            Filter::Cuckoo($filter) => $do,
        }
    };
}

impl Filter {
    pub fn bloom(&self) -> Option<&AnyFilter> {
        match self {
            Self::Bloom(filter) => Some(filter),
            Self::Cuckoo(_) => None,
        }
    }

    pub fn is_listed(&self) -> bool {
        self.bloom().is_some_and(AnyFilter::is_listed)
    }

    pub fn windowed(&self) -> Option<&WindowedFilter> {
        self.bloom()?.windowed()
    }

    pub fn windowed_mut(&mut self) -> Option<&mut WindowedFilter> {
        match self {
            Self::Bloom(filter) => filter.windowed_mut(),
            Self::Cuckoo(_) => None,
        }
    }

    pub fn len(&self) -> u64 {
        any!(self, filter => filter.len())
    }

    /// Items that there is room for without growth; of a cuckoo filter at the load it is sized for.
    pub fn room(&self) -> u64 {
        match self {
            Self::Bloom(filter) => filter.room(),
            Self::Cuckoo(filter) => filter.capacity().saturating_sub(filter.len()),
        }
    }

    pub fn size_bytes(&self) -> u64 {
        any!(self, filter => filter.size_bytes())
    }

    /// Layers, or tables.
    pub fn parts(&self) -> u32 {
        match self {
            Self::Bloom(filter) => filter.layer_count(),
            Self::Cuckoo(filter) => filter.table_count(),
        }
    }

    pub fn check(&self) {
        any!(self, filter => filter.check()).unwrap_or_else(|why| panic!("{why}: {self:?}"));
    }

    pub fn copy(&self) -> Self {
        self.try_copy().expect("memory")
    }

    pub fn try_copy(&self) -> Result<Self, Error> {
        match self {
            Self::Bloom(filter) => filter.try_clone(&mut |_| true).map(Self::Bloom),
            Self::Cuckoo(filter) => filter.try_clone(&mut |_| true).map(Self::Cuckoo),
        }
    }

    /// The Bloom filter in its form.
    pub fn view(&self) -> Option<AnyRef<'_>> {
        self.bloom().map(AnyFilter::view)
    }

    /// Inserts items in one call; `only_new` matters for cuckoo filters, and the time `now` for
    /// windowed ones.
    pub fn insert(
        &mut self,
        items: &[Vec<u8>],
        only_new: bool,
        now: u64,
        permit: &mut dyn FnMut(Demand) -> bool,
    ) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        match self {
            Self::Bloom(filter) => {
                let mut answer = |result| outcomes.push(Outcome::of(result));
                filter.insert_each(&mut items.iter().map(Vec::as_slice), now, permit, &mut answer);
            }
            Self::Cuckoo(filter) => {
                let mut answer = |result| outcomes.push(Outcome::of_cuckoo(result));
                filter.insert_each(
                    &mut items.iter().map(AsRef::as_ref),
                    only_new,
                    permit,
                    &mut answer,
                );
            }
        }
        outcomes
    }

    /// Inserts one item by the function for one item.
    pub fn insert_one(
        &mut self,
        item: &[u8],
        only_new: bool,
        now: u64,
        permit: &mut dyn FnMut(Demand) -> bool,
    ) -> Outcome {
        match self {
            Self::Bloom(filter) => Outcome::of(filter.insert_item(item, now, permit)),
            Self::Cuckoo(filter) => Outcome::of_cuckoo(filter.insert_one(item, only_new, permit)),
        }
    }

    pub fn contains(&self, item: &[u8], now: u64) -> bool {
        match self {
            Self::Bloom(filter) => filter.contains_item(item, now),
            Self::Cuckoo(filter) => filter.contains(item),
        }
    }

    /// The answers of one call.
    pub fn contains_all(&self, items: &[Vec<u8>], now: u64) -> Vec<bool> {
        let mut answers = Vec::new();
        let mut answer = |found| answers.push(found);
        match self {
            Self::Bloom(filter) => {
                filter.contains_each(&mut items.iter().map(Vec::as_slice), now, &mut answer);
            }
            Self::Cuckoo(filter) => {
                filter.contains_each(&mut items.iter().map(AsRef::as_ref), &mut answer)
            }
        }
        answers
    }

    /// The answer of the scalar backend, in the layout that has others.
    pub fn contains_scalar(&self, item: &[u8], now: u64) -> bool {
        match self.view() {
            Some(AnyRef::Bloomline(filter)) => {
                let hash = item_hash(item, filter.seed());
                filter.layers().any(|layer| layer.contains(Scalar, &layer.locate(&hash)))
            }
            Some(AnyRef::Small(filter)) => filter.with_layer(|layer| {
                let hash = item_hash(item, filter.seed());
                layer.contains(Scalar, &layer.locate(&hash))
            }),
            Some(AnyRef::Windowed(filter)) => {
                let (hash, now) = (item_hash(item, filter.seed()), filter.time_at(now));
                filter
                    .generations()
                    .filter(|(_, generation)| now < expires(&filter.spec(), generation))
                    .flat_map(|(_, generation)| generation.layers())
                    .any(|layer| layer.contains(Scalar, &layer.locate(&hash)))
            }
            _ => self.contains(item, now),
        }
    }

    /// Copies of an item in a cuckoo filter; 1 for an item of a Bloom filter.
    pub fn count(&self, item: &[u8], now: u64) -> u64 {
        match self {
            Self::Bloom(filter) => filter.contains_item(item, now).into(),
            Self::Cuckoo(filter) => filter.count(item),
        }
    }

    pub fn remove(&mut self, items: &[Vec<u8>]) -> Vec<bool> {
        let mut answers = Vec::new();
        match self {
            Self::Bloom(_) => answers.resize(items.len(), false),
            Self::Cuckoo(filter) if items.len() == 1 => answers.push(filter.remove(&items[0])),
            Self::Cuckoo(filter) => {
                filter.remove_each(&mut items.iter().map(AsRef::as_ref), &mut |is_removed| {
                    answers.push(is_removed)
                });
            }
        }
        answers
    }

    /// Compacts. True if something changed, and the bytes that were freed.
    pub fn compact(&mut self) -> Result<(bool, u64), Error> {
        match self {
            Self::Bloom(filter) => filter.compact().map(|freed| (freed > 0, freed)),
            Self::Cuckoo(filter) => filter.compact().map(|it| (it.is_changed, it.freed)),
        }
    }

    pub fn dump(&self) -> Dump {
        let (header, mut chunks) = (any!(self, filter => filter.encode_header()), Vec::new());
        match self {
            Self::Bloom(filter) => {
                let mut offset = filter.first_byte();
                while let Some(chunk) = filter.chunk(offset) {
                    chunks.push((offset, chunk.to_vec()));
                    offset += chunk.len() as u64;
                }
            }
            Self::Cuckoo(filter) => {
                let mut iterator = 1;
                while let Some((next, chunk)) = filter.scan_dump(iterator) {
                    chunks.push((next, chunk.to_vec()));
                    iterator = next;
                }
            }
        }
        Dump { header, chunks }
    }

    /// The filter of a header, of the family of this one.
    pub fn decode(
        &self,
        header: &[u8],
        permit: &mut dyn FnMut(Demand) -> bool,
    ) -> Result<Self, Error> {
        match self {
            Self::Bloom(_) => AnyFilter::decode_header(header, permit).map(Self::from),
            Self::Cuckoo(_) => AnyCuckoo::decode_header(header, permit).map(Self::Cuckoo),
        }
    }

    /// Writes a chunk. True if a byte has changed.
    pub fn load(&mut self, position: u64, chunk: &[u8]) -> Result<bool, Error> {
        match self {
            Self::Bloom(filter) => filter.write_chunk(position, chunk),
            Self::Cuckoo(filter) => filter.load_chunk(position, chunk),
        }
    }

    /// The position of a part of a chunk.
    pub fn part_position(&self, (position, chunk): (u64, &[u8]), at: usize, len: usize) -> u64 {
        match self {
            Self::Bloom(_) => position + at as u64,
            Self::Cuckoo(_) => position - chunk.len() as u64 + (at + len) as u64,
        }
    }
}
