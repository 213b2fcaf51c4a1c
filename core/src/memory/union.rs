//! The union of words: a bit is set afterwards if it was set in either.

use std::ops::ControlFlow;

use super::pages::is_zero;
use super::words::Words;

/// Bytes that are tested at once, and then written if a bit changes.
///
/// The processor fetches the next ones in the meantime. It does so too late with whole pages, which
/// take a tenth longer.
const STEP: usize = 512;

impl Words {
    /// Sets all bits that are set in `other`, which must have the same length. True if a bit
    /// changed.
    ///
    /// Only memory in which a bit changes is written. Where `other` is zero, this memory is not
    /// even read. Pages of `other` that were never touched are not read if the operating system
    /// reports which those are.
    ///
    /// For 1 GiB that was touched, it takes 1.2 times as long as a loop that only ORs the words:
    /// 70 ms at 45 GB/s. Most of the difference is the report of touched pages.
    pub fn union(&mut self, other: &Self) -> bool {
        debug_assert_eq!(self.len(), other.len());
        let (to, from) = (self.as_mut_bytes(), other.as_bytes());
        let mut has_changed = false;
        other.visit_touched(0..to.len().min(from.len()), |range| {
            if let (Some(to), Some(from)) = (to.get_mut(range.clone()), from.get(range)) {
                has_changed |= unite(to, from);
            }
            ControlFlow::Continue(())
        });
        has_changed
    }
}

/// Sets the bits of `from` in `to`, which must have the same length. True if a bit changed.
///
/// It is not inlined: only of parameters does the compiler know that they do not overlap, and the
/// loop takes a tenth less.
#[inline(never)]
fn unite(to: &mut [u8], from: &[u8]) -> bool {
    // Arrays, so that the compiler knows their length and unrolls the loops.
    let (to, to_rest) = to.as_chunks_mut::<STEP>();
    let (from, from_rest) = from.as_chunks::<STEP>();
    let mut has_changed = unite_step(to_rest, from_rest);
    for (to, from) in to.iter_mut().zip(from) {
        // The first word decides almost always.
        if from.first_chunk() == Some(&[0; 8]) && is_zero(from) {
            continue;
        }
        has_changed |= unite_step(to, from);
    }
    has_changed
}

/// [`unite`] for a few bytes. It is inlined, so that the length of an array is a constant.
#[inline(always)]
fn unite_step(to: &mut [u8], from: &[u8]) -> bool {
    // There is no branch per byte, so that the compiler vectorises the loop.
    let new = from.iter().zip(&*to).fold(0, |all, (from, to)| all | from & !to);
    if new != 0 {
        to.iter_mut().zip(from).for_each(|(to, from)| *to |= from);
    }
    new != 0
}
