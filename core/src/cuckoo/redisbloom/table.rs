//! One table of buckets.

use std::ops::ControlFlow;

use memchr::{memchr, memchr_iter};

use super::blocks::{BLOCK, Blocks};
use super::fingerprint::{Fingerprint, alternative};
use crate::cuckoo::tables::Slots;
use crate::error::Error;
use crate::memory::pages::{PAGE, is_zero};
use crate::memory::words::Words;
use crate::simd::prefetch;
use crate::work;

/// Bytes from which a table has buckets that lookups do not reach.
const CUT_FROM: u64 = 1 << 32;

/// Bytes of a word. All slots of a bucket that is not longer are compared at once.
const WORD: usize = size_of::<u64>();

/// A one in each byte of a word.
const ONES: u64 = u64::from_ne_bytes([1; WORD]);

/// A power of two of buckets. A slot is one byte, 0 if it is empty.
///
/// RedisBloom cuts the offset of a bucket to 32 bits. In a table of 4 GiB or more this makes
/// buckets share bytes; the items of such a filter lie there, so this table does the same. What
/// lies in a shared byte belongs to any of its buckets, so nothing is moved within such a table,
/// out of it or into it: [`Table::kick`], [`Table::move_in`] and [`Table::each_fingerprint`] keep
/// to that. An item without an empty slot makes the filter grow.
#[derive(Debug)]
pub(in crate::cuckoo) struct Table {
    words: Words,
    log2_buckets: u8,
    bucket_size: u8,
}

impl Table {
    /// Bytes of a table's slots; more than 2^64 - 1 count as that many.
    pub(super) fn bytes_of(log2_buckets: u8, bucket_size: u8) -> u64 {
        let bytes = u128::from(bucket_size) << log2_buckets;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Bytes of the memory of a given number of slots: whole words.
    pub(super) fn memory_of(slots: u64) -> u64 {
        slots.div_ceil(8).saturating_mul(8)
    }

    /// An empty table.
    pub(super) fn zeroed(log2_buckets: u8, bucket_size: u8) -> Result<Self, Error> {
        let bytes = Self::bytes_of(log2_buckets, bucket_size);
        Ok(Self::with_words(Words::zeroed(bytes.div_ceil(8))?, log2_buckets, bucket_size))
    }

    /// A table of these slots: as many as the other numbers say, rounded up to a whole word.
    pub(super) fn with_words(words: Words, log2_buckets: u8, bucket_size: u8) -> Self {
        Self { words, log2_buckets, bucket_size }
    }

    /// The number of slots, which is the number of bytes.
    pub(super) fn len(&self) -> u64 {
        u64::from(self.bucket_size) << self.log2_buckets
    }

    pub(super) fn buckets(&self) -> u64 {
        1 << self.log2_buckets
    }

    /// True if offsets are cut, so that buckets share bytes.
    fn is_cut(&self) -> bool {
        self.len() >= CUT_FROM
    }

    /// The number of occupied slots.
    ///
    /// Pages that were never touched are not read where the operating system reports which those
    /// are.
    pub(super) fn count_occupied(&self) -> u64 {
        let mut occupied = 0;
        self.words.visit_touched(0..self.words.bytes() as usize, |touched| {
            let words = self.words.as_slice().get(touched.start / WORD..touched.end.div_ceil(WORD));
            occupied +=
                words.unwrap_or_default().iter().map(|word| count_occupied(*word)).sum::<u64>();
            ControlFlow::Continue(())
        });
        occupied
    }

    /// Calls `see` with each fingerprint and its slot, in order. `blocks` are those of this table,
    /// from which nothing but fingerprints was removed since. In a table whose buckets share bytes,
    /// `see` gets a copy that it cannot move, if there is any.
    pub(super) fn each_fingerprint(
        &mut self,
        blocks: &mut Blocks,
        mut see: impl FnMut(Option<&Fingerprint>, &mut u8),
    ) {
        let (is_cut, bucket_size) = (self.is_cut(), usize::from(self.bucket_size));
        self.each_block(blocks, |start, slots| {
            if is_cut && !is_zero(slots) {
                see(None, &mut 1);
                return ControlFlow::Break(());
            }
            for (at, slot) in (start..).zip(slots).filter(|(_, slot)| **slot != 0) {
                see(Some(&Fingerprint::at(*slot, (at / bucket_size) as u64)), slot);
            }
            ControlFlow::Continue(())
        });
    }

    /// Calls `visit` with the slots of each block that may have fingerprints, and the number of the
    /// first slot, until it breaks. Blocks without fingerprints are not visited again.
    fn each_block(
        &mut self,
        blocks: &mut Blocks,
        mut visit: impl FnMut(usize, &mut [u8]) -> ControlFlow<()>,
    ) {
        for (page, slots) in self.as_mut_bytes().chunks_mut(PAGE).enumerate() {
            let occupied = blocks.of_page(page, slots.len());
            if occupied == 0 {
                continue;
            }
            work::count(occupied.count_ones().into());
            let mut left = occupied;
            for (at, slots) in slots.chunks_mut(BLOCK).enumerate() {
                if occupied >> at & 1 == 0 {
                    continue;
                }
                if visit(page * PAGE + at * BLOCK, slots).is_break() {
                    return;
                }
                left &= !(u64::from(is_zero(slots)) << at);
            }
            blocks.set_page(page, left);
        }
    }

    /// Puts a fingerprint of another table into an empty slot. False if there is none.
    pub(super) fn move_in(&mut self, fingerprint: &Fingerprint) -> bool {
        !self.is_cut() && self.replace(fingerprint, 0, fingerprint.value)
    }

    /// True if a fingerprint of another table may be moved into the bucket of a hash.
    pub(super) fn has_room(&self, hash: u64) -> bool {
        if self.is_cut() {
            return false;
        }
        if usize::from(self.bucket_size) > WORD {
            return memchr(0, self.bucket(hash)).is_some();
        }
        self.equal_slots(self.offset(hash), 0) != 0
    }

    /// The offset of the bucket of a hash.
    #[inline(always)]
    fn offset(&self, hash: u64) -> usize {
        let bucket = hash & (self.buckets() - 1);
        (bucket * u64::from(self.bucket_size)) as u32 as usize
    }

    #[inline(always)]
    fn bucket(&self, hash: u64) -> &[u8] {
        let offset = self.offset(hash);
        let len = self.bucket_size.into();
        self.words.as_bytes().get(offset..).and_then(|from| from.get(..len)).unwrap_or_default()
    }

    /// The bucket of a hash, to be written.
    #[inline(always)]
    pub(super) fn bucket_mut(&mut self, hash: u64) -> &mut [u8] {
        let offset = self.offset(hash);
        let len = self.bucket_size.into();
        let from = self.words.as_mut_bytes().get_mut(offset..);
        from.and_then(|from| from.get_mut(..len)).unwrap_or_default()
    }

    /// The slots of a bucket of at most a word that hold a value: not 0 if there is one, and the
    /// lowest set bit is in the byte of the first.
    #[inline(always)]
    fn equal_slots(&self, offset: usize, value: u8) -> u64 {
        let bytes = self.words.as_bytes();
        // A word that begins in the last bytes of the table would end behind it.
        let start = offset.min(bytes.len() - WORD);
        let word = bytes.get(start..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        let word = u64::from_le_bytes(word) >> (8 * (offset - start) as u32 % u64::BITS);
        let outside = !(u64::MAX >> (u64::BITS - 8 * u32::from(self.bucket_size)));
        let differing = (word ^ (ONES * u64::from(value))) | outside;
        // The lowest byte of zeros is exact; those above it may be ones that follow a borrow.
        differing.wrapping_sub(ONES) & !differing & (ONES << 7)
    }

    /// Replaces the first slot that holds `from`, in the first bucket of the fingerprint or else in
    /// the second. False if there is none.
    #[inline(always)]
    pub(super) fn replace(&mut self, fingerprint: &Fingerprint, from: u8, to: u8) -> bool {
        fingerprint.hashes.iter().any(|hash| self.replace_in(*hash, from, to))
    }

    /// Replaces the first slot that holds `from` in the bucket of a hash. False if there is none.
    #[inline(always)]
    fn replace_in(&mut self, hash: u64, from: u8, to: u8) -> bool {
        if usize::from(self.bucket_size) > WORD {
            return replace(self.bucket_mut(hash), from, to);
        }
        let offset = self.offset(hash);
        let equal = self.equal_slots(offset, from);
        if equal == 0 {
            return false;
        }
        let first = offset + equal.trailing_zeros() as usize / 8;
        self.words.as_mut_bytes().get_mut(first).map(|slot| *slot = to).is_some()
    }

    /// Puts the fingerprint into a slot of its first bucket, the one that was there into its other
    /// bucket, and so on, at most `max_iterations` times, until one finds an empty slot. If none
    /// does, everything is undone, and the result is false.
    pub(super) fn kick(&mut self, fingerprint: &Fingerprint, max_iterations: u16) -> bool {
        if self.is_cut() {
            return false;
        }
        let (mut in_hand, mut hash) = (fingerprint.value, fingerprint.hashes[0]);
        for iteration in 0..max_iterations {
            self.swap(hash, self.victim(iteration), &mut in_hand);
            hash = alternative(in_hand, hash);
            if self.replace_in(hash, 0, in_hand) {
                return true;
            }
        }
        for iteration in (0..max_iterations).rev() {
            hash = alternative(in_hand, hash);
            self.swap(hash, self.victim(iteration), &mut in_hand);
        }
        false
    }

    /// The slot of a bucket that an iteration of [`Table::kick`] replaces.
    fn victim(&self, iteration: u16) -> usize {
        usize::from(iteration % u16::from(self.bucket_size))
    }

    /// Exchanges a slot of a bucket with the fingerprint in hand.
    fn swap(&mut self, hash: u64, slot: usize, in_hand: &mut u8) {
        if let Some(slot) = self.bucket_mut(hash).get_mut(slot) {
            std::mem::swap(slot, in_hand);
        }
    }
}

impl Slots for Table {
    type Hash = Fingerprint;

    #[inline(always)]
    fn words(&self) -> &Words {
        &self.words
    }

    fn words_mut(&mut self) -> &mut Words {
        &mut self.words
    }

    fn as_bytes(&self) -> &[u8] {
        self.words.as_bytes().get(..self.len() as usize).unwrap_or_default()
    }

    fn as_mut_bytes(&mut self) -> &mut [u8] {
        let len = self.len() as usize;
        self.words.as_mut_bytes().get_mut(..len).unwrap_or_default()
    }

    fn try_clone(&self) -> Result<Self, Error> {
        Ok(Self { words: self.words.try_clone()?, ..*self })
    }

    #[inline(always)]
    fn prefetch(&self, fingerprint: &Fingerprint) {
        let start = self.words.as_bytes().as_ptr();
        for hash in fingerprint.hashes {
            prefetch(start.wrapping_add(self.offset(hash)));
        }
    }

    #[inline(always)]
    fn contains(&self, fingerprint: &Fingerprint) -> bool {
        if usize::from(self.bucket_size) <= WORD {
            let [first, second] = fingerprint
                .hashes
                .map(|hash| self.equal_slots(self.offset(hash), fingerprint.value));
            return first | second != 0;
        }
        let is_in = |hash: &u64| memchr(fingerprint.value, self.bucket(*hash)).is_some();
        fingerprint.hashes.iter().any(is_in)
    }

    /// Slots of the first bucket with the fingerprint, and slots of the second, even if they are
    /// the same.
    fn count(&self, fingerprint: &Fingerprint) -> u64 {
        let of_bucket = |hash: &u64| memchr_iter(fingerprint.value, self.bucket(*hash)).count();
        fingerprint.hashes.iter().map(|hash| of_bucket(hash) as u64).sum()
    }
}

/// The bytes of a word that are not 0.
fn count_occupied(word: u64) -> u64 {
    const OTHERS: u64 = !(ONES << 7);
    // The highest bit of a byte is set if any other one is, by the carry.
    let is_occupied = (((word & OTHERS) + OTHERS) | word) >> 7 & ONES;
    is_occupied.wrapping_mul(ONES) >> 56
}

/// Replaces the first slot of a bucket that holds `from`. False if there is none.
#[inline(always)]
fn replace(bucket: &mut [u8], from: u8, to: u8) -> bool {
    let first = memchr(from, bucket).and_then(|at| bucket.get_mut(at));
    first.map(|slot| *slot = to).is_some()
}
