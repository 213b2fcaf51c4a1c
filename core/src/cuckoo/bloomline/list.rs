//! Entries without a slot: further copies of an item that has all its slots, and entries for
//! which no slot became empty. Different items always find one below the limit of their table;
//! copies do not, because all copies of an item have the same four slots.
//!
//! The entries are in ascending order, in segments of up to 1,024. So an insertion moves at most 16
//! KiB of entries, and the segments behind a new one: 32 bytes per 512 to 1,024 entries.

use std::alloc::{Layout, handle_alloc_error};
use std::ptr::NonNull;

use crate::error::Error;
use crate::memory::lists::try_insert;
use crate::memory::words::{Mover, relocate_slice, relocate_vec};

pub(super) const ENTRY_BYTES: u64 = 16;

/// The most entries of a segment.
const SEGMENT: usize = 1_024;

/// [`Segment::first`] of a spare segment: more than any prefix, so that it is behind all others.
const SPARE: u64 = u64::MAX;

/// Copies of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) prefix: u64,
    /// At least 1.
    pub(super) copies: u64,
}

/// Consecutive entries of a list.
#[derive(Debug)]
struct Segment {
    /// No entry of this segment has a smaller prefix, unless it is the first segment. All entries
    /// of the segments before it have one.
    first: u64,
    entries: Vec<Entry>,
}

/// Entries in ascending order of their prefixes, which are different.
#[derive(Debug, Default)]
pub(super) struct List {
    segments: Box<[Segment]>,
    /// The number of entries.
    len: u64,
    copies: u64,
}

/// The most copies in a list, so that no sum of them can overflow.
pub(super) const MAX_COPIES: u64 = 1 << 58;

impl Segment {
    /// A segment without entries, with memory for `capacity` of them.
    fn with_capacity(first: u64, capacity: usize) -> Result<Self, Error> {
        let mut segment = Self { first, entries: Vec::new() };
        segment.reserve(capacity)?;
        Ok(segment)
    }

    /// Makes room for further entries.
    fn reserve(&mut self, further: usize) -> Result<(), Error> {
        let bytes = (self.entries.len() + further) as u64 * ENTRY_BYTES;
        self.entries.try_reserve_exact(further).map_err(|_| Error::OutOfMemory(bytes))
    }

    /// True if the segment was allocated by [`List::add_spares`], and has no entries yet.
    fn is_spare(&self) -> bool {
        self.first == SPARE && self.entries.is_empty()
    }

    /// The entries that fit without more memory.
    fn room(&self) -> usize {
        self.entries.capacity().min(SEGMENT).saturating_sub(self.entries.len())
    }

    /// Takes over the entries of the next segment if both together are at most half a segment, and
    /// fit without more memory. False if not.
    fn append(&mut self, next: &mut Self) -> bool {
        let further = next.entries.len();
        let fits = self.entries.len() + further <= SEGMENT / 2
            && further <= self.room()
            && !next.is_spare();
        if fits {
            self.entries.append(&mut next.entries);
        }
        fits
    }
}

impl List {
    /// A list of `count` entries in order.
    pub(super) fn of(count: u64, mut entries: impl Iterator<Item = Entry>) -> Result<Self, Error> {
        let out_of_memory = Error::OutOfMemory(count * ENTRY_BYTES);
        let mut left = usize::try_from(count).map_err(|_| out_of_memory)?;
        let mut segments: Vec<Segment> = Vec::new();
        segments.try_reserve_exact(left.div_ceil(SEGMENT)).map_err(|_| out_of_memory)?;
        while left > 0 {
            let mut segment = Segment::with_capacity(0, left.min(SEGMENT))?;
            segment.entries.extend(entries.by_ref().take(left.min(SEGMENT)));
            left -= left.min(SEGMENT);
            segment.first = segment.entries.first().map_or(0, |entry| entry.prefix);
            segments.push(segment);
        }
        let mut list = Self { segments: segments.into_boxed_slice(), ..Self::default() };
        list.count();
        Ok(list)
    }

    pub(super) fn try_clone(&self) -> Result<Self, Error> {
        Self::of(self.len, self.entries())
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.segments.iter().flat_map(|segment| segment.entries.iter().copied())
    }

    /// Calls `see` with the start of each allocation.
    pub(super) fn each_allocation(&self, mut see: impl FnMut(NonNull<u8>)) {
        for segment in &self.segments {
            see(NonNull::from(&*segment.entries).cast());
        }
        if !self.segments.is_empty() {
            see(NonNull::from(&*self.segments).cast());
        }
    }

    /// The number of allocations: the segments, and the list of segments.
    pub(super) fn allocations(&self) -> usize {
        self.segments.len() + usize::from(!self.segments.is_empty())
    }

    /// Lets `mover` move the allocation with an index, in the order of [`List::each_allocation`].
    pub(super) fn relocate(&mut self, index: usize, mover: &mut Mover) {
        match self.segments.get_mut(index) {
            Some(segment) => relocate_vec(&mut segment.entries, mover),
            None => relocate_slice(&mut self.segments, mover),
        }
    }

    /// Calls `change` for each entry, and removes those that have no copies then.
    pub(super) fn change(&mut self, mut change: impl FnMut(&mut Entry)) {
        let mut segments = std::mem::take(&mut self.segments).into_vec();
        segments.retain_mut(|segment| {
            segment.entries.retain_mut(|entry| {
                change(entry);
                entry.copies != 0
            });
            !segment.entries.is_empty() || segment.is_spare()
        });
        segments.dedup_by(|segment, before| before.append(segment));
        self.segments = segments.into_boxed_slice();
        self.count();
    }

    fn count(&mut self) {
        self.len = self.segments.iter().map(|segment| segment.entries.len() as u64).sum();
        self.copies = self.entries().map(|entry| entry.copies).sum();
    }

    #[inline(always)]
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    pub(super) fn copies(&self) -> u64 {
        self.copies
    }

    #[inline(always)]
    pub(super) fn copies_of(&self, prefix: u64) -> u64 {
        if self.is_empty() { 0 } else { self.find(prefix).map_or(0, |entry| entry.copies) }
    }

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
        let segment = self.segment_of(prefix);
        let Some(segment) = self.segments.get_mut(segment) else { return false };
        let entry = position(segment, prefix).ok().and_then(|at| segment.entries.get_mut(at));
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
    /// The process ends if the allocator has no memory for a further segment. What an insertion
    /// and a doubling need, [`List::reserve`] allocates before, and what most compactions do,
    /// [`List::add_spares`]. An entry that found memory on one server only would make replicas
    /// differ.
    pub(super) fn insert(&mut self, prefix: u64, copies: u64) {
        if self.reserve(prefix, 1).is_err() {
            handle_alloc_error(Layout::new::<[Entry; SEGMENT]>());
        }
        let segment = self.segment_of(prefix);
        if let Some(segment) = self.segments.get_mut(segment)
            && let Err(at) = position(segment, prefix)
        {
            if segment.is_spare() {
                segment.first = prefix;
            }
            segment.entries.insert(at, Entry { prefix, copies });
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
        let index = self.segment_of(prefix);
        let Some(segment) = self.segments.get_mut(index) else { return false };
        let Ok(at) = position(segment, prefix) else { return false };
        let Some(entry) = segment.entries.get_mut(at) else { return false };
        entry.copies -= 1;
        self.copies -= 1;
        if entry.copies == 0 {
            segment.entries.remove(at);
            self.len -= 1;
            let len = segment.entries.len();
            if len <= SEGMENT / 2 {
                self.shrink(index, len);
            }
        }
        true
    }

    /// Drops a segment of `len` entries if it has none, or joins it with a neighbour if both are
    /// small.
    fn shrink(&mut self, index: usize, len: usize) {
        let mut is_joined = |left: usize| match self.segments.get_mut(left..) {
            Some([left, right, ..]) => left.append(right),
            _ => false,
        };
        let removed = match index.checked_sub(1) {
            _ if len == 0 => Some(index),
            Some(before) if is_joined(before) => Some(index),
            _ => is_joined(index).then_some(index + 1),
        };
        if let Some(index) = removed {
            let mut segments = std::mem::take(&mut self.segments).into_vec();
            segments.remove(index);
            self.segments = segments.into_boxed_slice();
        }
    }

    /// True if this number of further copies is allowed.
    #[inline(always)]
    pub(super) fn has_room_for(&self, copies: u64) -> bool {
        self.copies <= MAX_COPIES.saturating_sub(copies)
    }

    /// True if `count` entries for the prefix need no more memory.
    pub(super) fn has_memory_for(&self, prefix: u64, count: usize) -> bool {
        self.lacking(prefix, count) == 0
    }

    /// Bytes of memory for further entries, in all segments. Cost: one step per segment.
    pub(super) fn room_bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.room() as u64 * ENTRY_BYTES).sum()
    }

    /// Bytes that [`List::reserve`] allocates for entries.
    pub(super) fn lacking_bytes(&self, prefix: u64, count: usize) -> u64 {
        self.lacking(prefix, count) as u64 * ENTRY_BYTES
    }

    /// Entries for which [`List::reserve`] allocates memory: if there is too little, for as many as
    /// the segment of the prefix has, at least four, or else for a further segment.
    fn lacking(&self, prefix: u64, count: usize) -> usize {
        let Some(segment) = self.segments.get(self.segment_of(prefix)) else { return count.max(4) };
        let (len, room) = (segment.entries.len(), segment.room());
        if room >= count {
            0
        } else if len + count <= SEGMENT {
            len.max(4).min(SEGMENT - len).max(count) - room
        } else {
            SEGMENT
        }
    }

    /// Makes room for `count` entries, at most half a segment, in the segment of the prefix. They
    /// may have any prefixes of that segment.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. The entries are unchanged then.
    pub(super) fn reserve(&mut self, prefix: u64, count: usize) -> Result<(), Error> {
        let (index, lacking) = (self.segment_of(prefix), self.lacking(prefix, count));
        if lacking == 0 {
            return Ok(());
        }
        match self.segments.get_mut(index) {
            Some(segment) if segment.entries.len() + count <= SEGMENT => {
                segment.reserve(segment.room() + lacking)
            }
            Some(_) => self.split(index, prefix),
            None => self.open(0, prefix, lacking),
        }
    }

    /// True if there is room for `count` entries of any prefixes: always false if there are several
    /// segments.
    #[inline(always)]
    pub(super) fn has_room_anywhere(&self, count: usize) -> bool {
        matches!(&*self.segments, [only] if only.room() >= count)
    }

    /// Frees the memory of a list without entries.
    pub(super) fn free_if_empty(&mut self) {
        if self.is_empty() {
            *self = Self::default();
        }
    }

    /// Allocates memory for `count` entries of any prefixes: full segments, and spare ones, which
    /// [`List::drop_spares`] frees.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]. The entries are unchanged then.
    pub(super) fn add_spares(&mut self, count: u64) -> Result<(), Error> {
        for segment in &mut self.segments {
            segment.reserve(SEGMENT.saturating_sub(segment.entries.len()))?;
        }
        // Each segment may be full already, and half of a split one has room.
        let splits = (self.segments.len() as u64).min(count);
        for _ in 0..splits + count / (SEGMENT as u64 / 2) + 1 {
            let end = self.segments.len();
            try_insert(&mut self.segments, end, Segment::with_capacity(SPARE, SEGMENT)?)?;
        }
        Ok(())
    }

    /// Frees the spare segments, and the room of the others.
    pub(super) fn drop_spares(&mut self) {
        let mut segments = std::mem::take(&mut self.segments).into_vec();
        segments.retain(|segment| !segment.entries.is_empty());
        segments.iter_mut().for_each(|segment| segment.entries.shrink_to_fit());
        self.segments = segments.into_boxed_slice();
    }

    /// Splits a segment for an entry of a prefix.
    fn split(&mut self, index: usize, prefix: u64) -> Result<(), Error> {
        let is_last = self.segments.get(index + 1).is_none_or(Segment::is_spare);
        let Some(segment) = self.segments.get(index) else { return Ok(()) };
        // Entries often come in ascending order: then full segments stay full.
        let len = segment.entries.len();
        let is_behind = is_last && position(segment, prefix) == Err(len);
        let kept = if is_behind { len } else { len / 2 };
        let first = segment.entries.get(kept).map_or(prefix, |entry| entry.prefix);
        self.open(index + 1, first, SEGMENT)?;
        if let Some([segment, further, ..]) = self.segments.get_mut(index..) {
            further.entries.extend(segment.entries.drain(kept..));
        }
        Ok(())
    }

    /// Inserts a segment without entries: a spare one, or else a new one.
    fn open(&mut self, index: usize, first: u64, capacity: usize) -> Result<(), Error> {
        let rest = self.segments.get_mut(index..).unwrap_or_default();
        if !rest.last().is_some_and(Segment::is_spare) {
            let further = Segment::with_capacity(first, capacity)?;
            return try_insert(&mut self.segments, index, further);
        }
        rest.rotate_right(1);
        if let Some(further) = rest.first_mut() {
            further.first = first;
        }
        Ok(())
    }

    /// The index of the segment that has the prefix, or would have it.
    fn segment_of(&self, prefix: u64) -> usize {
        self.segments.partition_point(|segment| segment.first <= prefix).saturating_sub(1)
    }

    fn find(&self, prefix: u64) -> Option<&Entry> {
        let segment = self.segments.get(self.segment_of(prefix))?;
        segment.entries.get(position(segment, prefix).ok()?)
    }
}

/// The index of a prefix in a segment, or the one that it would have.
fn position(segment: &Segment, prefix: u64) -> Result<usize, usize> {
    segment.entries.binary_search_by_key(&prefix, |entry| entry.prefix)
}
