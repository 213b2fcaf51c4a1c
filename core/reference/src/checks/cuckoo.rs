//! A program of operations on a cuckoo filter in RedisBloom's layout, compared with the reference
//! model. The filter is new, or that of a header from anywhere.

use arbitrary::{Arbitrary, Result, Unstructured};
use bloomline_core::Error;
use bloomline_core::host::Demand;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions};

use super::number;
use crate::redisbloom_cuckoo::{Model, Refusal};

/// The largest filter in bytes, as [`AnyCuckoo::size_bytes`] counts them.
const LIMIT: u64 = 8 << 10;

/// One step of a program.
#[derive(Arbitrary, Debug)]
enum Step {
    Insert(u8),
    InsertNew(u8),
    InsertMany { first: u8, count: u8, only_new: bool },
    Remove(u8),
    RemoveMany { first: u8, count: u8 },
    ContainsMany { first: u8, count: u8 },
    Count(u8),
    Compact,
    SaveAndLoad,
    Clone,
    LoadChunk { iterator: u16, len: u8, byte: u8 },
}

fn small(demand: Demand) -> bool {
    demand.filter_bytes <= LIMIT
}

/// The item of a number; item 0 is empty.
fn item(number: u8) -> Vec<u8> {
    vec![number; usize::from(number) % 37]
}

fn items(first: u8, count: u8) -> Vec<Vec<u8>> {
    (0..count).map(|index| item(first.wrapping_add(index))).collect()
}

/// Runs the program in the bytes. True if there was a filter.
pub fn run(bytes: &[u8]) -> bool {
    let mut u = Unstructured::new(bytes);
    program(&mut u).unwrap_or(false)
}

fn program(u: &mut Unstructured) -> Result<bool> {
    let created = if u.arbitrary()? { created(u)? } else { decoded(u)? };
    let Some((mut filter, mut model)) = created else { return Ok(false) };
    assert_equal(&filter, &model);
    for _ in 0..u.int_in_range(0..=60u8)? {
        let step = u.arbitrary()?;
        perform(&step, &mut filter, &mut model);
        assert_equal(&filter, &model);
    }
    Ok(true)
}

fn created(u: &mut Unstructured) -> Result<Option<(AnyCuckoo, Model)>> {
    let options = CuckooOptions {
        bucket_size: *u.choose(&[1, 2, 2, 3, 4, 5, 8, 16, 17, 255])?,
        max_iterations: *u.choose(&[1, 2, 3, 20, 500])?,
        expansion: *u.choose(&[0, 1, 1, 2, 4, 32_768])?,
    };
    let capacity = u.int_in_range(1..=600u64)?;
    let filter = AnyCuckoo::redisbloom(capacity, options, &mut small);
    let CuckooOptions { bucket_size, max_iterations, expansion } = options;
    let model = Model::new(capacity, bucket_size, max_iterations, expansion);
    Ok(filter.ok().map(|filter| (filter, model)))
}

/// The filter of a header with any numbers, most of them near the limits.
fn decoded(u: &mut Unstructured) -> Result<Option<(AnyCuckoo, Model)>> {
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
    let max_iterations = if u.arbitrary()? { u.int_in_range(1..=9)? } else { number::whole(u)? };
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
    let numbers = filter.numbers();
    let model = Model {
        bucket_size: numbers.bucket_size as usize,
        max_iterations: numbers.max_iterations as usize,
        expansion: numbers.expansion,
        items: numbers.items,
        deletes: numbers.deletes,
        tables: filter.tables().map(<[u8]>::to_vec).collect(),
    };
    Ok(Some((filter, model)))
}

/// The result of an insertion, as far as the model distinguishes it.
fn answer<T>(result: std::result::Result<T, Error>) -> std::result::Result<T, Refusal> {
    result.map_err(|error| match error {
        Error::Full(_) => Refusal::Full,
        Error::Refused(_) | Error::TooManyLayers(_) => Refusal::CannotGrow,
        other => panic!("{other}"),
    })
}

/// Inserts into the model. The permit depends on the size as this project counts it.
fn model_insert(
    model: &mut Model,
    item: &[u8],
    only_new: bool,
) -> std::result::Result<bool, Refusal> {
    if only_new && model.contains(item) {
        return Ok(false);
    }
    let memory = |bytes: u64| bytes.div_ceil(8).saturating_mul(8).saturating_add(24);
    let present: u64 = model.tables.iter().map(|table| memory(table.len() as u64)).sum();
    let may_grow = |bytes| memory(bytes).saturating_add(40 + present) <= LIMIT;
    model.insert(item, may_grow).map(|()| true)
}

fn perform(step: &Step, filter: &mut AnyCuckoo, model: &mut Model) {
    match *step {
        Step::Insert(number) => {
            let item = item(number);
            let inserted = answer(filter.insert(&item, &mut small)).map(|()| true);
            assert_eq!(inserted, model_insert(model, &item, false));
        }
        Step::InsertNew(number) => {
            let item = item(number);
            let inserted = answer(filter.insert_new(&item, &mut small));
            assert_eq!(inserted, model_insert(model, &item, true));
        }
        Step::InsertMany { first, count, only_new } => {
            let items = items(first, count);
            let mut answers = Vec::new();
            filter.insert_batch(items.iter(), only_new, &mut small, |result| {
                answers.push(answer(result));
            });
            let expected: Vec<_> =
                items.iter().map(|item| model_insert(model, item, only_new)).collect();
            assert_eq!(answers, expected);
        }
        Step::Remove(number) => {
            assert_eq!(filter.remove(&item(number)), model.remove(&item(number)));
        }
        Step::RemoveMany { first, count } => {
            for item in items(first, count) {
                assert_eq!(filter.remove(&item), model.remove(&item));
            }
        }
        Step::ContainsMany { first, count } => {
            let items = items(first, count);
            let mut answers = Vec::new();
            filter.contains_batch(items.iter(), |is_in| answers.push(is_in));
            let expected: Vec<bool> = items.iter().map(|item| model.contains(item)).collect();
            assert_eq!(answers, expected);
            assert!(items.iter().zip(&expected).all(|(item, is)| filter.contains(item) == *is));
        }
        Step::Count(number) => assert_eq!(filter.count(&item(number)), model.count(&item(number))),
        Step::Compact => {
            let before = filter.size_bytes();
            let freed = filter.compact();
            assert_eq!(filter.size_bytes() + freed, before);
            model.compact(true);
        }
        Step::SaveAndLoad => *filter = reloaded(filter),
        Step::Clone => *filter = filter.try_clone(&mut small).expect("it is small"),
        Step::LoadChunk { iterator, len, byte } => {
            let iterator = u64::from(iterator) % (model.size() * 2);
            let data = vec![byte; len.into()];
            let is_written = filter.load_chunk(iterator, &data).is_ok();
            assert_eq!(is_written, model_load(model, iterator, &data));
        }
    }
}

/// Writes a chunk into the model, if it lies in one table.
fn model_load(model: &mut Model, iterator: u64, data: &[u8]) -> bool {
    let mut start = 0i64;
    let at = iterator as i64 - 1 - data.len() as i64;
    for table in &mut model.tables {
        let end = start + table.len() as i64;
        if at >= start && at + data.len() as i64 <= end && !data.is_empty() {
            table[(at - start) as usize..][..data.len()].copy_from_slice(data);
            return true;
        }
        start = end;
    }
    false
}

/// The filter of its header and its chunks.
fn reloaded(filter: &AnyCuckoo) -> AnyCuckoo {
    let mut copy = AnyCuckoo::decode_header(&filter.encode_header(), &mut small).expect("valid");
    let mut iterator = 1;
    while let Some((next, chunk)) = filter.scan_dump(iterator) {
        copy.load_chunk(next, chunk).expect("it fits");
        iterator = next;
    }
    assert_eq!(&copy, filter);
    let mut restored = AnyCuckoo::with_numbers(&filter.numbers(), &mut small).expect("valid");
    for (index, table) in filter.tables().enumerate() {
        restored.load_table(index as u32, table).expect("it fits");
        let longer = [table, &[0]].concat();
        assert!(restored.load_table(index as u32, &longer).is_err());
    }
    assert!(restored.load_table(filter.table_count(), &[0]).is_err());
    assert_eq!(&restored, filter);
    copy
}

/// Compares everything that can be read, and checks that the filter is valid.
fn assert_equal(filter: &AnyCuckoo, model: &Model) {
    filter.check().expect("valid");
    assert_eq!(filter.encode_header(), model.header());
    assert!(filter.tables().eq(model.tables.iter()), "the tables differ");
    assert_eq!((filter.size(), filter.len()), (model.size(), model.items));
    assert_eq!(
        (filter.table_count() as usize, filter.deletes()),
        (model.tables.len(), model.deletes)
    );
    assert!(filter.size_bytes() <= LIMIT);
    let mut allocations = 0;
    filter.each_block(|_| allocations += 1);
    assert_eq!(allocations, model.tables.len() + 1);
}
