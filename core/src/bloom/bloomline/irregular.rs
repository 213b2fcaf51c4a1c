//! Layers that do not follow from the layers before them: folded ones, and a merged one above its
//! capacity. The header has a record for each.
//!
//! ```text
//! offset  0      4      8         16
//!         index  pages  capacity
//! ```

use super::fold::Fold;
use super::growth::BlockedParams;
use super::shape::BlockedPlan;
use crate::bloom::length::{is_length, padded_len};
use crate::error::{Error, HeaderError};
use crate::header_fields::{FieldReader, FieldWriter};
use crate::memory::lists::try_push;

pub const RECORD_BYTES: usize = 16;

/// The record of a layer that does not follow from the layers before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Irregular {
    /// The index of the layer, oldest first.
    pub index: u32,
    /// Its pages in memory.
    pub pages: u32,
    /// Items that it is full with.
    pub capacity: u64,
}

impl Irregular {
    /// The record of layer `index`; `None` if it has all its pages and the expected capacity.
    fn of(index: u32, layer: &BlockedPlan, capacity: u64) -> Option<Self> {
        let pages = layer.fold().stored() as u32;
        let record = Self { index, pages, capacity: layer.capacity() };
        (layer.geometry().is_folded() || layer.capacity() != capacity).then_some(record)
    }

    fn encode(self) -> [u8; RECORD_BYTES] {
        let mut fields = FieldWriter::new();
        fields.put(self.index.to_le_bytes());
        fields.put(self.pages.to_le_bytes());
        fields.put(self.capacity.to_le_bytes());
        fields.finish()
    }

    fn decode(bytes: &[u8; RECORD_BYTES]) -> Self {
        let mut fields = FieldReader::new(bytes);
        let [index, pages] = [(); 2].map(|()| u32::from_le_bytes(fields.take()));
        Self { index, pages, capacity: u64::from_le_bytes(fields.take()) }
    }
}

/// The records at the end of a header, read in the order of the layers.
#[derive(Default)]
pub(crate) struct IrregularRecords<'a> {
    /// The records that are left, and zeros.
    rest: &'a [[u8; RECORD_BYTES]],
    has_any: bool,
    /// The index of the next layer.
    index: u32,
}

impl<'a> IrregularRecords<'a> {
    /// The records at the end of a header of `len` bytes, of which those after the last are zero.
    ///
    /// # Errors
    ///
    /// [`HeaderError::Length`] if no header has this length.
    pub(crate) fn new(bytes: &'a [u8], len: usize) -> Result<Self, HeaderError> {
        match bytes.as_chunks() {
            (records, []) if is_length(len) => Ok(Self { rest: records, has_any: false, index: 0 }),
            _ => Err(HeaderError::Length(len)),
        }
    }

    /// The next layer, which is `expected` if there is no record for it. `allows` decides whether
    /// the layer may have a rate.
    ///
    /// # Errors
    ///
    /// There is no such layer.
    pub(crate) fn next(
        &mut self,
        expected: BlockedPlan,
        allows: impl FnOnce(f64) -> bool,
    ) -> Result<BlockedPlan, Error> {
        let index = self.index;
        self.index += 1;
        let Some((record, rest)) = self.rest.split_first() else { return Ok(expected) };
        let record = Irregular::decode(record);
        // The capacity of a record is not 0, so that zeros are no record.
        if record.index != index || record.capacity == 0 {
            return Ok(expected);
        }
        (self.rest, self.has_any) = (rest, true);
        let pages = u64::from(record.pages);
        let invalid = HeaderError::Irregular(index).into();
        if !(1..=expected.geometry().pages()).contains(&pages) {
            return Err(invalid);
        }
        let fold = Fold::new(expected.geometry().pages(), pages);
        let plan = expected.folded(fold, record.capacity);
        let is_irregular = Irregular::of(index, &plan, expected.capacity()).is_some();
        if is_irregular && allows(plan.fp_rate(plan.capacity())) { Ok(plan) } else { Err(invalid) }
    }

    pub(crate) fn had_any(&self) -> bool {
        self.has_any
    }

    /// Checks that no record is left, in a header of `len` bytes.
    ///
    /// # Errors
    ///
    /// A record is out of order, or for a layer that does not exist; [`HeaderError::Length`] if
    /// there are more zeros than a header ends with.
    pub(crate) fn finish(self, len: usize) -> Result<(), Error> {
        if let Some(record) = self.rest.iter().find(|record| record.iter().any(|&byte| byte != 0)) {
            return Err(HeaderError::Irregular(Irregular::decode(record).index).into());
        }
        let used = len - self.rest.len() * RECORD_BYTES;
        if padded_len(used) == len { Ok(()) } else { Err(HeaderError::Length(len).into()) }
    }
}

/// The layers of a filter, oldest first, appended to `plans`. Returns what they have in common.
///
/// # Errors
///
/// Those of [`Filter::new`](super::Filter::new); [`HeaderError::Layers`] if a filter of this `spec`
/// cannot have this number of layers, at least one; [`HeaderError::Irregular`].
pub(crate) fn layers(
    (params, first): (BlockedParams, BlockedPlan),
    layers: u32,
    records: &mut IrregularRecords,
    plans: &mut Vec<BlockedPlan>,
) -> Result<BlockedParams, Error> {
    let too_many = || Error::from(HeaderError::Layers(layers));
    let (mut params, mut plan, mut capacity) = (params, first, 0u64);
    for index in 0..layers {
        if index > 0 {
            let next = params.successor(&plan, index - 1, capacity);
            (params, plan) = next.map_err(|_| too_many())?;
        }
        plan = records.next(plan, |rate| params.allows(rate))?;
        capacity = capacity.saturating_add(plan.capacity());
        try_push(plans, plan)?;
    }
    if layers == 0 { Err(too_many()) } else { Ok(params) }
}

/// Appends the records of the layers of a filter, oldest first. `params` is what the layers have in
/// common.
pub(crate) fn encode(
    params: &BlockedParams,
    layers: impl Iterator<Item = BlockedPlan>,
    bytes: &mut Vec<u8>,
) {
    // Only the layers after a compaction need the sums.
    let needs_sums = params.is_compacted();
    let (mut params, mut expected, mut older) =
        (params.before_growth(), params.spec().capacity, 0u64);
    for (layer, index) in layers.zip(0..) {
        if let Some(record) = Irregular::of(index, &layer, expected) {
            bytes.extend(record.encode());
        }
        if needs_sums {
            params = params.after(&layer);
            older = older.saturating_add(layer.capacity());
        }
        (expected, _) = params.planned(layer.capacity(), index + 1, older);
    }
}
