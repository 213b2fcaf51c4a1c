//! A block of memory that carries the way it was allocated, and the one place that frees it.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use super::pages::{self, LARGE, PAGE};

/// Content of this many bytes or more starts on a page, at the price of one page.
///
/// 32 KiB: below, a page would cost more than an eighth, and page alignment gains nothing.
const ALIGNED_FROM: usize = 32 * 1024;

/// How a block was allocated. Together with the size of its content this determines its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// By the global allocator, exactly as long as its content.
    Exact = 0,
    /// By the global allocator, with one page more than its content.
    Padded = 1,
    /// Like [`Kind::Padded`], and the operating system zeroes its pages: a page that was never
    /// written has no memory behind it. The block is private, anonymous memory.
    Lazy = 2,
    /// By the host, and handed over to the global allocator; exactly as long as its content.
    Adopted = 3,
}

impl Kind {
    /// The number of bits that [`Kind::to_bits`] needs.
    pub const BITS: u32 = 2;

    /// The kind as a number below 4.
    pub fn to_bits(self) -> u64 {
        self as u64
    }

    /// The kind of a number that [`Kind::to_bits`] has returned; only the lowest two bits count.
    #[inline]
    pub fn from_bits(bits: u64) -> Self {
        match bits & 3 {
            0 => Self::Exact,
            1 => Self::Padded,
            2 => Self::Lazy,
            _ => Self::Adopted,
        }
    }

    /// The layout of a block of this kind with `content` bytes; none if it exceeds the address
    /// space.
    fn layout(self, content: usize) -> Option<Layout> {
        let size = match self {
            Self::Exact | Self::Adopted => content,
            Self::Padded | Self::Lazy => content.checked_add(PAGE)?,
        };
        Layout::from_size_align(size, align_of::<u64>()).ok()
    }
}

/// A block of memory: where it starts, how it was allocated, and how many bytes of content it
/// holds.
///
/// It is a description and frees nothing when it is dropped.
#[derive(Clone, Copy, Debug)]
pub struct Allocation {
    /// The first byte of the block.
    pub start: NonNull<u8>,
    /// How it was allocated.
    pub kind: Kind,
    /// Bytes of its content; the block may be one page longer.
    pub content: usize,
}

impl Allocation {
    /// A block for `content` bytes, all zero; none if there is no memory for it.
    ///
    /// From [`LARGE`] on, no page is touched where the operating system zeroes pages lazily.
    pub fn zeroed(content: usize) -> Option<Self> {
        let kind = if content < ALIGNED_FROM { Kind::Exact } else { Kind::Padded };
        let layout = kind.layout(content).filter(|layout| layout.size() != 0)?;
        if layout.size() < LARGE || !pages::ARE_LAZY {
            // SAFETY: the layout has at least one byte.
            let start = NonNull::new(unsafe { alloc_zeroed(layout) })?;
            return Some(Self { start, kind, content });
        }
        // SAFETY: as above.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        // SAFETY: the block is new, and so long.
        let is_lazy = unsafe { pages::zero(start, layout.size()) };
        let kind = if is_lazy { Kind::Lazy } else { kind };
        Some(Self { start, kind, content })
    }

    /// Takes over a block of exactly `content` bytes that the host has allocated.
    ///
    /// # Safety
    ///
    /// The global allocator must be able to free the block as one of `content` bytes with the
    /// alignment of a `u64`, and nobody else may use it.
    pub unsafe fn adopt(start: NonNull<u8>, content: usize) -> Self {
        Self { start, kind: Kind::Adopted, content }
    }

    /// Bytes before the content: up to the next page where the block has a page to spare.
    pub fn skip(&self) -> usize {
        let over = self.start.addr().get() % PAGE;
        match self.kind {
            Kind::Exact | Kind::Adopted => 0,
            Kind::Padded | Kind::Lazy if over == 0 => 0,
            Kind::Padded | Kind::Lazy => PAGE - over,
        }
    }

    /// Frees the block, as it was allocated.
    ///
    /// A large one first returns its pages to the operating system. Large filters are freed by a
    /// background thread of the server; otherwise the allocator may return the pages within a
    /// later call of a client.
    ///
    /// # Safety
    ///
    /// The description must be that of a block which was allocated and not yet freed, and nobody
    /// may use the block any more.
    pub unsafe fn free(self) {
        let Some(layout) = self.kind.layout(self.content) else { return };
        #[cfg(feature = "audit")]
        super::ledger::check_kind(self.start.addr().get(), self.kind == Kind::Adopted);
        // SAFETY: the layout is that of the allocation: it follows from kind and content in one
        // way only. Nothing is lost if the operating system does not take the pages.
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
    fn kinds_survive_their_bits() {
        for kind in [Kind::Exact, Kind::Padded, Kind::Lazy, Kind::Adopted] {
            assert_eq!(Kind::from_bits(kind.to_bits()), kind);
            assert!(kind.to_bits() < 1 << Kind::BITS);
        }
    }

    #[test]
    fn only_padded_kinds_are_longer_than_their_content() {
        let size = |kind: Kind| kind.layout(40_000).map(|layout| layout.size());
        assert_eq!(size(Kind::Exact), Some(40_000));
        assert_eq!(size(Kind::Adopted), Some(40_000));
        assert_eq!(size(Kind::Padded), Some(40_000 + PAGE));
        assert_eq!(size(Kind::Lazy), Some(40_000 + PAGE));
        assert_eq!(Kind::Padded.layout(usize::MAX), None);
    }
}
