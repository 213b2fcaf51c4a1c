//! The header of a windowed filter.

use arbitrary::{Result, Unstructured};
use bloomline_core::bloom::bloomline::header::EXTENDED_VERSION;
use bloomline_core::bloom::bloomline::sizing::REVISION;

use super::super::check::MAX_OFFSET;
use super::super::number::{double, whole};
use super::{capacity, end, growth, rate, start};

/// The header of a windowed filter.
#[derive(Clone, Debug)]
pub struct Windowed {
    pub version: u16,
    pub revision: u16,
    pub growth: u8,
    pub window: u8,
    pub refreshes: u8,
    pub generations: u8,
    pub expansion: u32,
    pub present: u32,
    pub capacity: u64,
    pub error_rate: f64,
    pub seed: u64,
    pub millis: u64,
    pub number: u64,
    pub dropped_bytes: u64,
    pub clock: u64,
    /// Oldest first.
    pub ring: Vec<Generation>,
}

/// A generation in the header.
#[derive(Clone, Copy, Debug)]
pub struct Generation {
    pub opened: u64,
    /// Items in its newest layer.
    pub len: u64,
    pub live: u64,
    /// Overflow layers.
    pub overflow: u32,
}

impl Windowed {
    /// A windowed filter that was rotated.
    pub fn valid(u: &mut Unstructured) -> Result<Self> {
        let (growth, expansion) = growth(u)?;
        let generations = u.int_in_range(2..=8u8)?;
        let window = u.int_in_range(1..=3)?;
        let mut header = Self {
            version: EXTENDED_VERSION,
            revision: REVISION,
            growth,
            window,
            refreshes: u.arbitrary::<bool>()?.into(),
            generations,
            expansion,
            present: 0,
            capacity: capacity(u)?.max(generations.into()),
            error_rate: rate(u)?,
            seed: u.int_in_range(0..=2)?,
            millis: if window == 1 { *u.choose(&[1, 1000, 10_000, 1 << 53])? } else { 0 },
            number: 0,
            dropped_bytes: 0,
            clock: 0,
            ring: Vec::new(),
        };
        // Every second ring is full, so that the next rotation drops its oldest generation.
        let full = u32::from(generations) + 1;
        header.present = if u.arbitrary()? { full } else { u.int_in_range(1..=full)? };
        let mut opened = if u.ratio(1, 16)? { MAX_OFFSET } else { u.int_in_range(0..=10_000)? };
        for _ in 0..header.present {
            header.ring.push(Generation { opened, len: 0, live: 0, overflow: 0 });
            opened += if opened == MAX_OFFSET { 0 } else { u.int_in_range(0..=5_000)? };
        }
        header.clock = opened;
        header.fill(u)?;
        Ok(header)
    }

    /// Other items and overflow layers in the same generations.
    pub(super) fn fill(&mut self, u: &mut Unstructured) -> Result<()> {
        let regular = self.capacity.div_ceil(self.generations.into());
        let may_overflow = self.growth == 1 && (self.window != 2 || self.refreshes == 1);
        let are_full = u.ratio(1, 3)?;
        for generation in &mut self.ring {
            let overflow = may_overflow && u.ratio(1, 4)?;
            generation.overflow = if overflow { u.int_in_range(1..=3)? } else { 0 };
            // The newest overflow layer, if there is one, is at least as large as a regular layer.
            generation.len = if are_full { regular } else { u.int_in_range(0..=regular)? };
            generation.live = match u.int_in_range(0..=3u8)? {
                0 => u.int_in_range(0..=generation.len)?,
                1 => generation.len.min(1),
                _ => generation.len,
            };
        }
        let dropped = if u.arbitrary()? { 0 } else { u.int_in_range(0..=9u64)? };
        self.number = dropped + self.ring.len() as u64 - 1;
        // A dropped generation had at least one block.
        let blocks = if u.arbitrary()? { 0 } else { u.int_in_range(1..=300)? };
        self.dropped_bytes = dropped.max(1) * blocks * 64;
        Ok(())
    }

    pub(super) fn change_field(&mut self, u: &mut Unstructured) -> Result<()> {
        let number = whole(u)?;
        let at = u.choose_index(self.ring.len())?;
        let generation = &mut self.ring[at];
        match u.int_in_range(0..=21u8)? {
            0 => self.version = number as u16,
            1 => self.revision = number as u16,
            2 => self.growth = number as u8,
            3 => self.window = number as u8,
            4 => self.refreshes = number as u8,
            5 => self.generations = number as u8,
            6 => self.expansion = number as u32,
            7 => self.present = number as u32,
            8 => self.capacity = number,
            9 => self.error_rate = double(u)?,
            10 => self.millis = number,
            11 => self.number = number,
            12 => self.number = self.number.wrapping_add(number % 16),
            13 => self.dropped_bytes = number,
            14 => self.dropped_bytes = 0,
            15 => self.clock = number,
            16 => generation.opened = number,
            17 => generation.len = number,
            18 => generation.live = number,
            19 => generation.live = generation.live.min(1),
            20 => generation.live = generation.len,
            _ => generation.overflow = number as u32,
        }
        Ok(())
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let kinds = [self.growth, self.window, self.refreshes, self.generations];
        let mut bytes = start(self.version, self.revision, kinds, self.expansion, self.present);
        bytes.extend(self.capacity.to_le_bytes());
        bytes.extend(self.error_rate.to_le_bytes());
        for number in [self.seed, self.millis, self.number, self.dropped_bytes, self.clock] {
            bytes.extend(number.to_le_bytes());
        }
        for generation in &self.ring {
            for number in [generation.opened, generation.len, generation.live] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend(generation.overflow.to_le_bytes());
            bytes.extend([0; 4]);
        }
        end(bytes)
    }
}
