//! The Bloom filter that client libraries build without a module: k SETBIT or GETBIT commands per
//! item.

use xxhash_rust::xxh3::xxh3_128;

use crate::items::{Item, Kind};

/// Bits per item at 1 %: the classic optimum, as every such library computes it.
pub const HASHES: u64 = 7;

/// A classic filter at 1 %: its size, and the positions of an item's bits.
#[derive(Clone, Copy)]
pub struct BitString {
    bits: u64,
}

impl BitString {
    /// 9.585 bits per item. Such a filter cannot grow, so it has room for all items from the start,
    /// in every row.
    pub fn for_items(items: u64) -> BitString {
        BitString { bits: (items * 9585).div_ceil(1000).max(64) }
    }

    pub fn bits(self) -> u64 {
        self.bits
    }

    /// Kirsch and Mitzenmacher (2006): two hashes determine all positions.
    pub fn positions(self, item: &[u8]) -> impl Iterator<Item = u64> {
        let hash = xxh3_128(item);
        let (first, step) = (hash as u64, (hash >> 64) as u64);
        (0..HASHES).map(move |i| first.wrapping_add(i.wrapping_mul(step)) % self.bits)
    }

    /// The string after the items 0 to `count` are added. Computing it here avoids an hour of
    /// commands for 128 million items.
    pub fn filled(self, count: u64, kind: Kind) -> Vec<u8> {
        let mut string = vec![0; self.bits.div_ceil(8) as usize];
        let mut item = Vec::new();
        for index in 0..count {
            kind.write(Item::Stored(index), &mut item);
            for position in self.positions(&item) {
                if let Some(byte) = string.get_mut((position / 8) as usize) {
                    // SETBIT counts from the highest bit of a byte.
                    *byte |= 0x80 >> (position % 8);
                }
            }
        }
        string
    }
}
