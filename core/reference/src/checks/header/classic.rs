//! A header of RedisBloom's layout.

use arbitrary::{Result, Unstructured};
use bloomline_core::bloom::redisbloom::geometry::{MAX_HASHES, Options, RedisBloomShape};

use super::super::number::{double, whole};
use super::{capacity, rate};
use crate::payload::Field;

/// A header of RedisBloom's layout.
#[derive(Clone, Debug)]
pub struct Classic {
    pub total: u64,
    pub count: u32,
    pub options: u32,
    pub expansion: u32,
    pub links: Vec<Link>,
}

/// The numbers of a layer in RedisBloom's header, which may contradict each other.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// All numbers but the number of bytes.
    pub shape: RedisBloomShape,
    /// The number of bytes, which should be an eighth of the number of bits.
    pub bytes: u64,
}

impl Link {
    fn new(options: u32, capacity: u64, error: f64, u: &mut Unstructured) -> Result<Self> {
        let mut shape = RedisBloomShape::new(Options::from_bits(options), capacity, error)
            .unwrap_or(RedisBloomShape {
                capacity,
                error,
                bits_per_item: 10.0,
                hashes: 7,
                bits: 1024,
                log2_bits: 0,
                len: 0,
            });
        // Compacted: a fraction of the bits.
        let parts = *u.choose(&[1, 1, 1, 2, 3])?;
        if shape.log2_bits == 0 && shape.bits.is_multiple_of(64 * parts) {
            shape.bits /= parts;
            shape.capacity = (shape.capacity / parts).max(1);
        }
        let len = u.int_in_range(0..=shape.capacity)?;
        shape.len = *u.choose(&[len, shape.capacity])?;
        Ok(Self { shape, bytes: shape.bits / 8 })
    }

    /// Gives one number any value.
    fn change(&mut self, u: &mut Unstructured) -> Result<()> {
        let Self { shape, bytes } = self;
        match u.int_in_range(0..=10u8)? {
            0 => shape.capacity = whole(u)?,
            1 => shape.error = double(u)?,
            2 => {
                // Any number of hashes, with the number of bits per item that belongs to it.
                shape.hashes = u.int_in_range(0..=MAX_HASHES + 2)?;
                shape.bits_per_item = (f64::from(shape.hashes) - 0.5) / 0.693_147_180_559_945;
            }
            3 => shape.bits_per_item = double(u)?,
            4 => shape.bits = whole(u)?,
            5 => {
                shape.bits = whole(u)? % 4096 * 64;
                *bytes = shape.bits / 8;
            }
            6 => shape.log2_bits = u.int_in_range(0..=64)?,
            7..=8 => shape.len = whole(u)?,
            9 => shape.hashes = whole(u)? as u32,
            _ => *bytes = whole(u)?,
        }
        Ok(())
    }
}

impl Classic {
    /// The fields of an RDB value, with the bits of the links.
    pub fn fields(&self, bits: impl IntoIterator<Item = Vec<u8>>) -> Vec<Field> {
        use Field::{Number, String, Unsigned};
        let &Self { total, count, options, expansion, ref links } = self;
        let mut fields: Vec<Field> =
            [total, count.into(), options.into(), expansion.into()].map(Unsigned).into();
        for (Link { shape, .. }, bits) in links.iter().zip(bits) {
            fields.extend([
                Unsigned(shape.capacity),
                Number(shape.error),
                Unsigned(shape.hashes.into()),
                Number(shape.bits_per_item),
                Unsigned(shape.bits),
                Unsigned(shape.log2_bits.into()),
                String(bits),
                Unsigned(shape.len),
            ]);
        }
        fields
    }

    /// A filter of RedisBloom, of any of its releases, or one that was compacted or merged.
    pub fn valid(u: &mut Unstructured) -> Result<Self> {
        let options = if u.arbitrary()? { 5 } else { u.int_in_range(0..=15)? };
        // With the option that takes a capacity as the binary logarithm of a number of bits.
        let capacity = if options & 2 == 0 { capacity(u)? } else { u.int_in_range(1..=18)? };
        let first = Link::new(options, capacity, rate(u)?, u)?;
        let expansion = u.int_in_range(0..=4)?;
        let mut header = Self { total: 0, count: 0, options, expansion, links: vec![first] };
        header.grow(u)?;
        Ok(header)
    }

    /// Other links after the first one.
    pub(super) fn grow(&mut self, u: &mut Unstructured) -> Result<()> {
        self.links.truncate(1);
        let is_fixed = self.options & 8 != 0;
        for _ in 1..if is_fixed { 1 } else { u.int_in_range(1..=4u8)? } {
            let Some(last) = self.links.last() else { break };
            let capacity = last.shape.capacity.saturating_mul(self.expansion.max(1).into());
            let capacity = if self.options & 2 == 0 { capacity } else { capacity.min(20) };
            let next = Link::new(self.options, capacity, last.shape.error * 0.5, u)?;
            self.links.push(next);
        }
        self.count = self.links.len() as u32;
        self.sum();
        Ok(())
    }

    /// The total of the links.
    fn sum(&mut self) {
        self.total = self.links.iter().map(|link| link.shape.len).fold(0, u64::wrapping_add);
    }

    pub(super) fn change_field(&mut self, u: &mut Unstructured) -> Result<()> {
        let number = whole(u)?;
        match u.int_in_range(0..=7u8)? {
            0 => self.total = number,
            1 => self.count = number as u32,
            2 => self.options = number as u32,
            3 => self.expansion = number as u32,
            _ => {
                let at = u.choose_index(self.links.len())?;
                self.links[at].change(u)?;
                if u.arbitrary()? {
                    self.sum();
                }
            }
        }
        Ok(())
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.total.to_le_bytes());
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(self.options.to_le_bytes());
        bytes.extend(self.expansion.to_le_bytes());
        for Link { shape, bytes: byte_count } in &self.links {
            bytes.extend(byte_count.to_le_bytes());
            bytes.extend(shape.bits.to_le_bytes());
            bytes.extend(shape.len.to_le_bytes());
            bytes.extend(shape.error.to_le_bytes());
            bytes.extend(shape.bits_per_item.to_le_bytes());
            bytes.extend(shape.hashes.to_le_bytes());
            bytes.extend(shape.capacity.to_le_bytes());
            bytes.push(shape.log2_bits);
        }
        bytes
    }

    /// A header of which one or two fields may be wrong.
    pub fn mostly_valid(u: &mut Unstructured) -> Result<Self> {
        let mut header = Self::valid(u)?;
        for _ in 0..u.int_in_range(0..=2u8)? {
            header.change_field(u)?;
        }
        Ok(header)
    }
}
