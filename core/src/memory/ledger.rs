//! Every block that is allocated, with its size and its origin: the debug allocator of the tests.
//!
//! The global allocator reports each block that it hands out and each that comes back; blocks that
//! the host allocated are reported when they are adopted. A block that comes back with another
//! address, size or origin, or a page range outside its block, ends the process.
//!
//! The table is static and allocates nothing, since it is used inside the allocator.

use std::alloc::{GlobalAlloc, Layout};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A block that is out.
#[derive(Clone, Copy)]
struct Entry {
    /// Its address; 0 where the slot is free.
    start: usize,
    size: usize,
    is_adopted: bool,
}

const FREE: Entry = Entry { start: 0, size: 0, is_adopted: false };

/// Twice as many as any test has blocks at once.
const SLOTS: usize = 1 << 23;

/// A hash table with linear probing; a slot's index is the home of its entry or follows it.
struct Table {
    slots: [Entry; SLOTS],
    used: usize,
}

static TABLE: Mutex<Table> = Mutex::new(Table { slots: [FREE; SLOTS], used: 0 });

/// The slot an address belongs to.
fn home(start: usize) -> usize {
    ((start as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SLOTS
}

#[expect(clippy::indexing_slicing, reason = "indexes are taken modulo the number of slots")]
impl Table {
    /// The slot of an address, or the free one where it would stand.
    fn slot(&self, start: usize) -> usize {
        let mut slot = home(start);
        while self.slots[slot].start != start && self.slots[slot].start != 0 {
            slot = (slot + 1) % SLOTS;
        }
        slot
    }

    fn get(&self, start: usize) -> Entry {
        self.slots[self.slot(start)]
    }

    fn insert(&mut self, entry: Entry) {
        self.used += 1;
        if self.used > SLOTS / 2 {
            end("more blocks than the ledger has room for", entry.start, entry.size);
        }
        let slot = self.slot(entry.start);
        if self.slots[slot].start != 0 {
            end("handed out twice", entry.start, entry.size);
        }
        self.slots[slot] = entry;
    }

    /// Removes an entry, and moves up those behind it that could no longer be found.
    fn remove(&mut self, start: usize) {
        self.used -= 1;
        let mut hole = self.slot(start);
        let mut next = hole;
        loop {
            self.slots[hole] = FREE;
            loop {
                next = (next + 1) % SLOTS;
                if self.slots[next].start == 0 {
                    return;
                }
                let from_home = |slot: usize| (slot + SLOTS - home(self.slots[next].start)) % SLOTS;
                if from_home(hole) < from_home(next) {
                    break;
                }
            }
            self.slots[hole] = self.slots[next];
            hole = next;
        }
    }
}

fn with_table<T>(use_it: impl FnOnce(&mut Table) -> T) -> T {
    use_it(&mut TABLE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// An allocator whose blocks are recorded.
pub struct Audited<A>(pub A);

// SAFETY: every call is handed to the allocator inside.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Audited<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: promised by the caller; so in the other functions.
        let block = unsafe { self.0.alloc(layout) };
        handed_out(block.addr(), layout.size());
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        let block = unsafe { self.0.alloc_zeroed(layout) };
        handed_out(block.addr(), layout.size());
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        returned(block.addr(), layout.size());
        // SAFETY: as in `alloc`.
        unsafe { self.0.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        returned(block.addr(), layout.size());
        // SAFETY: as in `alloc`.
        let moved = unsafe { self.0.realloc(block, layout, size) };
        // Without memory the old block stays.
        if moved.is_null() {
            handed_out(block.addr(), layout.size());
        } else {
            handed_out(moved.addr(), size);
        }
        moved
    }
}

/// Records a block that was handed out.
pub fn handed_out(start: usize, size: usize) {
    if start != 0 {
        with_table(|table| table.insert(Entry { start, size, is_adopted: false }));
    }
}

/// Records a block of the host that belongs to this program from now on.
pub fn adopted(start: usize, size: usize) {
    with_table(|table| table.insert(Entry { start, size, is_adopted: true }));
}

/// Checks a block that comes back, and forgets it.
pub fn returned(start: usize, size: usize) {
    let entry = with_table(|table| {
        let entry = table.get(start);
        if entry.start != 0 {
            table.remove(start);
        }
        entry
    });
    if entry.start == 0 {
        end("returned, but not handed out", start, size);
    }
    if entry.size != size {
        end("returned with another size", start, size);
    }
}

/// Checks how a block came to this program. Does nothing in a program whose allocator is not
/// [`Audited`].
pub fn check_kind(start: usize, is_adopted: bool) {
    let (entry, is_audited) = with_table(|table| (table.get(start), table.used > 0));
    if !is_audited {
        return;
    }
    if entry.start == 0 || entry.is_adopted != is_adopted {
        end("returned as of another origin", start, entry.size);
    }
}

/// Checks that a range which is about to be dropped lies within its block.
pub fn check_range(start: usize, size: usize, range: Range<usize>) {
    // Tests drop pages of vectors, from any byte of theirs on.
    let entry = with_table(|table| table.get(start));
    if entry.start != 0 && (size > entry.size || range.end > entry.size) {
        end("pages dropped outside of it", start, range.end);
    }
}

/// A block was moved by somebody who frees the old one.
pub fn moved(from: usize, to: usize) {
    with_table(|table| {
        let entry = table.get(from);
        if entry.start == 0 {
            end("moved, but not handed out", from, 0);
        }
        table.remove(from);
        table.insert(Entry { start: to, ..entry });
    });
}

/// Ends the process: something else would be overwritten sooner or later.
fn end(what: &str, start: usize, size: usize) -> ! {
    use std::io::Write;
    // Standard error is not buffered, and writing to it allocates nothing.
    let _ = writeln!(std::io::stderr(), "ledger: a block at {start:#x}, {size} bytes: {what}");
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    static TABLE_OF_TEST: Mutex<Table> = Mutex::new(Table { slots: [FREE; SLOTS], used: 0 });

    #[test]
    fn finds_every_block_after_removals() {
        // Too large for the stack.
        let mut table = TABLE_OF_TEST.lock().unwrap_or_else(PoisonError::into_inner);
        let starts: Vec<usize> = (1..20_000).map(|n| n * 16).collect();
        starts
            .iter()
            .for_each(|&start| table.insert(Entry { start, size: start, is_adopted: false }));
        starts.iter().step_by(3).for_each(|&start| table.remove(start));
        for (index, &start) in starts.iter().enumerate() {
            assert_eq!(table.get(start).size, if index % 3 == 0 { 0 } else { start });
        }
    }
}
