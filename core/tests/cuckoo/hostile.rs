//! Headers, bits and chunks from anywhere: they are refused, or give a filter that works.

use std::ops::Range;
use std::time::{Duration, Instant};

use bloomline_core::Error;
use bloomline_core::cuckoo::work;
use bloomline_core::host::Demand;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_reference::calls::CuckooCalls;
use bloomline_reference::checks::encodings::assert_cuckoo_carried;
use bloomline_reference::random::Random;

use super::{Layout, bytes, compact, granted, item};

/// The largest filter in bytes.
const LIMIT: u64 = 1 << 20;

/// The longest that one header may take.
const PATIENCE: Duration = Duration::from_secs(if cfg!(miri) { 600 } else { 120 });

fn small(demand: Demand) -> bool {
    demand.filter_bytes <= LIMIT
}

/// Filters of all kinds: empty, full, with copies, in the middle of a doubling, of several tables,
/// and compacted.
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
    filters
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

fn use_all(filter: &mut AnyCuckoo, seed: u64) {
    let mut random = Random::new(seed);
    let items: Vec<_> = (0..200).map(|_| item(random.below(500))).collect();
    let assert_sound = |filter: &AnyCuckoo| {
        filter.check().unwrap();
        assert_cuckoo_carried(filter);
        let mut allocations = 0;
        filter.each_allocation(|_| allocations += 1);
        assert!(allocations > 0);
        let _ = (filter.len(), filter.is_empty(), filter.deletes(), filter.options());
        let _ = (filter.size(), filter.size_bytes(), filter.layout());
        if let Some(rate) = filter.current_rate() {
            assert!(rate >= 0.0 && rate.is_finite(), "{rate}");
        }
    };
    assert_sound(filter);
    for item in &items {
        let count = filter.count(item);
        assert_eq!(filter.contains(item), count > 0);
        if filter.insert(item, &mut small).is_ok() {
            assert!(filter.contains(item));
        }
    }
    assert_sound(filter);
    for item in &items[..50] {
        if filter.contains(item) {
            assert!(filter.remove(item));
        } else {
            assert!(!filter.remove(item));
        }
    }
    assert_sound(filter);
    filter.insert_each(
        &mut items.iter().map(AsRef::as_ref),
        seed.is_multiple_of(2),
        &mut small,
        &mut |_| {},
    );
    let mut found = Vec::new();
    filter.contains_each(&mut items.iter().map(AsRef::as_ref), &mut |is_in| found.push(is_in));
    assert!(items.iter().map(|item| filter.contains(item)).eq(found));
    assert_sound(filter);
    let mut copy = filter.try_clone(&mut granted).unwrap();
    assert!(copy == *filter);
    let mut removed = Vec::new();
    copy.remove_each(&mut items.iter().map(AsRef::as_ref), &mut |is_removed| {
        removed.push(is_removed)
    });
    assert_eq!(removed.len(), items.len());
    assert_sound(&copy);
    compact(filter);
    assert_sound(filter);
    let mut copy = filter.try_clone(&mut granted).unwrap();
    for item in &items {
        copy.remove(item);
        let is_inserted = copy.insert(item, &mut small).is_ok();
        assert!(!is_inserted || copy.contains(item));
    }
    assert_sound(&copy);
}

/// Decodes a header, and uses the filter if there is one. True if there was.
fn decoded(header: &[u8], seed: u64) -> bool {
    let start = Instant::now();
    let mut demands = Vec::new();
    let decoded = AnyCuckoo::decode_header(header, &mut |demand| {
        demands.push(demand);
        small(demand)
    });
    let is_decoded = match decoded {
        Ok(mut filter) => {
            assert_eq!(filter.encode_header().len(), header.len());
            assert_eq!(demands.len(), 1);
            assert_eq!(demands[0].filter_bytes, filter.size_bytes());
            exercise(&mut filter, seed);
            true
        }
        Err(Error::Refused(_)) => {
            assert!(demands.iter().any(|demand| !small(*demand)));
            false
        }
        Err(error) => {
            let is_checked = matches!(error, Error::Header(_) | Error::Cuckoo(_))
                || matches!(error, Error::CuckooErrorRate(_));
            assert!(is_checked && demands.is_empty(), "{error}");
            false
        }
    };
    assert!(start.elapsed() < PATIENCE, "{:?} for {header:02x?}", start.elapsed());
    is_decoded
}

/// Numbers near the limits of integers and of this layout.
fn numbers(random: &mut Random) -> u64 {
    const EDGES: [u64; 16] = [
        0,
        1,
        2,
        7,
        16,
        28,
        32,
        4_096,
        1 << 20,
        1 << 31,
        1 << 32,
        1 << 53,
        1 << 62,
        (1 << 63) - 1,
        1 << 63,
        u64::MAX,
    ];
    match random.below(4) {
        0 => random.next(),
        1 => random.below(64),
        _ => {
            let edge = EDGES[random.below(EDGES.len() as u64) as usize];
            edge.wrapping_add(random.below(3)).wrapping_sub(1)
        }
    }
}

#[test]
fn mutated_headers_are_refused_or_give_working_filters() {
    let mut random = Random::new(1);
    let (mut accepted, mut refused) = (0, 0);
    for (seed, filter) in filters().iter().enumerate().skip(if cfg!(miri) { 60 } else { 0 }) {
        let header = filter.encode_header();
        assert!(decoded(&header, seed as u64));
        for at in 0..header.len() {
            for width in [1, 2, 4, 8] {
                if !at.is_multiple_of(width) || at + width > header.len() {
                    continue;
                }
                for _ in 0..2 {
                    let mut header = header.clone();
                    let number = numbers(&mut random).to_le_bytes();
                    header[at..at + width].copy_from_slice(&number[..width]);
                    match decoded(&header, random.next()) {
                        true => accepted += 1,
                        false => refused += 1,
                    }
                }
            }
        }
    }
    assert!(accepted > 100 && refused > 100, "{accepted} accepted, {refused} refused");
}

/// Numbers that are one more, one less, twice or half of what they were, two at a time: most nearly
/// valid headers are of this kind.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn nearly_valid_headers_are_refused_or_give_working_filters() {
    let mut random = Random::new(2);
    let headers: Vec<_> = filters().iter().map(AnyCuckoo::encode_header).collect();
    let mut accepted = 0;
    for round in 0..10_000 {
        let mut header = headers[random.below(headers.len() as u64) as usize].clone();
        for _ in 0..1 + random.below(2) {
            let width = 1 << random.below(4);
            let at = random.below((header.len() / width) as u64) as usize * width;
            let Some(field) = header.get_mut(at..at + width) else { continue };
            let mut bytes = [0; 8];
            bytes[..width].copy_from_slice(field);
            let number = u64::from_le_bytes(bytes);
            let number = match random.below(5) {
                0 => number.wrapping_add(1),
                1 => number.wrapping_sub(1),
                2 => number.wrapping_mul(2),
                3 => number / 2,
                _ => number ^ (1 << random.below(8 * width as u64)),
            };
            field.copy_from_slice(&number.to_le_bytes()[..width]);
        }
        accepted += u64::from(decoded(&header, round));
    }
    assert!(accepted > 1_000, "{accepted} accepted");
}

#[test]
fn truncated_and_longer_headers_are_refused() {
    for filter in filters() {
        let header = filter.encode_header();
        for length in 0..header.len() {
            let error = AnyCuckoo::decode_header(&header[..length], &mut |_| panic!("a demand"));
            assert!(matches!(error, Err(Error::Header(_))), "{length} bytes: {error:?}");
        }
        for more in [1, 8, 16, 64] {
            let longer = [&header[..], &vec![0; more]].concat();
            let error = AnyCuckoo::decode_header(&longer, &mut |_| panic!("a demand"));
            assert!(matches!(error, Err(Error::Header(_))), "{more} more: {error:?}");
        }
    }
}

#[test]
fn random_bytes_are_no_headers() {
    let mut random = Random::new(3);
    let own = Layout::ALL[3].create(100).encode_header();
    for round in 0..if cfg!(miri) { 100 } else { 20_000 } {
        let length = random.below(300) as usize;
        let mut header: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        // With the magic and the version of this layout, and more of the header each time.
        let kept = (round % 5) * 8;
        for (byte, own) in header.iter_mut().zip(own.iter().take(kept as usize)) {
            *byte = *own;
        }
        decoded(&header, round);
    }
}

/// Writes random bytes to all of a filter, of which about the share `ones` / 8 of the bits is set.
fn forge(filter: &mut AnyCuckoo, ones: u64, random: &mut Random) {
    let mut iterator = 1;
    loop {
        let Some((next, chunk)) = filter.scan_dump(iterator) else { return };
        let byte = |random: &mut Random| {
            let byte = random.next() as u8;
            match ones {
                0 => 0,
                2 => byte & random.next() as u8,
                6 => byte | random.next() as u8,
                8 => 0xff,
                _ => byte,
            }
        };
        let forged: Vec<u8> = (0..chunk.len()).map(|_| byte(random)).collect();
        // Padding that must be zero may be refused.
        let _ = filter.load_chunk(next, &forged);
        let whole = forged.len().saturating_sub(16);
        let start = next - forged.len() as u64;
        if whole > 0 {
            filter.load_chunk(start + whole as u64, &forged[..whole]).unwrap();
        }
        iterator = next;
    }
}

#[test]
fn any_bits_are_used_without_a_panic() {
    for (seed, filter) in filters().iter().enumerate().skip(if cfg!(miri) { 60 } else { 0 }) {
        for ones in [0, 2, 4, 6, 8] {
            let mut random = Random::new(seed as u64);
            let mut forged = filter.try_clone(&mut granted).unwrap();
            forge(&mut forged, ones, &mut random);
            forged.check().unwrap();
            for round in 0..3 {
                let start = Instant::now();
                exercise(&mut forged, random.next());
                assert!(start.elapsed() < PATIENCE, "round {round}: {:?}", start.elapsed());
            }
        }
    }
}

/// Bits that belong to another header: the numbers contradict the slots.
#[test]
fn headers_and_bits_of_different_filters_are_used_without_a_panic() {
    let filters = filters();
    let mut random = Random::new(4);
    for (seed, header) in filters.iter().enumerate().skip(if cfg!(miri) { 70 } else { 0 }) {
        for _ in 0..5 {
            let other = &filters[random.below(filters.len() as u64) as usize];
            let mut mixed =
                AnyCuckoo::decode_header(&header.encode_header(), &mut granted).unwrap();
            let mut iterator = 1;
            while let Some((next, chunk)) = other.scan_dump(iterator) {
                let _ = mixed.load_chunk(next, chunk);
                iterator = next;
            }
            exercise(&mut mixed, seed as u64);
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
                0 => numbers(&mut random),
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
        let before = bytes(&filter);
        for (iterator, data) in [(0, &[1][..]), (1, &[1]), (u64::MAX, &[1]), (9, &[])] {
            assert!(matches!(filter.load_chunk(iterator, data), Err(Error::Chunk(_))));
        }
        assert!(bytes(&filter) == before);
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
