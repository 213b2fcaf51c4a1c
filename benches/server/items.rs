//! The items: distinct, repeatable, without a pattern, in the two forms in which crawlers store
//! fingerprints.

use std::str::FromStr;

/// What an item looks like on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// 40 lowercase hex characters, as Scrapy-Redis writes a SHA-1.
    Hex40,
    /// The same 20 bytes, raw.
    Bytes20,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Hex40 => "hex40",
            Kind::Bytes20 => "bytes20",
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        match text {
            "hex40" => Ok(Kind::Hex40),
            "bytes20" => Ok(Kind::Bytes20),
            _ => Err(format!("unknown kind of items {text:?}: hex40 or bytes20")),
        }
    }
}

/// An item by its number. `Stored` items are added at some time, `Absent` items never.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    Stored(u64),
    Absent(u64),
}

impl Item {
    /// The item's twenty bytes.
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

    /// Writes the bytes that are sent for the item into a buffer of the caller, so that millions of
    /// items need no allocation each.
    pub fn write(self, kind: Kind, out: &mut Vec<u8>) {
        let bytes = self.bytes();
        out.clear();
        match kind {
            Kind::Bytes20 => out.extend(bytes),
            Kind::Hex40 => {
                out.extend(bytes.iter().flat_map(|byte| [hex(byte >> 4), hex(byte & 15)]))
            }
        }
    }
}

fn hex(digit: u8) -> u8 {
    if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }
}

/// SplitMix64 (Steele, Lea, Flood 2014): a bijection, so different numbers give different items.
pub fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
