//! A header from outside: refused, or a filter of which everything holds.

use arbitrary::{Result, Unstructured};
use bloomline_core::{AnyFilter, Demand, Error};

use super::check::{LIMIT, assert_comes_back_equal, assert_tells_the_same_everywhere, small};
use super::{header, number};

/// Takes the bytes as a header, and what follows as what is done to the filter. True if it became
/// one.
pub fn run(bytes: &[u8]) -> bool {
    let mut u = Unstructured::new(bytes);
    // Bytes that end too early are no finding.
    decode(&mut u).unwrap_or(false)
}

fn decode(u: &mut Unstructured) -> Result<bool> {
    let header = header::any(u)?;
    let mut asked = Vec::new();
    let decoded = AnyFilter::decode_header(&header, &mut |demand: Demand| {
        asked.push(demand);
        small(demand)
    });
    let mut filter = match decoded {
        Ok(filter) => filter,
        Err(error) => {
            assert!(
                asked.iter().all(|&demand| small(demand)) || matches!(error, Error::Refused(_)),
                "{error}"
            );
            return Ok(false);
        }
    };
    // All memory together, once, before any of it is had.
    assert!(
        matches!(asked[..], [Demand { filter_bytes, .. }] if filter_bytes == filter.size_bytes())
    );
    assert_eq!(filter.encode_header(), header);
    assert_tells_the_same_everywhere(&filter);
    assert_comes_back_equal(&filter);
    for _ in 0..u.int_in_range(0..=8u8)? {
        step(&mut filter, u)?;
    }
    assert_tells_the_same_everywhere(&filter);
    assert_comes_back_equal(&filter);
    Ok(true)
}

/// Does one thing that a client could do.
fn step(filter: &mut AnyFilter, u: &mut Unstructured) -> Result<()> {
    match u.int_in_range(0..=4u8)? {
        0 => {
            let offset = number::whole(u)? % (2 * LIMIT);
            let length = u.int_in_range(0..=64usize)?;
            let chunk = vec![u.arbitrary()?; length];
            let _ = filter.write_chunk(offset, &chunk);
        }
        1 => {
            // Layers full of ones: everything is in there, and no lookup ends early.
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

/// Adds items in one call: what is answered for, is there and counted.
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
