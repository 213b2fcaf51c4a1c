//! The geometry of a layer: pages, blocks per page, blocks per item, bits per block.

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 64;

/// Blocks of a whole page of 4 KiB.
pub const PAGE_BLOCKS: u64 = 64;

/// Where the bits per block begin in the packed shape of an item.
const BITS_SHIFT: u32 = 2;

/// The shape of a layer: pages, blocks per page, blocks per item, bits per block, and how its pages
/// are folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pages: u32,
    blocks_per_page: u8,
    /// Blocks per item less 1 in the low bits, bits per block less 1 above: a geometry has 8 bytes,
    /// and a filter the size of a size class of the servers' allocator.
    item: u8,
    /// Derived from the others. It is stored to spare a division per item.
    strides: u8,
    /// 0 if every page is stored; otherwise 1 more than the number of halvings of all pages. See
    /// [`Fold`](super::fold::Fold).
    folds: u8,
}

impl Geometry {
    /// A given number of pages of equal size, and what an item sets in them.
    pub(crate) const fn of_pages(
        pages: u32,
        blocks_per_page: u8,
        blocks_per_item: u8,
        bits_per_block: u8,
    ) -> Self {
        let further = blocks_per_item.saturating_sub(1);
        let strides = blocks_per_page.saturating_sub(1) / if further == 0 { 1 } else { further };
        let item = further | bits_per_block.saturating_sub(1) << BITS_SHIFT;
        Self { pages, blocks_per_page, item, strides, folds: 0 }
    }

    /// The same shape with pages that are folded, or not.
    pub(crate) fn with_folds(self, folds: u8) -> Self {
        Self { folds, ..self }
    }

    /// Pages that hashes are scaled to. A folded layer stores fewer.
    #[inline]
    pub fn pages(&self) -> u64 {
        u64::from(self.pages)
    }

    /// Blocks per page, 1 to 64.
    #[inline]
    pub fn blocks_per_page(&self) -> u64 {
        u64::from(self.blocks_per_page)
    }

    /// Blocks that hashes are scaled to. A folded layer stores fewer.
    #[inline]
    pub fn blocks(&self) -> u64 {
        self.pages() * self.blocks_per_page()
    }

    /// Blocks per item, 1 to 4.
    #[inline]
    pub fn blocks_per_item(&self) -> u8 {
        self.further_blocks() + 1
    }

    /// Blocks per item after the first, 0 to 3.
    #[inline(always)]
    pub(crate) fn further_blocks(&self) -> u8 {
        self.item & ((1 << BITS_SHIFT) - 1)
    }

    /// Bits per item in each of its blocks, 1 to 8.
    #[inline]
    pub fn bits_per_block(&self) -> u8 {
        (self.item >> BITS_SHIFT) + 1
    }

    /// Number of strides: the stride of an item ranges over 1..=`strides()` blocks.
    #[inline]
    pub fn strides(&self) -> u64 {
        u64::from(self.strides)
    }

    /// True if pages are folded.
    #[inline(always)]
    pub(crate) fn is_folded(&self) -> bool {
        self.folds != 0
    }

    /// How often all pages of a folded layer are halved.
    #[inline(always)]
    pub(crate) fn halvings(&self) -> u32 {
        u32::from(self.folds.wrapping_sub(1)) % u64::BITS
    }

    /// Bits of the layer if it is not folded (m).
    pub fn bits(&self) -> u64 {
        self.bytes() * 8
    }

    /// Bytes of the layer's bits if it is not folded.
    pub fn bytes(&self) -> u64 {
        self.blocks() * BLOCK_BYTES
    }

    /// Bits that an item sets (k).
    pub fn hashes(&self) -> u32 {
        u32::from(self.blocks_per_item()) * u32::from(self.bits_per_block())
    }
}
