//! Repeatable items: the same in every run, so that a failure can be reproduced.

/// SplitMix64 (Steele, Lea, Flood 2014): small, and equal on every platform.
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "the sequence has no end, so no `Option`")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// `count` lower-case letters.
    pub fn letters(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| b'a' + (self.next() % 26) as u8).collect()
    }

    /// `count` bytes of any value.
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// The items `name:0`, `name:1`, … `name:count-1`.
pub fn numbered(name: &str, count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|i| format!("{name}:{i}").into_bytes()).collect()
}
