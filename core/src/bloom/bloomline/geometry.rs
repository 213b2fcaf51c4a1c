//! The geometry of a layer: pages, blocks per page, blocks per item, bits per block; or sectors.

use crate::simd::BLOCK_SECTORS;

pub const BLOCK_BYTES: u64 = SECTOR_BYTES * BLOCK_SECTORS as u64;

pub const SECTOR_BYTES: u64 = 8;

/// The fewest bits of an item in a small layer.
pub const MIN_BITS: u8 = 3;

/// The most sectors of a small layer: 512 bytes.
pub const MAX_SECTORS: u8 = 64;

/// Blocks of a whole page of 4 KiB.
pub const PAGE_BLOCKS: u64 = 64;

/// Where the bits per block begin in the packed shape of an item.
const BITS_SHIFT: u32 = 2;

/// The shape of a layer: pages, blocks per page, blocks per item, bits per block, and how its pages
/// are folded.
///
/// A *small layer* is one page of one block, and this block has another number of sectors than
/// eight: 4 to [`MAX_SECTORS`]. See [`sectors`](super::sectors).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pages: u32,
    blocks_per_page: u8,
    /// Blocks per item less 1 in the low bits, bits per block less 1 above: a geometry has 8 bytes,
    /// and a filter the size of a size class of the servers' allocator.
    item: u8,
    /// Derived from the others. It is stored to spare a division per item.
    strides: u8,
    /// [`WHOLE`] if every page is stored and has whole blocks. In a folded layer 1 more than the
    /// number of halvings of all pages; see [`Fold`](super::fold::Fold). In a small layer
    /// [`SMALL`] and the number of sectors.
    form: u8,
}

/// The form of a layer of whole blocks that is not folded: one test of the common case.
const WHOLE: u8 = 0;
/// The bit that the form of a small layer has, and that of a folded one has not.
const SMALL: u8 = 1 << 7;

const _: () = assert!(MAX_SECTORS < SMALL && 1 + u32::BITS < SMALL as u32);

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
        Self { pages, blocks_per_page, item, strides, form: WHOLE }
    }

    /// A small layer of a given number of sectors, in which an item sets at most as many bits.
    pub(crate) const fn of_sectors(sectors: u8, bits: u8) -> Self {
        let block = Self::of_pages(1, 1, 1, bits);
        Self { form: SMALL | sectors, ..block }
    }

    /// The same shape with another number of bits per block, at least 1.
    pub(crate) fn with_bits_per_block(self, bits: u8) -> Self {
        let item = self.further_blocks() | bits.saturating_sub(1) << BITS_SHIFT;
        Self { item, ..self }
    }

    /// A layer of one page that is not folded, as two bytes; none for another layer.
    #[inline]
    pub(crate) fn to_bytes(self) -> Option<[u8; 2]> {
        let page = if self.is_small() { self.form } else { self.blocks_per_page };
        (self.pages == 1 && !self.is_folded()).then_some([page, self.item])
    }

    /// The layer of two bytes from [`Geometry::to_bytes`].
    #[inline]
    pub(crate) fn of_bytes([page, item]: [u8; 2]) -> Self {
        let (blocks, form) = if page < SMALL { (page, WHOLE) } else { (1, page) };
        let further = item & ((1 << BITS_SHIFT) - 1);
        Self { form, ..Self::of_pages(1, blocks, further + 1, (item >> BITS_SHIFT) + 1) }
    }

    /// The same shape with pages that are folded, or not. That of a small layer stays.
    pub(crate) fn with_folds(self, folds: u8) -> Self {
        if self.is_small() { self } else { Self { form: folds, ..self } }
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

    /// True if the layer has whole blocks and is not folded.
    #[inline(always)]
    pub(crate) fn is_whole(&self) -> bool {
        self.form == WHOLE
    }

    #[inline(always)]
    pub(crate) fn is_folded(&self) -> bool {
        self.form.wrapping_sub(1) < SMALL - 1
    }

    /// True if this is the geometry of a small layer.
    #[inline(always)]
    pub fn is_small(&self) -> bool {
        self.form >= SMALL
    }

    /// Sectors of a block: eight, and 4 to [`MAX_SECTORS`] in a small layer.
    #[inline(always)]
    pub fn sectors(&self) -> u8 {
        if self.is_small() { self.form & !SMALL } else { BLOCK_SECTORS as u8 }
    }

    /// How often all pages of a folded layer are halved.
    #[inline(always)]
    pub(crate) fn halvings(&self) -> u32 {
        u32::from(self.form.wrapping_sub(1)) % u64::BITS
    }

    pub fn page_bytes(&self) -> u64 {
        self.blocks_per_page() * u64::from(self.sectors()) * SECTOR_BYTES
    }

    /// Bits of the layer if it is not folded (m).
    pub fn bits(&self) -> u64 {
        self.bytes() * 8
    }

    /// Bytes of the layer's bits if it is not folded.
    pub fn bytes(&self) -> u64 {
        self.pages() * self.page_bytes()
    }

    /// Bits that an item sets (k).
    pub fn hashes(&self) -> u32 {
        u32::from(self.blocks_per_item()) * u32::from(self.bits_per_block())
    }
}
