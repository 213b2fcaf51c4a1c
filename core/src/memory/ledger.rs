//! A table of all live allocations with their size and origin: the debug allocator of the tests.
//!
//! The global allocator records each allocation and each free. Memory that the host allocated is
//! recorded when it is adopted. A free with an unknown address, another size or another origin ends
//! the process, and so does a range of pages outside its allocation.
//!
//! The table is static and allocates nothing, because the allocator itself uses it.

use std::alloc::{GlobalAlloc, Layout};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// A live allocation.
#[derive(Clone, Copy)]
struct Allocated {
    /// The address; 0 in a free slot.
    start: usize,
    size: usize,
    is_adopted: bool,
}

const FREE: Allocated = Allocated { start: 0, size: 0, is_adopted: false };

/// At least twice the number of live allocations of any test.
const SLOTS: usize = 1 << 23;

/// A hash table with linear probing. An entry is in its home slot or in one of the used slots after
/// it.
struct Allocations {
    slots: [Allocated; SLOTS],
    used: usize,
}

static TABLE: Mutex<Allocations> = Mutex::new(Allocations { slots: [FREE; SLOTS], used: 0 });

/// The home slot of an address.
fn home(start: usize) -> usize {
    ((start as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SLOTS
}

#[expect(clippy::indexing_slicing, reason = "indexes are taken modulo the number of slots")]
impl Allocations {
    /// The slot of an address, or the free slot where it would be inserted.
    fn slot(&self, start: usize) -> usize {
        let mut slot = home(start);
        while self.slots[slot].start != start && self.slots[slot].start != 0 {
            slot = (slot + 1) % SLOTS;
        }
        slot
    }

    fn get(&self, start: usize) -> Allocated {
        self.slots[self.slot(start)]
    }

    fn insert(&mut self, entry: Allocated) {
        self.used += 1;
        if self.used > SLOTS / 2 {
            end("more allocations than the ledger has slots for", entry.start, entry.size);
        }
        let slot = self.slot(entry.start);
        if self.slots[slot].start != 0 {
            end("allocated twice", entry.start, entry.size);
        }
        self.slots[slot] = entry;
    }

    /// Removes an entry, and moves later entries back so that all can still be found.
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

fn with_table<T>(use_it: impl FnOnce(&mut Allocations) -> T) -> T {
    use_it(&mut TABLE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// An allocator whose allocations are recorded.
pub struct Audited<A>(pub A);

// SAFETY: every call is forwarded to the inner allocator.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Audited<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        let block = unsafe { self.0.alloc(layout) };
        handed_out(block.addr(), layout.size());
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: guaranteed by the caller.
        let block = unsafe { self.0.alloc_zeroed(layout) };
        handed_out(block.addr(), layout.size());
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        returned(block.addr(), layout.size());
        // SAFETY: guaranteed by the caller.
        unsafe { self.0.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        returned(block.addr(), layout.size());
        // SAFETY: guaranteed by the caller.
        let moved = unsafe { self.0.realloc(block, layout, size) };
        // If there is no memory, the old allocation stays.
        if moved.is_null() {
            handed_out(block.addr(), layout.size());
        } else {
            handed_out(moved.addr(), size);
        }
        moved
    }
}

/// Records a new allocation.
pub fn handed_out(start: usize, size: usize) {
    if start != 0 {
        with_table(|table| table.insert(Allocated { start, size, is_adopted: false }));
    }
}

/// Records memory of the host that was adopted.
pub fn adopted(start: usize, size: usize) {
    with_table(|table| table.insert(Allocated { start, size, is_adopted: true }));
}

/// Checks a free, and removes the entry.
pub fn returned(start: usize, size: usize) {
    let entry = with_table(|table| {
        let entry = table.get(start);
        if entry.start != 0 {
            table.remove(start);
        }
        entry
    });
    if entry.start == 0 {
        end("freed, but not allocated", start, size);
    }
    if entry.size != size {
        end("freed with another size", start, size);
    }
}

/// Checks the origin of an allocation before it is freed. Does nothing in a program whose allocator
/// is not [`Audited`].
pub fn check_kind(start: usize, is_adopted: bool) {
    let (entry, is_audited) = with_table(|table| (table.get(start), table.used > 0));
    if !is_audited {
        return;
    }
    if entry.start == 0 || entry.is_adopted != is_adopted {
        end("freed as memory of another origin", start, entry.size);
    }
}

/// Checks that a range of pages, which is about to be dropped, lies in its allocation.
pub fn check_range(start: usize, size: usize, range: Range<usize>) {
    // Tests also drop pages within a vector. Its start is then not in the table.
    let entry = with_table(|table| table.get(start));
    if entry.start != 0 && (size > entry.size || range.end > entry.size) {
        end("pages dropped outside its allocation", start, range.end);
    }
}

/// Records that the host moved an allocation, and freed the old one.
pub fn moved(from: usize, to: usize) {
    with_table(|table| {
        let entry = table.get(from);
        if entry.start == 0 {
            end("moved, but not allocated", from, 0);
        }
        table.remove(from);
        table.insert(Allocated { start: to, ..entry });
    });
}

/// Ends the process, because the error may have corrupted memory.
fn end(what: &str, start: usize, size: usize) -> ! {
    use std::io::Write;
    // Standard error is not buffered, and writing to it allocates nothing.
    let _ = writeln!(std::io::stderr(), "ledger: allocation at {start:#x}, {size} bytes: {what}");
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    static TABLE_OF_TEST: Mutex<Allocations> =
        Mutex::new(Allocations { slots: [FREE; SLOTS], used: 0 });

    #[test]
    fn finds_every_entry_after_removals() {
        // Too large for the stack.
        let mut table = TABLE_OF_TEST.lock().unwrap_or_else(PoisonError::into_inner);
        let starts: Vec<usize> = (1..20_000).map(|n| n * 16).collect();
        starts
            .iter()
            .for_each(|&start| table.insert(Allocated { start, size: start, is_adopted: false }));
        starts.iter().step_by(3).for_each(|&start| table.remove(start));
        for (index, &start) in starts.iter().enumerate() {
            assert_eq!(table.get(start).size, if index % 3 == 0 { 0 } else { start });
        }
    }
}
