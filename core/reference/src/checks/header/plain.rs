//! The header of a filter without a window.

use arbitrary::{Result, Unstructured};
use bloomline_core::bloom::bloomline::header::{EXTENDED_VERSION, VERSION};
use bloomline_core::bloom::bloomline::sizing::REVISION;

use super::super::number::{double, whole};
use super::{ORIGIN_UNIT, Record, capacity, change_record, end, growth, rate, start};

/// The header of a filter without a window. One with records or a first byte has version 2.
#[derive(Clone, Debug)]
pub struct Plain {
    pub version: u16,
    pub revision: u16,
    pub growth: u8,
    pub expansion: u32,
    pub layers: u32,
    pub capacity: u64,
    pub error_rate: f64,
    pub seed: u64,
    pub newest_len: u64,
    pub first_byte: u64,
    pub records: Vec<Record>,
}

impl Plain {
    /// A filter that was created, compacted or merged.
    pub fn valid(u: &mut Unstructured) -> Result<Self> {
        let (growth, expansion) = growth(u)?;
        let mut header = Self {
            version: VERSION,
            revision: REVISION,
            growth,
            expansion,
            layers: 1,
            capacity: capacity(u)?,
            error_rate: rate(u)?,
            seed: u.int_in_range(0..=2)?,
            newest_len: 0,
            first_byte: 0,
            records: Vec::new(),
        };
        header.fill(u)?;
        Ok(header)
    }

    /// Other layers and counts.
    pub(super) fn fill(&mut self, u: &mut Unstructured) -> Result<()> {
        self.layers = if self.growth == 1 { u.int_in_range(1..=8)? } else { 1 };
        self.first_byte = 0;
        self.records.clear();
        let mut capacity = self.capacity;
        let is_extended = u.arbitrary()?;
        for index in 0..self.layers {
            if is_extended && u.arbitrary()? {
                capacity = u.int_in_range(1..=capacity / 2 + 1)?;
                let pages = u.int_in_range(1..=3)?;
                self.records.push(Record { index, pages, capacity });
            }
            if index + 1 < self.layers {
                // At least: after a compaction, layers have the reserved capacity again.
                capacity = capacity.saturating_mul(self.expansion.into());
            }
        }
        if is_extended && (self.records.is_empty() || u.arbitrary()?) {
            self.first_byte = u.int_in_range(1..=9)? * ORIGIN_UNIT;
        }
        self.version = if is_extended { EXTENDED_VERSION } else { VERSION };
        self.newest_len = if u.arbitrary()? { capacity } else { u.int_in_range(0..=capacity)? };
        Ok(())
    }

    pub(super) fn change_field(&mut self, u: &mut Unstructured) -> Result<()> {
        let number = whole(u)?;
        match u.int_in_range(0..=10u8)? {
            0 => self.version = number as u16,
            1 => self.revision = number as u16,
            2 => self.growth = number as u8,
            3 => self.expansion = number as u32,
            4 => self.layers = number as u32,
            5 => self.capacity = number,
            6 => self.error_rate = double(u)?,
            7 => self.newest_len = number,
            8 => self.first_byte = number,
            _ => change_record(&mut self.records, number, u)?,
        }
        Ok(())
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes =
            start(self.version, self.revision, [self.growth, 0, 0, 0], self.expansion, self.layers);
        bytes.extend(self.capacity.to_le_bytes());
        bytes.extend(self.error_rate.to_le_bytes());
        bytes.extend(self.seed.to_le_bytes());
        if self.records.is_empty() && self.first_byte == 0 {
            bytes.extend(self.newest_len.to_le_bytes());
            bytes.extend([0; 8]);
            return bytes;
        }
        bytes.extend([0; 8]);
        bytes.extend(self.newest_len.to_le_bytes());
        bytes.extend(self.first_byte.to_le_bytes());
        bytes.extend([0; 8]);
        for record in &self.records {
            bytes.extend(record.index.to_le_bytes());
            bytes.extend(record.pages.to_le_bytes());
            bytes.extend(record.capacity.to_le_bytes());
        }
        end(bytes)
    }
}
