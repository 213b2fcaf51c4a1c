//! The items: distinct, repeatable, without a pattern, in the two forms in which crawlers store
//! fingerprints.

use std::str::FromStr;

pub use bloomline_reference::items::{Item, mix};

/// What an item looks like on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// 40 lowercase hex characters, as Scrapy-Redis writes a SHA-1.
    Hex40,
    /// The same 20 bytes, raw.
    Bytes20,
    /// The first 20 of those characters: an item without a line feed.
    Hex20,
    /// The first eight of the raw bytes.
    Bytes8,
}

impl Kind {
    /// Writes the bytes that are sent for the item into a buffer of the caller, so that millions of
    /// items need no allocation each.
    pub fn write(self, item: Item, out: &mut Vec<u8>) {
        let bytes = item.bytes();
        out.clear();
        match self {
            Kind::Bytes20 | Kind::Bytes8 => out.extend(bytes.into_iter().take(self.bytes())),
            Kind::Hex40 | Kind::Hex20 => {
                let characters = bytes.iter().flat_map(|byte| [hex(byte >> 4), hex(byte & 15)]);
                out.extend(characters.take(self.bytes()));
            }
        }
    }

    /// The bytes of an item.
    pub fn bytes(self) -> usize {
        match self {
            Kind::Hex40 => 40,
            Kind::Bytes20 | Kind::Hex20 => 20,
            Kind::Bytes8 => 8,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Kind::Hex40 => "hex40",
            Kind::Bytes20 => "bytes20",
            Kind::Hex20 => "hex20",
            Kind::Bytes8 => "bytes8",
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        let mut all = [Kind::Hex40, Kind::Bytes20, Kind::Hex20, Kind::Bytes8].into_iter();
        all.find(|kind| kind.name() == text).ok_or_else(|| {
            format!("unknown kind of items {text:?}: hex40, bytes20, hex20 or bytes8")
        })
    }
}

fn hex(digit: u8) -> u8 {
    if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }
}
