//! The items of programs.

use arbitrary::Arbitrary;

/// An item: its number, made longer so that every branch of the hash functions is taken.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub(super) struct Item {
    number: u16,
    padding: u8,
}

impl Item {
    pub(super) fn bytes(self) -> Vec<u8> {
        let mut bytes = self.number.to_le_bytes().to_vec();
        // The empty item is valid too.
        bytes
            .resize(if self.number == 0 { 0 } else { 2 + usize::from(self.padding) * 3 / 2 }, b'x');
        bytes
    }
}

pub(super) fn numbered(first: u16, count: u8) -> Vec<Vec<u8>> {
    let item = |i| Item { number: first.wrapping_add(i), padding: i as u8 % 40 }.bytes();
    (0..u16::from(count) * 2).map(item).collect()
}
