//! Items for benches: distinct, reproducible, and without structure, like fingerprints of pages.

/// An item by its number. Items of `Stored` are inserted at some time, items of `Absent` never.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    Stored(u64),
    Absent(u64),
}

impl Item {
    /// The 20 bytes of the item.
    pub fn bytes(self) -> [u8; 20] {
        let (space, index) = match self {
            Item::Stored(index) => (0, index),
            Item::Absent(index) => (1, index),
        };
        let start = (space << 62) | (index * 3);
        let mut bytes = [0; 20];
        for (part, number) in bytes.chunks_mut(8).zip(start..) {
            let word = mix(number).to_le_bytes();
            part.copy_from_slice(word.get(..part.len()).unwrap_or_default());
        }
        bytes
    }
}

/// SplitMix64 (Steele, Lea, Flood, 2014), a bijection: different numbers give different items.
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
