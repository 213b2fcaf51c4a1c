//! Bits and chunks from anywhere: they are refused, or give a filter that works.

use std::ops::Range;

use bloomline_core::Error;
use bloomline_core::host::Demand;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_core::work;
use bloomline_reference::calls::CuckooCalls;
use bloomline_reference::checks::encodings::assert_cuckoo_carried;
use bloomline_reference::random::Random;

use super::{Layout, bytes, compact, granted, item, load_from, overwrite};

/// The largest filter in bytes.
const LIMIT: u64 = 1 << 20;

fn small(demand: Demand) -> bool {
    demand.filter_bytes <= LIMIT
}

/// Filters of all kinds: empty, full, with copies, in the middle of a doubling, of several tables,
/// and compacted. Under Miri some of them.
fn filters() -> Vec<AnyCuckoo> {
    let mut filters = Vec::new();
    for layout in Layout::ALL {
        filters.push(layout.create(1));
        filters.push(layout.create(100));
        let mut filter = layout.create(30);
        for number in 0..if layout.is_fixed() { 30 } else { 400 } {
            if filter.insert(&item(number % 250), &mut granted).is_err() {
                break;
            }
            if number % 40 == 0 {
                // Copies would double a filter in RedisBloom's layout each time.
                let takes_copies = matches!(layout, Layout::Bloomline { is_fixed: false, .. });
                for _ in 0..if takes_copies { 9 } else { 0 } {
                    filter.insert(b"again", &mut granted).unwrap();
                }
                filters.push(filter.try_clone(&mut granted).unwrap());
            }
        }
        for number in 0..200 {
            filter.remove(&item(number));
        }
        compact(&mut filter);
        filters.push(filter);
    }
    filters.split_off(if cfg!(miri) { 60 } else { 0 })
}

/// Does everything that a client can do, and checks the filter after each step.
///
/// Whatever the filter holds, the work is in proportion to the slots and to the 600 insertions: a
/// search of 64 slots for each, and for each of the slots that one of them drains at most. The
/// first searches are longer.
fn exercise(filter: &mut AnyCuckoo, seed: u64) {
    const INSERTED: u64 = 600;
    let slots = filter.size_bytes() * 8 / 7;
    work::take();
    use_all(filter, seed);
    let most = 8 * slots + INSERTED * 64 * 65 + (64 * 1_000) * 10;
    let steps = work::take();
    assert!(steps <= most, "{steps} steps for {slots} slots: {filter:?}");
}

fn assert_sound(filter: &AnyCuckoo) {
    filter.check().unwrap();
    assert_cuckoo_carried(filter);
    let mut allocations = 0;
    filter.each_allocation(|_| allocations += 1);
    assert!(allocations > 0);
    assert!(filter.current_rate().is_none_or(|rate| rate >= 0.0 && rate.is_finite()));
}

fn use_all(filter: &mut AnyCuckoo, seed: u64) {
    let mut random = Random::new(seed);
    let items: Vec<_> = (0..200).map(|_| item(random.below(500))).collect();
    let all = || items.iter().map(AsRef::as_ref);
    assert_sound(filter);
    for item in &items {
        assert_eq!(filter.contains(item), filter.count(item) > 0);
        assert!(filter.insert(item, &mut small).is_err() || filter.contains(item));
    }
    assert_sound(filter);
    for item in &items[..50] {
        assert_eq!(filter.contains(item), filter.remove(item));
    }
    assert_sound(filter);
    filter.insert_each(&mut all(), seed.is_multiple_of(2), &mut small, &mut |_| {});
    let (mut found, mut removed) = (Vec::new(), 0);
    filter.contains_each(&mut all(), &mut |is_in| found.push(is_in));
    assert!(items.iter().map(|item| filter.contains(item)).eq(found));
    assert_sound(filter);
    let mut copy = filter.try_clone(&mut granted).unwrap();
    assert!(copy == *filter);
    copy.remove_each(&mut all(), &mut |_| removed += 1);
    assert_eq!(removed, items.len());
    assert_sound(&copy);
    compact(filter);
    assert_sound(filter);
    let mut copy = filter.try_clone(&mut granted).unwrap();
    for item in &items {
        copy.remove(item);
        assert!(copy.insert(item, &mut small).is_err() || copy.contains(item));
    }
    assert_sound(&copy);
}

/// Random bits, of which none, a quarter, half, three quarters or all are set, and those of another
/// filter: the numbers of the header contradict the slots.
#[test]
fn any_bits_are_used_without_a_panic() {
    let (filters, mut random) = (filters(), Random::new(4));
    for (seed, filter) in filters.iter().enumerate() {
        let exercise_rounds = |mut forged: AnyCuckoo, rounds: u64| {
            forged.check().unwrap();
            (0..rounds).for_each(|round| exercise(&mut forged, seed as u64 ^ round));
        };
        for ones in [0, 2, 4, 6, 8] {
            let mut forged = filter.try_clone(&mut granted).unwrap();
            overwrite(&mut forged, || {
                let byte = random.next() as u8;
                match ones {
                    0 => 0,
                    2 => byte & random.next() as u8,
                    6 => byte | random.next() as u8,
                    8 => 0xff,
                    _ => byte,
                }
            });
            exercise_rounds(forged, 3);
        }
        for _ in 0..5 {
            let other = &filters[random.below(filters.len() as u64) as usize];
            let header = filter.encode_header();
            let mut mixed = AnyCuckoo::decode_header(&header, &mut granted).unwrap();
            load_from(&mut mixed, other);
            exercise_rounds(mixed, 1);
        }
    }
}

/// The bytes of each table among those of the filter.
fn ranges(filter: &AnyCuckoo) -> Vec<Range<u64>> {
    let (mut ranges, mut iterator) = (Vec::new(), 1);
    while let Some((next, chunk)) = filter.scan_dump(iterator) {
        ranges.push(next - 1 - chunk.len() as u64..next - 1);
        iterator = next;
    }
    ranges
}

/// A chunk is written if it lies in one table, and otherwise refused.
#[test]
fn chunks_at_wrong_offsets_are_refused() {
    let mut random = Random::new(5);
    for mut filter in filters() {
        let ranges = ranges(&filter);
        let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        for _ in 0..50 {
            let data = vec![0x55; 1 + random.below(2 * total) as usize];
            let iterator = match random.below(4) {
                0 => total + random.below(3),
                1 => random.below(data.len() as u64 + 1),
                _ => random.below(4 * total),
            };
            let before = bytes(&filter);
            let start = iterator.checked_sub(1 + data.len() as u64);
            let table = ranges.iter().position(|table| {
                start.is_some_and(|start| table.start <= start && iterator - 1 <= table.end)
            });
            let result = filter.load_chunk(iterator, &data);
            let after = bytes(&filter);
            assert_eq!(after.0.len(), before.0.len());
            if table.is_none() {
                assert!(matches!(result, Err(Error::Chunk(_))), "{result:?}");
            } else {
                assert_eq!(result, Ok(after != before));
            }
            for (index, (after, before)) in after.1.iter().zip(&before.1).enumerate() {
                assert!(Some(index) == table || after == before, "written to another table");
            }
        }
        for iterator in [0, u64::MAX, u64::MAX - 1] {
            assert_eq!(filter.scan_dump(iterator), None);
        }
    }
}

/// A chunk of a dump that began before a table was dropped or made smaller lands in no other table.
#[test]
#[cfg_attr(miri, ignore = "takes minutes")]
fn chunks_of_an_old_dump_land_in_no_other_table() {
    for error_rate in [0.25, 0.01, 1e-4] {
        let mut filter = Layout::Bloomline { error_rate, is_fixed: false }.create(20);
        let (mut dumped, mut number) = (Vec::new(), 0);
        for round in 0..30 {
            for _ in 0..=round * 10 {
                filter.insert(&item(number), &mut granted).unwrap();
                number += 1;
            }
            dumped.extend(ranges(&filter));
            if round % 9 == 8 {
                for number in number - 300..number {
                    filter.remove(&item(number));
                }
                compact(&mut filter);
            }
        }
        let present = ranges(&filter);
        let header = filter.encode_header();
        for range in dumped {
            let mut filter = AnyCuckoo::decode_header(&header, &mut granted).unwrap();
            let chunk = vec![1; (range.end - range.start) as usize];
            let is_written = filter.load_chunk(range.end + 1, &chunk).is_ok();
            assert_eq!(is_written, present.contains(&range), "{range:?} of an old dump");
        }
    }
}
