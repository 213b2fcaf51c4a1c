//! Rings whose generations have allocations of their own.

use std::iter;

use super::generation::{Generation, GenerationRef};
use super::size::RING_BYTES;
use super::state::RingState;
use crate::bloom::bloomline::BlockedLayer;
use crate::bloom::small::ring::SmallRing;
use crate::error::Error;
use crate::memory::lists::try_collect;
use crate::memory::try_box;

/// Generations with allocations of their own.
#[derive(Debug)]
pub(crate) struct LargeRing {
    pub state: RingState,
    pub newest: Generation,
    /// Oldest first.
    pub older: Box<[Generation]>,
    /// Generations that the last rotation dropped, until the host takes them.
    pub dropped: Vec<Generation>,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<LargeRing>() as u64 == RING_BYTES);

impl LargeRing {
    /// A ring in this state, of which no generation was dropped.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn new(
        state: RingState,
        newest: Generation,
        older: Box<[Generation]>,
    ) -> Result<Box<Self>, Error> {
        try_box(Self { state, newest, older, dropped: Vec::new() })
    }

    /// The generations of a small ring.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn of_small(ring: &SmallRing) -> Result<Box<Self>, Error> {
        let state = ring.state();
        let plan = state.plan();
        let own = |view: GenerationRef| {
            let mut regular = BlockedLayer::build(&plan)?;
            let bits = view.regular.words().as_slice();
            regular.words_mut().as_mut_slice().copy_from_slice(bits);
            let GenerationRef { regular_len, live, opened, .. } = view;
            Ok::<_, Error>(Generation { regular, regular_len, overflow: None, live, opened })
        };
        let older = usize::from(state.count) - 1;
        let older = try_collect(older, ring.all().take(older).map(own))?;
        Self::new(state, own(ring.newest())?, older)
    }

    /// An equal ring; what was dropped is left out.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Box<Self>, Error> {
        let older = try_collect(self.older.len(), self.older.iter().map(Generation::try_clone))?;
        Self::new(self.state, self.newest.try_clone()?, older)
    }

    /// The generations, oldest first.
    #[inline(always)]
    pub fn all(&self) -> impl DoubleEndedIterator<Item = GenerationRef<'_>> + Clone {
        self.owned().map(Generation::view)
    }

    pub fn owned(&self) -> impl DoubleEndedIterator<Item = &Generation> + Clone {
        self.older.iter().chain(iter::once(&self.newest))
    }

    /// The generations, oldest first, to be written.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Generation> {
        self.older.iter_mut().chain(iter::once(&mut self.newest))
    }

    /// Replaces the number of live items of a generation, and returns the old one; none if there is
    /// no such generation. The oldest has index 0.
    #[inline(always)]
    pub fn update_live(&mut self, index: usize, update: impl FnOnce(u64) -> u64) -> Option<u64> {
        let Self { newest, older, .. } = self;
        let generation = if index == older.len() { newest } else { older.get_mut(index)? };
        let live = generation.live;
        generation.live = update(live);
        Some(live)
    }
}

/// Evaluates an expression with an iterator over the generations of a filter, oldest first,
/// compiled for both kinds of rings.
macro_rules! in_ring {
    ($filter:expr, $all:ident => $do:expr) => {
        match $filter.ring() {
            RingRef::Small(ring) => {
                let $all = ring.all();
                $do
            }
            RingRef::Large(ring) => {
                let $all = ring.all();
                $do
            }
        }
    };
}
pub(crate) use in_ring;

pub(super) fn no_memory<E>(bytes: usize) -> impl FnOnce(E) -> Error {
    move |_| Error::OutOfMemory(bytes as u64)
}
