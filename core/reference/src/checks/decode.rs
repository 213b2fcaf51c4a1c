//! A header from anywhere: it is refused, or gives a filter that passes all checks.

use arbitrary::{Result, Unstructured};
use bloomline_core::{AnyFilter, Demand, Error};

use super::check::{LIMIT, assert_consistent, assert_round_trip, small};
use super::{header, number};

/// Decodes the first bytes as a header, and the rest as operations on the filter. True if the
/// header was accepted.
pub fn run(bytes: &[u8]) -> bool {
    let mut u = Unstructured::new(bytes);
    // It is no error if the bytes end too early.
    decode(&mut u).unwrap_or(false)
}

fn decode(u: &mut Unstructured) -> Result<bool> {
    let header = header::any(u)?;
    let mut demands = Vec::new();
    let decoded = AnyFilter::decode_header(&header, &mut |demand: Demand| {
        demands.push(demand);
        small(demand)
    });
    let mut filter = match decoded {
        Ok(filter) => filter,
        Err(error) => {
            assert!(
                demands.iter().all(|&demand| small(demand)) || matches!(error, Error::Refused(_)),
                "{error}"
            );
            return Ok(false);
        }
    };
    // There is one demand for all memory, before any is allocated.
    assert!(
        matches!(demands[..], [Demand { filter_bytes, .. }] if filter_bytes == filter.size_bytes())
    );
    assert_eq!(filter.encode_header(), header);
    assert_consistent(&filter);
    assert_round_trip(&filter);
    for _ in 0..u.int_in_range(0..=8u8)? {
        step(&mut filter, u)?;
    }
    assert_consistent(&filter);
    assert_round_trip(&filter);
    Ok(true)
}

/// Does one operation that a client could do.
fn step(filter: &mut AnyFilter, u: &mut Unstructured) -> Result<()> {
    match u.int_in_range(0..=4u8)? {
        0 => {
            let offset = number::whole(u)? % (2 * LIMIT);
            let length = u.int_in_range(0..=64usize)?;
            let chunk = vec![u.arbitrary()?; length];
            let _ = filter.write_chunk(offset, &chunk);
        }
        1 => {
            // All bits are set: every item is reported as present, and no lookup ends early.
            let (mut offset, mut lengths) = (0, Vec::new());
            filter.each_layer(|words| lengths.push(words.bytes()));
            for length in lengths {
                filter.write_chunk(offset, &vec![0xff; length as usize]).expect("a whole layer");
                offset += length;
            }
            assert!(filter.contains(b"anything"));
        }
        2 => {
            let item = u.arbitrary::<u16>()?.to_le_bytes();
            insert(filter, &[&item]);
        }
        3 => {
            let items: Vec<[u8; 4]> =
                (0..u.int_in_range(1..=300u32)?).map(u32::to_le_bytes).collect();
            insert(filter, &items);
        }
        _ => {
            let _ = filter.contains(u.bytes(u.len().min(20))?);
        }
    }
    Ok(())
}

/// Inserts items in one call. Items with an answer must be present, and new items must be counted.
fn insert<T: AsRef<[u8]>>(filter: &mut AnyFilter, items: &[T]) {
    let before = filter.len();
    let mut answers = Vec::new();
    filter.insert_batch(items.iter().map(AsRef::as_ref), &mut small, |answer| answers.push(answer));
    assert!(answers.len() == items.len() || matches!(answers.last(), Some(Err(Error::Full(_)))));
    let new = answers.iter().filter(|answer| **answer == Ok(true)).count() as u64;
    assert_eq!(filter.len(), before.saturating_add(new));
    for (item, _) in items.iter().zip(&answers).filter(|(_, answer)| answer.is_ok()) {
        assert!(filter.contains(item.as_ref()));
    }
}
