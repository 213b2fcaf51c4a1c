//! Looking items up and adding them, one or many in a call.
//!
//! Many are hashed in groups, their lines fetched ahead, then looked at one by one.
//!
//! Item by item and not layer by layer: the pattern of the first line stays in registers through all layers, and
//! the further lines of a layer are looked for only if its first one passes. Measured on 14 layers:
//! 36 to 41 ns an item against 126 layer by layer.

use super::error::Error;
use super::filter::Filter;
use super::layout::probe::Probe;
use super::layout::{Task, dispatch};
use super::member::{Lines, Member};
use super::spec::Permit;

/// Items of a group: the fetches that can be under way at once, and 1 KiB of hashes.
const GROUP: usize = 64;
/// The same for calls with few items, to which a kilobyte of zeros to begin with would matter.
const SMALL_GROUP: usize = 16;

/// The hashes of the items at hand, at most `N`.
struct Group<L: Member, const N: usize> {
    hashes: [L::Hash; N],
    len: usize,
}

impl<L: Member, const N: usize> Group<L, N> {
    #[inline(always)]
    fn new() -> Self {
        Self { hashes: [L::Hash::default(); N], len: 0 }
    }

    /// Takes the next items, up to a group of them, and asks for their lines. False at the end.
    #[inline(always)]
    fn fill<'a>(
        &mut self,
        items: &mut impl Iterator<Item = &'a [u8]>,
        filter: &Filter<L>,
        lines: Lines,
    ) -> bool {
        self.len = 0;
        for (hash, item) in self.hashes.iter_mut().zip(items) {
            *hash = L::hash(filter.common(), item);
            self.len += 1;
        }
        let layer_count = filter.layer_count();
        for layer in filter.layers().rev() {
            layer.prefetch(layer_count, self.hashes(), lines);
        }
        self.len > 0
    }

    #[inline(always)]
    fn hashes(&self) -> &[L::Hash] {
        self.hashes.get(..self.len).unwrap_or_default()
    }
}

impl<L: Member> Filter<L> {
    /// Whether the item may have been added: never false for one that was.
    pub fn contains(&self, item: &[u8]) -> bool {
        dispatch(ContainsOne { filter: self, item })
    }

    /// Adds an item; true if it was new.
    ///
    /// An item that the filter seems to have is not added again and not counted.
    ///
    /// # Errors
    ///
    /// [`Error::Full`], or why the next layer can't be had. The item is not added then.
    pub fn insert(&mut self, item: &[u8], permit: Permit) -> Result<bool, Error> {
        dispatch(InsertOne { filter: self, item, permit })
    }

    /// Answers for each item in turn whether it may have been added.
    pub fn contains_batch<'a>(&self, items: impl Iterator<Item = &'a [u8]>, answer: impl FnMut(bool)) {
        if is_few(&items) {
            dispatch(Contains::<_, _, _, SMALL_GROUP> { filter: self, items, answer });
        } else {
            dispatch(Contains::<_, _, _, GROUP> { filter: self, items, answer });
        }
    }

    /// Adds each item in turn and answers as [`Filter::insert`] does; the first [`Error::Full`] is the last answer.
    ///
    /// An item twice in one call is new once. After any other error the rest is tried all the same.
    pub fn insert_batch<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        permit: Permit,
        answer: impl FnMut(Result<bool, Error>),
    ) {
        if is_few(&items) {
            dispatch(Insert::<_, _, _, SMALL_GROUP> { filter: self, items, permit, answer });
        } else {
            dispatch(Insert::<_, _, _, GROUP> { filter: self, items, permit, answer });
        }
    }
}

/// Whether the items surely fit a small group.
fn is_few(items: &impl Iterator) -> bool {
    items.size_hint().1.is_some_and(|most| most <= SMALL_GROUP)
}

/// The work of [`Filter::contains`].
struct ContainsOne<'f, 'a, L: Member> {
    filter: &'f Filter<L>,
    item: &'a [u8],
}

impl<L: Member> Task for ContainsOne<'_, '_, L> {
    type Output = bool;

    #[inline(always)]
    fn run<P: Probe>(self, probe: P) -> bool {
        let hash = L::hash(self.filter.common(), self.item);
        self.filter.contains_hash(probe, &hash, L::prepare(probe, &hash))
    }
}

/// The work of [`Filter::insert`].
struct InsertOne<'f, 'a, 'p, L: Member> {
    filter: &'f mut Filter<L>,
    item: &'a [u8],
    permit: Permit<'p>,
}

impl<L: Member> Task for InsertOne<'_, '_, '_, L> {
    type Output = Result<bool, Error>;

    #[inline(always)]
    fn run<P: Probe>(self, probe: P) -> Result<bool, Error> {
        let hash = L::hash(self.filter.common(), self.item);
        self.filter.insert_hash(probe, &hash, self.permit)
    }
}

/// The work of [`Filter::contains_batch`] in groups of `N`.
struct Contains<'f, L: Member, I, A, const N: usize> {
    filter: &'f Filter<L>,
    items: I,
    answer: A,
}

impl<'a, L, I, A, const N: usize> Task for Contains<'_, L, I, A, N>
where
    L: Member,
    I: Iterator<Item = &'a [u8]>,
    A: FnMut(bool),
{
    type Output = ();

    #[inline(always)]
    fn run<P: Probe>(mut self, probe: P) {
        let mut group = Group::<L, N>::new();
        while group.fill(&mut self.items, self.filter, Lines::First) {
            // By now the first lines of the first items are there.
            for layer in self.filter.layers().rev().take_while(|layer| layer.is_far()) {
                for hash in group.hashes() {
                    layer.prefetch_rest(probe, hash, L::prepare(probe, hash));
                }
            }
            for hash in group.hashes() {
                let prepared = L::prepare(probe, hash);
                (self.answer)(self.filter.contains_hash(probe, hash, prepared));
            }
        }
    }
}

/// The work of [`Filter::insert_batch`] in groups of `N`.
struct Insert<'f, 'p, L: Member, I, A, const N: usize> {
    filter: &'f mut Filter<L>,
    items: I,
    permit: Permit<'p>,
    answer: A,
}

impl<'a, L, I, A, const N: usize> Task for Insert<'_, '_, L, I, A, N>
where
    L: Member,
    I: Iterator<Item = &'a [u8]>,
    A: FnMut(Result<bool, Error>),
{
    type Output = ();

    #[inline(always)]
    fn run<P: Probe>(mut self, probe: P) {
        let mut group = Group::<L, N>::new();
        while group.fill(&mut self.items, self.filter, Lines::All) {
            for hash in group.hashes() {
                let result = self.filter.insert_hash(probe, hash, self.permit);
                (self.answer)(result);
                if matches!(result, Err(Error::Full(_))) {
                    return;
                }
            }
        }
    }
}
