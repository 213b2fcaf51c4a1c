//! An allocation together with its kind, which decides how it is freed.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error, realloc};
use std::ptr::NonNull;

use super::huge;
use super::pages::{self, LARGE, PAGE};

/// From this number of bytes on, content starts at a page boundary, which costs one page.
///
/// 32 KiB: below, one page would cost more than an eighth, and page alignment gains nothing.
const ALIGNED_FROM: usize = 32 * 1024;

/// How memory was allocated. Kind and size of the content determine the size of the allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// By the global allocator, with exactly the size of its content, which may have any size: it
    /// may have been adopted and then shrunk.
    Exact = 0,
    /// By the global allocator, with one page more than its content.
    Padded = 1,
    /// Like [`Kind::Padded`], and the operating system zeroes its pages: a page that was never
    /// written has no memory behind it. The allocation is private, anonymous memory.
    Lazy = 2,
    /// By the host, with exactly the size of its content. The global allocator can free it.
    Adopted = 3,
}

impl Kind {
    /// The number of bits that [`Kind::to_bits`] needs.
    pub const BITS: u32 = 2;

    /// The kind as a number, 0 to 3.
    pub fn to_bits(self) -> u64 {
        self as u64
    }

    /// The kind of a number from [`Kind::to_bits`]. All but the lowest two bits are ignored.
    #[inline]
    pub fn from_bits(bits: u64) -> Self {
        match bits & ((1 << Self::BITS) - 1) {
            0 => Self::Exact,
            1 => Self::Padded,
            2 => Self::Lazy,
            _ => Self::Adopted,
        }
    }

    /// The layout of an allocation of this kind for `content` bytes; `None` if it exceeds the
    /// address space.
    fn layout(self, content: usize) -> Option<Layout> {
        let size = match self {
            Self::Exact | Self::Adopted => content,
            Self::Padded | Self::Lazy => content.checked_add(PAGE)?,
        };
        Layout::from_size_align(size, align_of::<u64>()).ok()
    }
}

/// An allocation: its start, its kind, and the size of its content.
///
/// It is only a description: dropping it frees nothing.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// The first byte of the allocation.
    pub start: NonNull<u8>,
    /// How the memory was allocated.
    pub kind: Kind,
    /// Bytes of the content. The allocation may be longer, depending on the kind.
    pub content: usize,
}

impl Allocation {
    /// An allocation for `content` bytes, all zero; `None` if there is no memory for it.
    ///
    /// From [`LARGE`] bytes on, no page is touched if the operating system zeroes pages lazily.
    pub fn zeroed(content: usize) -> Option<Self> {
        Self::of_kind(if content < ALIGNED_FROM { Kind::Exact } else { Kind::Padded }, content)
    }

    /// An allocation of exactly `content` bytes, all zero; `None` if there is no memory for it.
    pub fn exact(content: usize) -> Option<Self> {
        Self::of_kind(Kind::Exact, content)
    }

    fn of_kind(kind: Kind, content: usize) -> Option<Self> {
        let layout = kind.layout(content).filter(|layout| layout.size() != 0)?;
        if layout.size() < LARGE || !pages::ARE_LAZY {
            // SAFETY: the layout has at least one byte.
            let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
            return Some(Self { start, kind, content });
        }
        // SAFETY: the layout has at least one byte.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        // SAFETY: the allocation is new and has this size.
        let is_lazy = unsafe { pages::zero(start, layout.size()) };
        let kind = if is_lazy { Kind::Lazy } else { kind };
        huge::list(start, layout.size());
        Some(Self { start, kind, content })
    }

    /// Takes ownership of memory that the host allocated with exactly `content` bytes.
    ///
    /// # Safety
    ///
    /// The global allocator must be able to free the memory as an allocation of `content` bytes
    /// with the alignment of a `u64`, and nobody else may use it.
    pub unsafe fn adopt(start: NonNull<u8>, content: usize) -> Self {
        huge::list(start, content);
        Self { start, kind: Kind::Adopted, content }
    }

    /// Notes that the allocator has moved the memory to `start`.
    pub fn moved_to(&self, start: NonNull<u8>) {
        if let Some(layout) = self.kind.layout(self.content) {
            huge::unlist(self.start, layout.size());
            huge::list(start, layout.size());
        }
    }

    /// Bytes before the content: up to the next page boundary if the kind has an additional page.
    pub fn skip(&self) -> usize {
        let over = self.start.addr().get() % PAGE;
        match self.kind {
            Kind::Exact | Kind::Adopted => 0,
            Kind::Padded | Kind::Lazy if over == 0 => 0,
            Kind::Padded | Kind::Lazy => PAGE - over,
        }
    }

    /// Shrinks the allocation to the first `content` bytes of its content. `skip` is the number of
    /// bytes before the content. Returns the new allocation, and that number in it.
    ///
    /// As in [`Allocation::free`], pages are first returned to the operating system if at least
    /// [`LARGE`] bytes become free. If the allocator moves the content, it may no longer start on a
    /// page, which affects only the speed. The process ends if the allocator has no memory for the
    /// smaller size.
    ///
    /// # Safety
    ///
    /// The memory must have been allocated as described, and must not have been freed. Nobody may
    /// use it any more except through the result. `content` must be at least 1 and at most the
    /// current one, and `skip` must be the current one.
    pub unsafe fn shrink(self, skip: usize, content: usize) -> (Self, usize) {
        let is_padded = matches!(self.kind, Kind::Padded | Kind::Lazy) && content >= ALIGNED_FROM;
        // Adopted memory also becomes exact: from now on it is the global allocator's.
        let kind = if is_padded { self.kind } else { Kind::Exact };
        let layouts = self.kind.layout(self.content).zip(kind.layout(content));
        // The old and the new layout exist, because the allocation does.
        let Some((old, new)) = layouts else { return (self, skip) };
        #[cfg(feature = "audit")]
        super::ledger::check_kind(self.start.addr().get(), self.kind == Kind::Adopted);
        huge::unlist(self.start, old.size());
        // SAFETY: the old layout is that of the allocation. The new one is at least one byte and no
        // larger, and the remaining content lies in it: at its start if it is exact, and otherwise
        // `skip` bytes after it, which are less than a page. The bytes after it are not used.
        let moved = unsafe {
            if !is_padded && skip != 0 {
                self.start.copy_from(self.start.add(skip), content);
            }
            let freed = old.size() - new.size();
            if freed >= LARGE {
                #[cfg(feature = "audit")]
                super::ledger::check_range(
                    self.start.addr().get(),
                    old.size(),
                    new.size()..old.size(),
                );
                pages::discard(self.start.add(new.size()), freed);
            }
            realloc(self.start.as_ptr(), old, new.size())
        };
        let Some(start) = NonNull::new(moved) else { handle_alloc_error(new) };
        huge::list(start, new.size());
        // Nothing is known about the pages of another allocation.
        let is_unknown = kind == Kind::Lazy && start.addr() != self.start.addr();
        let kind = if is_unknown { Kind::Padded } else { kind };
        (Self { start, kind, content }, if is_padded { skip } else { 0 })
    }

    /// Frees the memory.
    ///
    /// From [`LARGE`] bytes on, its pages are first returned to the operating system. The server
    /// frees large filters in a background thread. Without this, the allocator might return the
    /// pages later, during a call of a client.
    ///
    /// # Safety
    ///
    /// The memory must have been allocated as described, and must not have been freed. Nobody may
    /// use it any more.
    pub unsafe fn free(self) {
        let Some(layout) = self.kind.layout(self.content) else { return };
        #[cfg(feature = "audit")]
        super::ledger::check_kind(self.start.addr().get(), self.kind == Kind::Adopted);
        huge::unlist(self.start, layout.size());
        // SAFETY: kind and content determine the layout, so it is that of the allocation. The
        // content is no longer used, so it does not matter whether its pages are dropped.
        unsafe {
            if layout.size() >= LARGE {
                pages::discard(self.start, layout.size());
            }
            dealloc(self.start.as_ptr(), layout);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_restored_from_their_bits() {
        for kind in [Kind::Exact, Kind::Padded, Kind::Lazy, Kind::Adopted] {
            assert_eq!(Kind::from_bits(kind.to_bits()), kind);
            assert!(kind.to_bits() < 1 << Kind::BITS);
        }
    }

    #[test]
    fn padded_kinds_are_longer_than_their_content() {
        let size = |kind: Kind| kind.layout(40_000).map(|layout| layout.size());
        assert_eq!(size(Kind::Exact), Some(40_000));
        assert_eq!(size(Kind::Adopted), Some(40_000));
        assert_eq!(size(Kind::Padded), Some(40_000 + PAGE));
        assert_eq!(size(Kind::Lazy), Some(40_000 + PAGE));
        assert_eq!(Kind::Padded.layout(usize::MAX), None);
    }
}
