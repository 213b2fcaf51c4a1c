//! Many items in one call: hashed in groups, their lines fetched ahead, then looked at one by one.
//!
//! Item by item and not layer by layer: the pattern of the first line stays in registers through all layers, and
//! the further lines of a layer are looked for only if its first one passes. Measured on 14 layers:
//! 36 to 41 ns an item against 126 layer by layer.

use super::error::Error;
use super::filter::Filter;
use super::hash::{ItemHash, item_hash};
use super::layer::Prefetch;
use super::layout::probe::Probe;
use super::layout::{Task, dispatch};
use super::spec::Permit;

/// Items of a group: the fetches that can be under way at once, and 1 KiB of hashes.
const GROUP: usize = 64;

/// The hashes of the items at hand.
struct Group {
    hashes: [ItemHash; GROUP],
    len: usize,
}

impl Group {
    fn new() -> Self {
        Self { hashes: [ItemHash::default(); GROUP], len: 0 }
    }

    /// Takes the next items, up to a group of them, and asks for their lines. False at the end.
    #[inline(always)]
    fn fill<'a>(&mut self, items: &mut impl Iterator<Item = &'a [u8]>, filter: &Filter) -> bool {
        self.len = 0;
        for (hash, item) in self.hashes.iter_mut().zip(items) {
            *hash = item_hash(item, filter.seed());
            self.len += 1;
        }
        let layer_count = filter.layer_count();
        for layer in filter.layers().rev() {
            match layer.prefetch_rule(layer_count) {
                Prefetch::Nothing => {}
                which => self.hashes().iter().for_each(|hash| layer.prefetch(hash, which)),
            }
        }
        self.len > 0
    }

    #[inline(always)]
    fn hashes(&self) -> &[ItemHash] {
        self.hashes.get(..self.len).unwrap_or_default()
    }
}

impl Filter {
    /// Answers for each item in turn whether it may have been added.
    pub fn contains_batch<'a>(&self, items: impl Iterator<Item = &'a [u8]>, answer: impl FnMut(bool)) {
        dispatch(Contains { filter: self, items, answer });
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
        dispatch(Insert { filter: self, items, permit, answer });
    }
}

/// The work of [`Filter::contains_batch`].
struct Contains<'f, I, A> {
    filter: &'f Filter,
    items: I,
    answer: A,
}

impl<'a, I: Iterator<Item = &'a [u8]>, A: FnMut(bool)> Task for Contains<'_, I, A> {
    type Output = ();

    #[inline(always)]
    fn run<P: Probe>(mut self, probe: P) {
        let mut group = Group::new();
        while group.fill(&mut self.items, self.filter) {
            for hash in group.hashes() {
                let pattern = probe.prepare(hash.pattern);
                (self.answer)(self.filter.contains_hash(probe, hash, pattern));
            }
        }
    }
}

/// The work of [`Filter::insert_batch`].
struct Insert<'f, 'p, I, A> {
    filter: &'f mut Filter,
    items: I,
    permit: Permit<'p>,
    answer: A,
}

impl<'a, I: Iterator<Item = &'a [u8]>, A: FnMut(Result<bool, Error>)> Task for Insert<'_, '_, I, A> {
    type Output = ();

    #[inline(always)]
    fn run<P: Probe>(mut self, probe: P) {
        let mut group = Group::new();
        while group.fill(&mut self.items, self.filter) {
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
