//! Headers from anywhere: each is refused, or gives a filter that passes all checks.

use crate::calls::Calls;
use arbitrary::{Result, Unstructured};
use bloomline_core::Error;
use bloomline_core::bloom::window::{Window, WindowedFilter};
use bloomline_core::host::{AnyFilter, AnyRef, Insertion, Permit};

use super::accepted::{accepted, assert_works};
use super::check::{
    LIMIT, assert_consistent, assert_equal, assert_grows, assert_reloads, bits, small,
};
use super::encodings::time_of;
use super::{header, number};
use crate::life::filter::Filter;

/// Decodes the first bytes as headers, and the rest as operations on the filters. True if a header
/// was accepted.
pub fn run(bytes: &[u8]) -> bool {
    let mut u = Unstructured::new(bytes);
    // It is no error if the bytes end too early.
    program(&mut u).unwrap_or(false)
}

fn program(u: &mut Unstructured) -> Result<bool> {
    let headers = if u.arbitrary()? { vec![header::any(u)?] } else { header::family(u)? };
    let mut filters: Vec<AnyFilter> = headers.iter().filter_map(|it| decode(it)).collect();
    // The last one is changed. The others are those that it is merged with.
    let Some(filter) = filters.pop() else { return Ok(false) };
    for other in &mut filters {
        if u.arbitrary()? {
            step(other, &[], u)?;
        }
    }
    assert_stays_valid(filter, &filters, u)?;
    Ok(true)
}

/// Decodes a header. The filter passes all checks.
fn decode(header: &[u8]) -> Option<AnyFilter> {
    let decode = |permit: Permit| AnyFilter::decode_header(header, permit).map(Filter::Bloom);
    let accepted = accepted(decode)?;
    assert_works(accepted.copy());
    let Filter::Bloom(filter) = accepted else { return None };
    assert_eq!(filter.encode_header(), header);
    Some(filter)
}

/// Does some operations that clients could do with an accepted filter, possibly with others.
pub(super) fn assert_stays_valid(
    mut filter: AnyFilter,
    others: &[AnyFilter],
    u: &mut Unstructured,
) -> Result<()> {
    for _ in 0..u.int_in_range(0..=8u8)? {
        step(&mut filter, others, u)?;
    }
    assert_grows(&mut filter);
    Ok(())
}

/// Does one operation that a client could do, possibly with other filters.
fn step(filter: &mut AnyFilter, others: &[AnyFilter], u: &mut Unstructured) -> Result<()> {
    operate(filter, others, u)?;
    assert_consistent(filter);
    assert_reloads(filter);
    Ok(())
}

fn operate(filter: &mut AnyFilter, others: &[AnyFilter], u: &mut Unstructured) -> Result<()> {
    if !others.is_empty() && u.ratio(1, 4)? {
        return join(filter, others, u);
    }
    match u.int_in_range(0..=8u8)? {
        0 => {
            let offset = number::whole(u)? % (2 * LIMIT);
            // Mostly near the first byte, which is far from 0 after rotations.
            let offset = filter.first_byte().wrapping_add(offset).wrapping_sub(64);
            let length = u.int_in_range(0..=64usize)?;
            let chunk = vec![u.arbitrary()?; length];
            let before = filter.try_clone(&mut small).expect("its own size is allowed");
            let is_changed = filter.write_chunk(offset, &chunk).unwrap_or(false);
            assert_eq!(is_changed, bits(filter) != bits(&before), "what a chunk has changed");
        }
        1 => {
            // All bits are set: every item is reported as present, and no lookup ends early.
            let (mut offset, mut lengths) = (filter.first_byte(), Vec::new());
            filter.each_layer(|words| lengths.push(words.bytes()));
            for length in lengths {
                filter.write_chunk(offset, &vec![0xff; length as usize]).expect("a whole layer");
                offset += length;
            }
            assert!(filter.contains_item(b"anything", time_of(filter)));
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
        4 => {
            let now = number::whole(u)?;
            let _ = filter.contains_item(u.bytes(u.len().min(20))?, now);
        }
        5 => {
            let Some(filter) = filter.windowed_mut() else { return Ok(()) };
            let now = time(u, filter)?;
            let before = filter.encode_header();
            let result = filter.advance(now, &mut small);
            let is_unchanged = filter.encode_header() == before;
            assert_eq!(is_unchanged, !matches!(result, Ok(true)), "{result:?}");
            assert!(result.is_err() || filter.advance(now, &mut small) == Ok(false), "due again");
        }
        6 => compact(filter),
        7 => join(filter, others, u)?,
        _ => {
            let Some(filter) = filter.windowed_mut() else { return Ok(()) };
            let (now, number) = (time(u, filter)?, filter.number());
            let before = filter.encode_header();
            match filter.rotate(now, &mut small) {
                Ok(()) => {
                    assert_eq!(filter.number(), number + 1);
                    assert!(filter.newest().is_empty());
                }
                Err(_) => assert_eq!(filter.encode_header(), before),
            }
        }
    }
    Ok(())
}

/// Why the filter is neither merged nor compacted.
fn refusal(filter: &AnyFilter) -> Option<Error> {
    match filter.view() {
        AnyRef::Windowed(_) => Some(Error::Windowed),
        AnyRef::ValkeyBloom(_) => Some(Error::OfValkeyBloom),
        _ => None,
    }
}

/// Compacts a filter of a kind that can be. It reports no fewer items as present afterwards.
fn compact(filter: &mut AnyFilter) {
    let now = time_of(filter);
    let size = filter.size_bytes();
    let len = filter.len();
    let items: Vec<[u8; 4]> = (0..200u32).map(u32::to_le_bytes).collect();
    let present: Vec<_> =
        items.iter().filter(|item| filter.contains_item(&item[..], now)).collect();
    let freed = match filter.compact() {
        Ok(freed) => freed,
        Err(error) => {
            assert_eq!(Some(error), refusal(filter));
            0
        }
    };
    assert_eq!((filter.size_bytes() + freed, filter.len()), (size, len));
    assert!(present.iter().all(|item| filter.contains_item(&item[..], now)));
}

/// Joins a filter with others, or with a copy of itself that has more items. The result is not
/// larger than was permitted, and a refused union changes nothing.
fn join(filter: &mut AnyFilter, others: &[AnyFilter], u: &mut Unstructured) -> Result<()> {
    let before = filter.try_clone(&mut |_| true).expect("memory");
    let mut copy = filter.try_clone(&mut |_| true).expect("memory");
    let items: Vec<[u8; 4]> =
        (1_000..1_000 + u.int_in_range(0..=200u32)?).map(u32::to_le_bytes).collect();
    insert(&mut copy, &items);
    let mut others: Vec<&AnyFilter> = others.iter().collect();
    if others.is_empty() || u.arbitrary()? {
        others.push(&copy);
    }
    let now = others.iter().map(|other| time_of(other)).max().unwrap_or(0).max(time_of(filter));
    let present: Vec<_> = items
        .iter()
        .filter(|item| others.iter().any(|other| other.contains_item(&item[..], now)))
        .collect();
    let limit = (filter.size_bytes() + 64 * u.int_in_range(0..=200u64)?).min(LIMIT);
    let result = filter.union(&others, &mut |demand| demand.filter_bytes <= limit);
    if let Some(refusal) = refusal(filter) {
        assert_eq!(result, Err(refusal));
    }
    match result {
        Ok(true) => {
            let size = filter.size_bytes();
            assert!(size <= limit, "{size} bytes, {limit} were permitted");
            assert!(present.iter().all(|item| filter.contains_item(&item[..], now)));
        }
        Ok(false) | Err(_) => assert_equal(filter, &before),
    }
    Ok(())
}

/// A time: any, or one near the opening of the newest generation.
fn time(u: &mut Unstructured, filter: &WindowedFilter) -> Result<u64> {
    let time = number::whole(u)?;
    Ok(if u.arbitrary()? { time } else { filter.newest().opened().saturating_add(time % 5_000) })
}

/// Inserts items in one call. Items with an answer must be present, and new items must be counted.
fn insert<T: AsRef<[u8]>>(filter: &mut AnyFilter, items: &[T]) {
    let before = filter.len();
    let mut answers = Vec::new();
    filter.insert_each(&mut items.iter().map(AsRef::as_ref), 0, &mut small, &mut |answer| {
        answers.push(answer)
    });
    assert!(answers.len() == items.len() || matches!(answers.last(), Some(Err(Error::Full(_)))));
    let new = answers.iter().filter(|answer| **answer == Ok(Insertion::New)).count() as u64;
    let refreshed = answers.iter().filter(|it| **it == Ok(Insertion::Refreshed)).count() as u64;
    let window = filter.windowed().map(|filter| filter.spec().window);
    match window {
        // Rotations forget items.
        Some(Window::Last) => assert!(filter.len() <= before + new + refreshed),
        _ => assert_eq!(filter.len(), before.saturating_add(new)),
    }
    let now = time_of(filter);
    let is_checked = |index: usize| match (&answers[index], window) {
        (Err(_), _) => false,
        // An old generation that contains the item may not answer any more.
        (Ok(insertion), Some(Window::Time { .. })) => insertion.is_written(),
        // Later items may have caused rotations.
        (Ok(_), Some(Window::Last)) => index + 1 == answers.len(),
        (Ok(_), Some(Window::Manual) | None) => true,
    };
    for (index, item) in items.iter().enumerate().take(answers.len()) {
        if is_checked(index) {
            assert!(filter.contains_item(item.as_ref(), now));
        }
    }
}
