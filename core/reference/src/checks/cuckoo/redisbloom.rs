//! RedisBloom's layout.

use arbitrary::{Result, Unstructured};
use bloomline_core::Error;
use bloomline_core::host::cuckoo::{AnyCuckoo, ClassicCuckoo, CuckooOptions};

use super::super::number;
use super::{Answer, LIMIT, Reference, small};
use crate::redisbloom_cuckoo::Model;

fn classic(filter: &AnyCuckoo) -> &ClassicCuckoo {
    filter.as_redisbloom().expect("RedisBloom's layout")
}

impl Reference for Model {
    fn created(u: &mut Unstructured) -> Result<Option<(AnyCuckoo, Option<Self>)>> {
        let options = CuckooOptions {
            bucket_size: *u.choose(&[1, 2, 2, 3, 4, 5, 8, 16, 17, 255])?,
            max_iterations: *u.choose(&[1, 2, 3, 20, 500])?,
            expansion: *u.choose(&[0, 1, 1, 2, 4, 32_768])?,
        };
        let capacity = u.int_in_range(1..=600u64)?;
        let filter = AnyCuckoo::redisbloom(capacity, options, &mut small);
        let CuckooOptions { bucket_size, max_iterations, expansion } = options;
        let model = Self::new(capacity, bucket_size, max_iterations, expansion);
        Ok(filter.ok().map(|filter| (filter, Some(model))))
    }

    fn decoded(u: &mut Unstructured) -> Result<Option<(AnyCuckoo, Option<Self>)>> {
        let mut header = Vec::new();
        let buckets = match u.int_in_range(0..=3u8)? {
            0 => number::whole(u)?,
            1 => 1 << u.int_in_range(0..=63u8)?,
            _ => 1 << u.int_in_range(0..=6u8)?,
        };
        let tables = if u.arbitrary()? { u.int_in_range(0..=5)? } else { number::whole(u)? };
        for number in [number::whole(u)?, buckets, number::whole(u)?, tables] {
            header.extend(number.to_le_bytes());
        }
        let bucket_size = if u.arbitrary()? { u.int_in_range(1..=4)? } else { number::whole(u)? };
        let max_iterations =
            if u.arbitrary()? { u.int_in_range(1..=9)? } else { number::whole(u)? };
        let expansion = if u.arbitrary()? { u.int_in_range(0..=2)? } else { number::whole(u)? };
        for number in [bucket_size, max_iterations, expansion] {
            header.extend((number as u16).to_le_bytes());
        }
        if u.ratio(1, 16)? {
            header.truncate(u.int_in_range(0..=37)?);
        }
        let mut demands = 0;
        let filter = AnyCuckoo::decode_header(&header, &mut |demand| {
            demands += 1;
            small(demand)
        });
        let filter = match filter {
            Ok(filter) => filter,
            Err(Error::Refused(bytes)) => {
                assert!(bytes > LIMIT);
                return Ok(None);
            }
            Err(error) => {
                assert!(matches!(error, Error::Header(_)) && demands == 0, "{error}");
                return Ok(None);
            }
        };
        assert_eq!((filter.encode_header(), demands), (header, 1));
        let numbers = classic(&filter).numbers();
        let model = Self {
            bucket_size: numbers.bucket_size as usize,
            max_iterations: numbers.max_iterations as usize,
            expansion: numbers.expansion,
            items: numbers.items,
            deletes: numbers.deletes,
            tables: classic(&filter).tables().map(<[u8]>::to_vec).collect(),
            failed_iterations: 0,
            end: None,
        };
        Ok(Some((filter, Some(model))))
    }

    fn contains(&self, item: &[u8]) -> bool {
        self.contains(item)
    }

    fn count(&self, item: &[u8]) -> u64 {
        self.count(item)
    }

    fn begin_call(&mut self) {
        (self.failed_iterations, self.end) = (0, None);
    }

    /// The permit depends on the size as this project counts it.
    fn insert(&mut self, item: &[u8], _: bool) -> Answer<()> {
        let memory = |bytes: u64| bytes.div_ceil(8).saturating_mul(8).saturating_add(24);
        let present: u64 = self.tables.iter().map(|table| memory(table.len() as u64)).sum();
        let may_grow = |bytes| memory(bytes).saturating_add(40 + present) <= LIMIT;
        self.insert_further(item, may_grow)
    }

    fn remove(&mut self, item: &[u8]) -> bool {
        self.remove(item)
    }

    fn compact(&mut self) -> bool {
        let before = self.clone();
        self.compact(true);
        self.header() != before.header() || self.tables != before.tables
    }

    fn load(mut self, iterator: u64, data: &[u8]) -> Option<(Self, bool)> {
        let mut start = 0i64;
        let at = iterator as i64 - 1 - data.len() as i64;
        for table in &mut self.tables {
            let end = start + table.len() as i64;
            if at >= start && at + data.len() as i64 <= end && !data.is_empty() {
                table[(at - start) as usize..][..data.len()].copy_from_slice(data);
                return Some((self, true));
            }
            start = end;
        }
        Some((self, false))
    }

    fn assert_equal(&self, filter: &AnyCuckoo) {
        assert_eq!(filter.encode_header(), self.header());
        assert!(classic(filter).tables().eq(self.tables.iter()), "the tables differ");
        assert_eq!((filter.size(), filter.len()), (self.size(), self.items));
        assert_eq!(
            (filter.table_count() as usize, filter.deletes()),
            (self.tables.len(), self.deletes)
        );
        let mut allocations = 0;
        filter.each_block(|_| allocations += 1);
        assert_eq!(allocations, self.tables.len() + 1);
    }

    fn assert_rebuilds(filter: &AnyCuckoo) {
        let numbers = classic(filter).numbers();
        let mut restored = ClassicCuckoo::with_numbers(&numbers, &mut small).expect("valid");
        for (index, table) in classic(filter).tables().enumerate() {
            restored.load_table(index as u32, table).expect("it fits");
            let longer = [table, &[0]].concat();
            assert!(restored.load_table(index as u32, &longer).is_err());
        }
        assert!(restored.load_table(filter.table_count(), &[0]).is_err());
        assert_eq!(&restored, classic(filter));
    }
}
