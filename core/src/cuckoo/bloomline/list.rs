//! Entries without a slot: further copies of an item that has three slots, and entries for
//! which no slot became empty. Different items always find one below the limit of their table;
//! copies do not, because all copies of an item have the same four slots.
//!
//! The entries are in ascending order, in blocks of up to 1,024. So an insertion moves at most 16
//! KiB of entries, and the blocks behind a new one: 32 bytes per 512 to 1,024 entries.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::NonNull;

use crate::error::Error;
use crate::memory::lists::try_insert;
use crate::memory::words::{Mover, relocate_slice, relocate_vec};

/// Bytes of an entry.
pub(super) const ENTRY_BYTES: u64 = 16;

/// The most entries of a block.
const BLOCK: usize = 1_024;

/// Copies of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) prefix: u64,
    /// At least 1.
    pub(super) copies: u64,
}

/// Consecutive entries of a list.
#[derive(Debug)]
struct Block {
    /// No entry of this block has a smaller prefix, unless it is the first block. All entries of
    /// the blocks before it have one.
    first: u64,
    entries: Vec<Entry>,
}

/// Entries in ascending order of their prefixes, which are different.
#[derive(Debug, Default)]
pub(super) struct List {
    blocks: Box<[Block]>,
    /// The number of entries.
    len: u64,
    /// The copies of all entries.
    copies: u64,
}

/// The most copies in a list, so that no sum of them can overflow.
pub(super) const MAX_COPIES: u64 = 1 << 58;

impl Block {
    /// A block without entries, with memory for `capacity` of them.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    fn with_capacity(first: u64, capacity: usize) -> Result<Self, Error> {
        let mut block = Self { first, entries: Vec::new() };
        block.reserve(capacity)?;
        Ok(block)
    }

    /// Makes room for further entries.
    fn reserve(&mut self, further: usize) -> Result<(), Error> {
        let bytes = (self.entries.len() + further) as u64 * ENTRY_BYTES;
        self.entries.try_reserve_exact(further).map_err(|_| Error::OutOfMemory(bytes))
    }

    /// The entries that fit without more memory.
    fn room(&self) -> usize {
        self.entries.capacity().min(BLOCK).saturating_sub(self.entries.len())
    }

    /// Takes over the entries of the next block if both together are at most half a block, and fit
    /// without more memory. False if not.
    fn append(&mut self, next: &mut Self) -> bool {
        let further = next.entries.len();
        let is_small = self.entries.len() + further <= BLOCK / 2 && further <= self.room();
        if is_small {
            self.entries.append(&mut next.entries);
        }
        is_small
    }
}

impl List {
    /// A list of `count` entries in order.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn of(count: u64, mut entries: impl Iterator<Item = Entry>) -> Result<Self, Error> {
        let out_of_memory = Error::OutOfMemory(count * ENTRY_BYTES);
        let mut left = usize::try_from(count).map_err(|_| out_of_memory)?;
        let mut blocks: Vec<Block> = Vec::new();
        blocks.try_reserve_exact(left.div_ceil(BLOCK)).map_err(|_| out_of_memory)?;
        while left > 0 {
            let mut block = Block::with_capacity(0, left.min(BLOCK))?;
            block.entries.extend(entries.by_ref().take(left.min(BLOCK)));
            left -= left.min(BLOCK);
            block.first = block.entries.first().map_or(0, |entry| entry.prefix);
            blocks.push(block);
        }
        let mut list = Self { blocks: blocks.into_boxed_slice(), ..Self::default() };
        list.count();
        Ok(list)
    }

    /// A copy of the list.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn try_clone(&self) -> Result<Self, Error> {
        Self::of(self.len, self.entries())
    }

    /// The entries.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.blocks.iter().flat_map(|block| block.entries.iter().copied())
    }

    /// Calls `see` with the start of each allocation.
    pub(super) fn each_block(&self, mut see: impl FnMut(NonNull<u8>)) {
        for block in &self.blocks {
            see(NonNull::from(&*block.entries).cast());
        }
        if !self.blocks.is_empty() {
            see(NonNull::from(&*self.blocks).cast());
        }
    }

    /// The number of allocations: the blocks, and the list of blocks.
    pub(super) fn allocations(&self) -> usize {
        self.blocks.len() + usize::from(!self.blocks.is_empty())
    }

    /// Lets `mover` move the allocation with an index, in the order of [`List::each_block`].
    pub(super) fn relocate(&mut self, index: usize, mover: &mut Mover) {
        match self.blocks.get_mut(index) {
            Some(block) => relocate_vec(&mut block.entries, mover),
            None => relocate_slice(&mut self.blocks, mover),
        }
    }

    /// Calls `change` for each entry, and removes those that have no copies then.
    pub(super) fn change(&mut self, mut change: impl FnMut(&mut Entry)) {
        let mut blocks = std::mem::take(&mut self.blocks).into_vec();
        blocks.retain_mut(|block| {
            block.entries.retain_mut(|entry| {
                change(entry);
                entry.copies != 0
            });
            !block.entries.is_empty()
        });
        blocks.dedup_by(|block, before| before.append(block));
        self.blocks = blocks.into_boxed_slice();
        self.count();
    }

    fn count(&mut self) {
        self.len = self.blocks.iter().map(|block| block.entries.len() as u64).sum();
        self.copies = self.entries().map(|entry| entry.copies).sum();
    }

    /// The number of entries.
    #[inline(always)]
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// True if there are no entries.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The copies of all entries.
    #[inline(always)]
    pub(super) fn copies(&self) -> u64 {
        self.copies
    }

    /// The copies of a prefix.
    #[inline(always)]
    pub(super) fn copies_of(&self, prefix: u64) -> u64 {
        if self.is_empty() { 0 } else { self.find(prefix).map_or(0, |entry| entry.copies) }
    }

    /// True if the prefix has copies.
    #[inline(always)]
    pub(super) fn contains(&self, prefix: u64) -> bool {
        !self.is_empty() && self.find(prefix).is_some()
    }

    /// Adds copies of a prefix that is in the list. False if it is not.
    #[inline(always)]
    pub(super) fn add_copies(&mut self, prefix: u64, copies: u64) -> bool {
        !self.is_empty() && self.add_to_entry(prefix, copies)
    }

    /// [`List::add_copies`] for a list with entries.
    fn add_to_entry(&mut self, prefix: u64, copies: u64) -> bool {
        let block = self.block_of(prefix);
        let Some(block) = self.blocks.get_mut(block) else { return false };
        let entry = position(block, prefix).ok().and_then(|at| block.entries.get_mut(at));
        let Some(entry) = entry else { return false };
        entry.copies += copies;
        self.copies += copies;
        true
    }

    /// Adds a copy of a prefix; see [`List::insert`].
    pub(super) fn add(&mut self, prefix: u64) {
        self.add_some(prefix, 1);
    }

    /// Adds copies of a prefix; see [`List::insert`].
    pub(super) fn add_some(&mut self, prefix: u64, copies: u64) {
        if !self.add_copies(prefix, copies) {
            self.insert(prefix, copies);
        }
    }

    /// Adds a prefix that is not in the list, with this number of copies.
    ///
    /// The process ends if the allocator has no memory for a further block, as it does where the
    /// server itself needs so little: what an insertion needs, [`List::grow`] allocates before. An
    /// entry that found memory on one server only would make replicas differ.
    pub(super) fn insert(&mut self, prefix: u64, copies: u64) {
        if !self.has_memory_for(prefix) && self.grow(prefix).is_err() {
            handle_alloc_error(Layout::new::<[Entry; BLOCK]>());
        }
        let block = self.block_of(prefix);
        if let Some(block) = self.blocks.get_mut(block)
            && let Err(at) = position(block, prefix)
        {
            block.entries.insert(at, Entry { prefix, copies });
            self.len += 1;
            self.copies += copies;
        }
    }

    /// Takes one copy of a prefix out. False if there is none.
    #[inline(always)]
    pub(super) fn remove(&mut self, prefix: u64) -> bool {
        !self.is_empty() && self.remove_from_entry(prefix)
    }

    /// [`List::remove`] for a list with entries.
    fn remove_from_entry(&mut self, prefix: u64) -> bool {
        let index = self.block_of(prefix);
        let Some(block) = self.blocks.get_mut(index) else { return false };
        let Ok(at) = position(block, prefix) else { return false };
        let Some(entry) = block.entries.get_mut(at) else { return false };
        entry.copies -= 1;
        self.copies -= 1;
        if entry.copies == 0 {
            block.entries.remove(at);
            self.len -= 1;
            let len = block.entries.len();
            if len <= BLOCK / 2 {
                self.shrink(index, len);
            }
        }
        true
    }

    /// Drops a block of `len` entries if it has none, or joins it with a neighbour if both are
    /// small.
    fn shrink(&mut self, index: usize, len: usize) {
        let mut is_joined = |left: usize| match self.blocks.get_mut(left..) {
            Some([left, right, ..]) => left.append(right),
            _ => false,
        };
        let removed = match index.checked_sub(1) {
            _ if len == 0 => Some(index),
            Some(before) if is_joined(before) => Some(index),
            _ => is_joined(index).then_some(index + 1),
        };
        if let Some(index) = removed {
            let mut blocks = std::mem::take(&mut self.blocks).into_vec();
            blocks.remove(index);
            self.blocks = blocks.into_boxed_slice();
        }
    }

    /// True if this number of further copies is allowed.
    #[inline(always)]
    pub(super) fn has_room_for(&self, copies: u64) -> bool {
        self.copies <= MAX_COPIES.saturating_sub(copies)
    }

    /// True if an entry for the prefix needs no more memory.
    pub(super) fn has_memory_for(&self, prefix: u64) -> bool {
        self.blocks.get(self.block_of(prefix)).is_some_and(|block| block.room() > 0)
    }

    /// Bytes of memory for further entries, in all blocks. Cost: one step per block.
    pub(super) fn room_bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.room() as u64 * ENTRY_BYTES).sum()
    }

    /// Bytes that [`List::grow`] adds for entries.
    pub(super) fn growth_bytes(&self, prefix: u64) -> u64 {
        self.growth(prefix) as u64 * ENTRY_BYTES
    }

    /// Makes room for an entry of the prefix: for as many as its block has, at least four, or else
    /// in a further block.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub(super) fn grow(&mut self, prefix: u64) -> Result<(), Error> {
        let (index, growth) = (self.block_of(prefix), self.growth(prefix));
        let is_last = index + 1 >= self.blocks.len();
        match self.blocks.get_mut(index) {
            Some(block) if block.entries.len() < BLOCK => block.reserve(growth),
            Some(block) => {
                // Entries often come in ascending order: then full blocks stay full.
                let is_behind = is_last && position(block, prefix) == Err(BLOCK);
                let kept = if is_behind { BLOCK } else { BLOCK / 2 };
                let first = block.entries.get(kept).map_or(prefix, |entry| entry.prefix);
                let further = Block::with_capacity(first, growth)?;
                try_insert(&mut self.blocks, index + 1, further)?;
                if let Some([block, further, ..]) = self.blocks.get_mut(index..) {
                    further.entries.extend(block.entries.drain(kept..));
                }
                Ok(())
            }
            None => try_insert(&mut self.blocks, 0, Block::with_capacity(prefix, growth)?),
        }
    }

    fn growth(&self, prefix: u64) -> usize {
        match self.blocks.get(self.block_of(prefix)).map_or(0, |block| block.entries.len()) {
            BLOCK.. => BLOCK,
            len => len.max(4).min(BLOCK - len),
        }
    }

    /// The index of the block that has the prefix, or would have it.
    fn block_of(&self, prefix: u64) -> usize {
        self.blocks.partition_point(|block| block.first <= prefix).saturating_sub(1)
    }

    /// The entry of a prefix.
    fn find(&self, prefix: u64) -> Option<&Entry> {
        let block = self.blocks.get(self.block_of(prefix))?;
        block.entries.get(position(block, prefix).ok()?)
    }
}

/// The index of a prefix in a block, or the one that it would have.
fn position(block: &Block, prefix: u64) -> Result<usize, usize> {
    block.entries.binary_search_by_key(&prefix, |entry| entry.prefix)
}
