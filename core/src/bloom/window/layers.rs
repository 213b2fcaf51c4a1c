//! The layers of all generations that a header describes, before they are built.

use arrayvec::ArrayVec;

use super::filter::{MAX_OVERFLOW_LAYERS, MAX_TIME};
use super::size::size_with;
use super::spec::{MAX_GENERATIONS, Window, WindowSpec};
use crate::bloom::bloomline::irregular::{self, IrregularRecords};
use crate::bloom::bloomline::{BlockedParams, BlockedPlan, BlockedShape};
use crate::bloom::layer::Rules;
use crate::error::{Error, HeaderError};
use crate::memory::lists::try_push;

/// A generation in the header.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) struct GenerationRecord {
    pub opened: u64,
    /// Items in the newest layer of the generation.
    pub len: u64,
    pub live: u64,
    pub overflow: u32,
}

/// The layers of all generations, oldest generation first, the regular layer of each first.
pub(super) struct GenerationPlans {
    plans: Vec<BlockedPlan>,
    /// Where the layers of each generation end. No memory is allocated for it.
    ends: ArrayVec<usize, { MAX_GENERATIONS as usize + 1 }>,
}

impl GenerationPlans {
    pub(super) fn of(
        records: &[GenerationRecord],
        spec: &WindowSpec,
        seed: u64,
    ) -> Result<Self, Error> {
        let mut layers = Self { plans: Vec::new(), ends: ArrayVec::new() };
        let (_, regular) = BlockedParams::first(spec.regular(), seed)?;
        let overflow = spec.overflow().map(|spec| BlockedParams::first(spec, seed));
        for record in records {
            try_push(&mut layers.plans, regular)?;
            let too_many = HeaderError::Layers(record.overflow);
            if record.overflow > MAX_OVERFLOW_LAYERS {
                return Err(too_many.into());
            }
            if record.overflow > 0 {
                let Some(Ok(first)) = overflow else { return Err(too_many.into()) };
                let none = &mut IrregularRecords::default();
                irregular::layers(first, record.overflow, none, &mut layers.plans)?;
            }
            // There is room: no more generations have records.
            let _ = layers.ends.try_push(layers.plans.len());
        }
        Ok(layers)
    }

    pub(super) fn each(&self) -> impl Iterator<Item = &BlockedPlan> {
        self.plans.iter()
    }

    pub(super) fn generations(&self) -> impl DoubleEndedIterator<Item = &[BlockedPlan]> {
        (0..self.ends.len()).map(|index| {
            let end = |index: usize| self.ends.get(index).copied();
            let start = index.checked_sub(1).and_then(end).unwrap_or(0);
            self.plans.get(start..end(index).unwrap_or(start)).unwrap_or_default()
        })
    }

    /// Bytes of the bits of all layers.
    pub(super) fn bytes(&self) -> u64 {
        self.each().map(BlockedPlan::bytes).fold(0, u64::saturating_add)
    }

    /// Bytes of the filter with a small or a large ring.
    pub(super) fn size_bytes(&self, is_small_ring: bool) -> u64 {
        let (mut regular, mut overflow) = (0u64, 0u64);
        for plans in self.generations() {
            let mut bytes = plans.iter().map(BlockedPlan::bytes);
            regular = regular.saturating_add(bytes.next().unwrap_or(0));
            if plans.len() > 1 {
                let bits = bytes.fold(0, u64::saturating_add);
                let size = BlockedShape::size_bytes(bits, plans.len() as u32 - 1);
                overflow = overflow.saturating_add(size);
            }
        }
        size_with(is_small_ring, regular, self.ends.len(), overflow)
    }

    /// True if a generation has overflow layers.
    pub(super) fn have_overflow(&self) -> bool {
        self.plans.len() > self.ends.len()
    }

    /// Checks that the numbers of each generation can be those of one filter.
    pub(super) fn check(
        &self,
        records: &[GenerationRecord],
        spec: &WindowSpec,
    ) -> Result<(), Error> {
        let mut opened = 0;
        for ((record, plans), index) in records.iter().zip(self.generations()).zip(0..) {
            let all = plans.iter().map(BlockedPlan::capacity).fold(0, u64::saturating_add);
            let newest = plans.last().map_or(0, BlockedPlan::capacity);
            let len = (all - newest).saturating_add(record.len);
            let is_in_order = (opened..=MAX_TIME).contains(&record.opened);
            // Where no item is written again, each is live until its generation is dropped.
            let may_die = spec.refreshes || spec.window != Window::Last;
            let is_live_possible = record.live == len || (may_die && record.live < len);
            if record.len > newest || !is_live_possible || !is_in_order {
                return Err(HeaderError::Generation(index).into());
            }
            opened = record.opened;
        }
        Ok(())
    }
}
