//! The union of words: a bit is set afterwards if it was set in either.

use std::ops::ControlFlow;

use super::pages::is_zero;
use super::words::Words;
use crate::simd::{Backend, Task, dispatch};

/// Bytes that are tested at once, and then written if a bit changes.
///
/// The processor fetches the next ones in the meantime. It does so too late with whole pages.
const STEP: usize = 512;

impl Words {
    /// Sets all bits that are set in `other`, which must have the same length. Returns how many
    /// bits were not set before.
    ///
    /// Only memory in which a bit changes is written. Where `other` is zero, this memory is not
    /// even read. Pages of `other` that were never touched are not read if the operating system
    /// reports which those are.
    ///
    /// Cost: one pass over the touched pages of both, and the report of touched pages; see
    /// docs/explanation/performance.md.
    pub fn union(&mut self, other: &Self) -> u64 {
        debug_assert_eq!(self.len(), other.len());
        let (to, from) = (self.as_mut_bytes(), other.as_bytes());
        let mut new_bits = 0;
        other.visit_touched(0..to.len().min(from.len()), |range| {
            if let (Some(to), Some(from)) = (to.get_mut(range.clone()), from.get(range)) {
                new_bits += dispatch(Unite { to, from });
            }
            ControlFlow::Continue(())
        });
        new_bits
    }
}

/// [`unite`], compiled for each backend: with vector instructions, counting the new bits costs
/// little.
struct Unite<'a> {
    to: &'a mut [u8],
    from: &'a [u8],
}

impl Task for Unite<'_> {
    type Output = u64;

    #[inline(always)]
    fn run<B: Backend>(self, _backend: B) -> u64 {
        unite(self.to, self.from)
    }
}

/// Sets the bits of `from` in `to`, which must have the same length. Returns how many of them were
/// not set.
#[inline(always)]
fn unite(to: &mut [u8], from: &[u8]) -> u64 {
    // Arrays, so that the compiler knows their length and unrolls the loops.
    let (to, to_rest) = to.as_chunks_mut::<STEP>();
    let (from, from_rest) = from.as_chunks::<STEP>();
    let mut new_bits = unite_step(to_rest, from_rest);
    for (to, from) in to.iter_mut().zip(from) {
        // The first word decides almost always.
        if from.first_chunk() == Some(&[0; 8]) && is_zero(from) {
            continue;
        }
        new_bits += unite_step(to, from);
    }
    new_bits
}

/// [`unite`] for a few bytes. It is inlined, so that the length of an array is a constant.
#[inline(always)]
fn unite_step(to: &mut [u8], from: &[u8]) -> u64 {
    // There is no branch per byte, so that the compiler vectorises the loops.
    let new = from.iter().zip(&*to).fold(0, |all, (from, to)| all | from & !to);
    if new == 0 {
        return 0;
    }
    let new_bits = count_new(to, from);
    to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
    new_bits
}

/// The number of bits that are set in `from` and not in `to`, which have the same length.
#[inline(always)]
fn count_new(to: &[u8], from: &[u8]) -> u64 {
    // Of words and not of bytes, which would take several times as long; the rest is at most seven.
    let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
    let ((to, to_rest), (from, from_rest)) = (to.as_chunks(), from.as_chunks());
    let words = from.iter().zip(to).map(|(from, to)| (word(from) & !word(to)).count_ones());
    let rest = from_rest.iter().zip(to_rest).map(|(from, to)| (from & !to).count_ones());
    words.chain(rest).sum::<u32>().into()
}
