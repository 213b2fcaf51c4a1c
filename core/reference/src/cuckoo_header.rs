//! The header of a cuckoo filter in this project's layout, as numbers.

use std::collections::BTreeMap;

use bloomline_core::host::cuckoo::AnyCuckoo;

/// The least bits of a slot.
pub const MIN_BITS: u32 = 7;
/// The most bits of a slot.
pub const MAX_BITS: u32 = 28;

/// Bytes of a header before its tables, and of a table in it.
const START: usize = 64;
const TABLE: usize = 32;

/// The most entries of a table of `windows` windows that is not doubled any more.
pub fn limit(windows: u64) -> u64 {
    let windows = windows as f64;
    ((windows * (0.9645 - 2.0 / windows.sqrt()).min(0.902)).floor()).max(1.0) as u64
}

/// The numbers of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub windows: u64,
    /// Where the bytes of the table begin in those of the filter.
    pub start: u64,
    /// Bits of a slot.
    pub bits: u32,
    /// How often the table can still be doubled.
    pub spare: u32,
    /// Prefixes that lie in no slot, and how many copies of each.
    pub list: BTreeMap<u64, u64>,
}

impl Table {
    /// The number of prefixes.
    pub fn prefixes(&self) -> u64 {
        self.windows << (self.bits - 2)
    }

    /// The prefix of a hash.
    pub fn prefix(&self, hash: u64) -> u64 {
        ((u128::from(hash) * u128::from(self.prefixes())) >> 64) as u64
    }

    /// Occupied slots, in the bytes of the table.
    pub fn occupied(&self, bytes: &[u8]) -> u64 {
        let bit = |bit: u64| bytes[bit as usize / 8] >> (bit % 8) & 1 != 0;
        let width = u64::from(self.bits);
        let is_occupied = |slot: &u64| (slot * width..(slot + 1) * width).any(bit);
        (0..=self.windows).filter(is_occupied).count() as u64
    }

    /// Bytes of the slots and of the padding.
    pub fn byte_count(&self) -> u64 {
        let bits = (self.windows + 1) * u64::from(self.bits);
        (bits.div_ceil(8) + 8).next_multiple_of(8)
    }
}

/// The numbers of a header.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    pub bucket_size: u8,
    pub max_iterations: u16,
    pub expansion: u16,
    pub error_rate: f64,
    pub seed: u64,
    pub deletes: u64,
    /// The next slot to drain of the table before the newest, if that is doubled.
    pub doubling_at: Option<u64>,
    /// Where the bytes of the next table begin.
    pub end: u64,
    /// Oldest first.
    pub tables: Vec<Table>,
}

impl Header {
    /// The numbers of a filter.
    pub fn of(filter: &AnyCuckoo) -> Self {
        let bytes = filter.encode_header();
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap());
        let (tables, mut lists) = bytes[START..].split_at(TABLE * usize::from(half(18)));
        let tables = (START..START + tables.len()).step_by(TABLE).map(|at| {
            let (list, rest) = lists.split_at(16 * word(at + 16) as usize);
            lists = rest;
            let pair = |entry: &[u8; 16]| {
                let entry = u128::from_le_bytes(*entry);
                (entry as u64, (entry >> 64) as u64)
            };
            Table {
                windows: word(at),
                start: word(at + 8),
                bits: bytes[at + 24].into(),
                spare: bytes[at + 25].into(),
                list: list.as_chunks().0.iter().map(pair).collect(),
            }
        });
        Self {
            bucket_size: bytes[12],
            max_iterations: half(14),
            expansion: half(16),
            error_rate: f64::from_bits(word(24)),
            seed: word(32),
            deletes: word(40),
            doubling_at: (bytes[13] != 0).then(|| word(48)),
            end: word(56),
            tables: tables.collect(),
        }
    }

    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = b"bloomcko".to_vec();
        for number in [1u16, 1] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend([self.bucket_size, self.doubling_at.is_some().into()]);
        for number in [self.max_iterations, self.expansion, self.tables.len() as u16, 0, 0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.error_rate.to_le_bytes());
        for number in [self.seed, self.deletes, self.doubling_at.unwrap_or(0), self.end] {
            bytes.extend(number.to_le_bytes());
        }
        for table in &self.tables {
            for number in [table.windows, table.start, table.list.len() as u64] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend([table.bits as u8, table.spare as u8, 0, 0, 0, 0, 0, 0]);
        }
        for (prefix, copies) in self.tables.iter().flat_map(|table| &table.list) {
            bytes.extend(prefix.to_le_bytes());
            bytes.extend(copies.to_le_bytes());
        }
        bytes
    }

    /// The sum of the rates of all tables when they are full. A table that is doubled does not
    /// count, because its entries count for the table that they are moved to.
    pub fn rate_for_life(&self) -> f64 {
        let doubled = self.doubling_at.map(|_| self.tables.len() - 2);
        let tables = self.tables.iter().enumerate().filter(|(index, _)| Some(*index) != doubled);
        let rate =
            |table: &Table| limit(table.windows << table.spare) as f64 / table.prefixes() as f64;
        tables.map(|(_, table)| rate(table)).sum()
    }
}
