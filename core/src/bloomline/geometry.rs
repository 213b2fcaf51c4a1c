//! The geometry of a layer: pages, blocks per page, blocks per item, bits per block.

/// Bytes of a block.
pub const BLOCK_BYTES: u64 = 64;

/// Blocks of a whole page of 4 KiB.
pub const PAGE_BLOCKS: u64 = 64;

/// The shape of a layer: pages, blocks per page, blocks per item, bits per block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    pages: u32,
    blocks_per_page: u8,
    blocks_per_item: u8,
    bits_per_block: u8,
    /// Derived from the others. It is stored because a division costs 3 ns per item.
    strides: u8,
}

impl Geometry {
    /// So many pages of equal size, and what an item sets in them.
    pub(super) fn of_pages(
        pages: u32,
        blocks_per_page: u8,
        blocks_per_item: u8,
        bits_per_block: u8,
    ) -> Self {
        let strides =
            blocks_per_page.saturating_sub(1) / (blocks_per_item.saturating_sub(1)).max(1);
        Self { pages, blocks_per_page, blocks_per_item, bits_per_block, strides }
    }

    /// Pages of the layer.
    #[inline]
    pub fn pages(&self) -> u64 {
        u64::from(self.pages)
    }

    /// Blocks per page, 1 to 64.
    #[inline]
    pub fn blocks_per_page(&self) -> u64 {
        u64::from(self.blocks_per_page)
    }

    /// Blocks of the layer.
    #[inline]
    pub fn blocks(&self) -> u64 {
        self.pages() * self.blocks_per_page()
    }

    /// Blocks per item, 1 to 4.
    #[inline]
    pub fn blocks_per_item(&self) -> u8 {
        self.blocks_per_item
    }

    /// Bits per item in each of its blocks, 1 to 8.
    #[inline]
    pub fn bits_per_block(&self) -> u8 {
        self.bits_per_block
    }

    /// Number of strides: the stride of an item ranges over 1..=`strides()` blocks.
    #[inline]
    pub fn strides(&self) -> u64 {
        u64::from(self.strides)
    }

    /// Bits of the layer (m).
    pub fn bits(&self) -> u64 {
        self.bytes() * 8
    }

    /// Bytes of the layer's bits.
    pub fn bytes(&self) -> u64 {
        self.blocks() * BLOCK_BYTES
    }

    /// Bits that an item sets (k).
    pub fn hashes(&self) -> u32 {
        u32::from(self.blocks_per_item) * u32::from(self.bits_per_block)
    }
}
