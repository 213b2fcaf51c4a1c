//! This project's layout.

use arbitrary::{Result, Unstructured};
use bloomline_core::Error;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions, CuckooSpec};

use super::super::number::{double, whole};
use super::{Answer, LIMIT, Reference, item, small};
use crate::bloomline_cuckoo::Model;
use crate::redisbloom_cuckoo::Refusal;

/// The options that headers begin with. Only the expansion matters: 0 if the filter does not grow.
const BUCKET_SIZE: u8 = 3;
const MAX_ITERATIONS: u16 = 9;

fn expansion(is_fixed: bool) -> u16 {
    if is_fixed { 0 } else { 2 }
}

fn header(model: &Model) -> Vec<u8> {
    model.header(BUCKET_SIZE, MAX_ITERATIONS, expansion(model.is_fixed))
}

/// A model without items; none if the rate is too small.
fn model(u: &mut Unstructured) -> Result<Option<Model>> {
    let error_rate = *u.choose(&[0.9, 0.25, 0.1, 0.01, 0.01, 0.001, 1e-6])?;
    let most = *u.choose(&[3, 40, 600])?;
    let capacity = u.int_in_range(1..=most)?;
    Ok(Model::new(capacity, error_rate, u.ratio(1, 4)?, u.arbitrary()?))
}

/// Fields of a header: their offsets and lengths in bytes.
fn fields(header: &[u8]) -> Vec<(usize, usize)> {
    let mut fields = vec![(0, 8), (8, 2), (10, 2), (12, 1), (13, 1), (14, 2), (16, 2), (18, 2)];
    fields.push((20, 4));
    fields.extend((24..64).step_by(8).map(|at| (at, 8)));
    let tables = usize::from(u16::from_le_bytes([header[18], header[19]]));
    for table in 0..tables {
        let start = 64 + 40 * table;
        fields.extend((start..start + 32).step_by(8).map(|at| (at, 8)));
        fields.extend([(start + 32, 1), (start + 33, 1), (start + 34, 6)]);
    }
    fields.extend((64 + 40 * tables..header.len()).step_by(8).map(|at| (at, 8)));
    fields
}

/// Gives one field any value, or one near that which it has.
fn change_field(header: &mut [u8], fields: &[(usize, usize)], u: &mut Unstructured) -> Result<()> {
    let (at, length) = *u.choose(fields)?;
    let mut bytes = [0; 8];
    bytes[..length].copy_from_slice(&header[at..at + length]);
    let old = u64::from_le_bytes(bytes);
    let new = match u.int_in_range(0..=5u8)? {
        0 => old.wrapping_add(1),
        1 => old.wrapping_sub(1),
        2 => old.wrapping_mul(2),
        3 => old / 2,
        4 if at == 24 => double(u)?.to_bits(),
        _ => whole(u)?,
    };
    header[at..at + length].copy_from_slice(&new.to_le_bytes()[..length]);
    Ok(())
}

impl Reference for Model {
    fn created(u: &mut Unstructured) -> Result<Option<(AnyCuckoo, Option<Self>)>> {
        let Some(model) = model(u)? else { return Ok(None) };
        let capacity = crate::bloomline_cuckoo::limit(model.tables[0].windows);
        let options = CuckooOptions {
            bucket_size: BUCKET_SIZE,
            max_iterations: MAX_ITERATIONS,
            expansion: expansion(model.is_fixed),
        };
        let spec = CuckooSpec { capacity, error_rate: model.error_rate, options };
        let filter = AnyCuckoo::bloomline(spec, model.seed, &mut small);
        Ok(filter.ok().map(|filter| (filter, Some(model))))
    }

    fn decoded(u: &mut Unstructured) -> Result<Option<(AnyCuckoo, Option<Self>)>> {
        let Some(mut model) = model(u)? else { return Ok(None) };
        for number in 0..u.int_in_range(0..=250u8)? {
            let _ = model.insert(&item(number), model.tables[0].slots.len() < 1_000);
        }
        for number in 0..u.int_in_range(0..=250u8)? {
            model.remove(&item(number));
        }
        let mut bytes = header(&model);
        let fields = fields(&bytes);
        for _ in 0..u.int_in_range(0..=3u8)? {
            change_field(&mut bytes, &fields, u)?;
        }
        if u.ratio(1, 16)? {
            bytes.truncate(u.int_in_range(0..=bytes.len())?);
        }
        let mut demands = 0;
        let decoded = AnyCuckoo::decode_header(&bytes, &mut |demand| {
            demands += 1;
            small(demand)
        });
        let mut filter = match decoded {
            Ok(filter) => filter,
            Err(Error::Refused(size)) => {
                assert!(size > LIMIT);
                return Ok(None);
            }
            Err(error) => {
                assert!(demands == 0, "{error}");
                assert!(bytes != header(&model), "{error}: {}", model.numbers());
                return Ok(None);
            }
        };
        assert_eq!(demands, 1);
        // Occupied slots are counted as they are loaded.
        let mut empty = bytes.clone();
        for table in 0..usize::from(u16::from_le_bytes([bytes[18], bytes[19]])) {
            empty[64 + 40 * table + 8..][..8].fill(0);
        }
        assert!(filter.encode_header() == empty, "another header: {filter:?}");
        for table in &model.tables {
            let table_bytes = table.bytes();
            let _ = filter.load_chunk(1 + table.start + table_bytes.len() as u64, &table_bytes);
        }
        let is_forged = bytes != header(&model);
        Ok(Some((filter, (!is_forged).then_some(model))))
    }

    fn contains(&self, item: &[u8]) -> bool {
        self.contains(item)
    }

    fn count(&self, item: &[u8]) -> u64 {
        self.count(item)
    }

    fn insert(&mut self, item: &[u8], is_refused: bool) -> Answer<()> {
        // Also memory for a longer list, which the model does not count.
        if is_refused { Err(Refusal::CannotGrow) } else { self.insert(item, true) }
    }

    fn remove(&mut self, item: &[u8]) -> bool {
        self.remove(item)
    }

    fn compact(&mut self) -> bool {
        self.compact()
    }

    fn load(self, iterator: u64, data: &[u8]) -> Option<(Self, bool)> {
        let start = iterator.checked_sub(1).and_then(|end| end.checked_sub(data.len() as u64));
        let is_inside = !data.is_empty()
            && self.tables.iter().any(|table| {
                let range = table.start..table.start + table.byte_count();
                start.is_some_and(|start| range.contains(&start) && iterator - 1 <= range.end)
            });
        (!is_inside).then_some((self, false))
    }

    fn assert_equal(&self, filter: &AnyCuckoo) {
        let is_equal = filter.encode_header() == header(self);
        assert!(is_equal, "the headers differ: {filter:?}, {}", self.numbers());
        let mut iterator = 1;
        for table in &self.tables {
            let (next, chunk) = filter.scan_dump(iterator).expect("the bytes of a table");
            assert_eq!(next, 1 + table.start + table.byte_count());
            assert!(chunk == table.bytes(), "a table differs: {filter:?}");
            iterator = next;
        }
        assert_eq!(filter.scan_dump(iterator), None);
        assert_eq!((filter.len(), filter.deletes()), (self.len(), self.deletes));
        let rate = filter.current_rate().expect("a rate");
        assert!((rate - self.current_rate()).abs() <= 1e-9 * rate, "{rate}");
    }
}
