//! The generations of a filter: with allocations of their own, or small ones in one allocation.

use std::iter;

use super::generation::{Generation, GenerationRef};
use super::size::RING_BYTES;
use crate::error::Error;
use crate::memory::words::Words;

#[derive(Debug)]
pub(crate) enum Ring {
    Small(Words),
    Large(Box<Large>),
}

/// Generations with allocations of their own.
#[derive(Debug)]
pub(crate) struct Large {
    pub newest: Generation,
    /// Oldest first.
    pub older: Box<[Generation]>,
    /// Generations that the last rotation dropped, until the host takes them.
    pub dropped: Vec<Generation>,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Large>() as u64 == RING_BYTES);

impl Large {
    #[inline(always)]
    pub fn all(&self) -> impl DoubleEndedIterator<Item = GenerationRef<'_>> + Clone {
        self.older.iter().chain(iter::once(&self.newest)).map(Generation::view)
    }

    /// The generations, oldest first, to be written.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Generation> {
        self.older.iter_mut().chain(iter::once(&mut self.newest))
    }
}

/// Evaluates an expression with an iterator over the generations of a filter, oldest first,
/// compiled for both kinds of rings.
macro_rules! in_ring {
    ($filter:expr, $all:ident => $do:expr) => {
        match &$filter.ring {
            Ring::Small(words) => {
                let $all = $filter.in_words(words);
                $do
            }
            Ring::Large(large) => {
                let $all = large.all();
                $do
            }
        }
    };
}
pub(crate) use in_ring;

pub(super) fn no_memory<E>(bytes: usize) -> impl FnOnce(E) -> Error {
    move |_| Error::OutOfMemory(bytes as u64)
}
