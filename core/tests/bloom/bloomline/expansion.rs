//! The largest expansion, 32,768: layers of 1, 2^15 and 2^30 items. A fourth one is refused.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bloomline_core::Error;
use bloomline_core::host::{AnyFilter, AnyRef, Demand, Filter, Growth, MAX_EXPANSION, Spec};
use bloomline_reference::calls::Calls;

const ERROR_RATE: f64 = 0.01;
const SPEC: Spec = Spec {
    capacity: 1,
    error_rate: ERROR_RATE,
    growth: Growth::Scaling { expansion: MAX_EXPANSION },
};

/// Capacity of the third layer, and of the fourth one, which is refused.
const THIRD: u64 = 1 << 30;
const FOURTH: u64 = 1 << 45;

/// Items inserted into the third layer.
const MORE: usize = 2_000;

/// Lets one test run at a time, because they measure the memory of the whole process.
///
/// Disables huge pages, as servers do: with them, an item might touch two megabytes for each bit.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    // SAFETY: the call takes numbers only, and changes only the size of pages.
    let done = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An empty filter in each layout.
fn empty() -> [AnyFilter; 2] {
    let bloomline = Filter::new(SPEC, 7, &mut |_| true).unwrap();
    [bloomline.into(), AnyFilter::redisbloom(SPEC, MAX_EXPANSION, &mut |_| true).unwrap()]
}

fn item(number: usize) -> Vec<u8> {
    format!("item:{number}").into_bytes()
}

/// Inserts items until the third layer holds [`MORE`] of them; returns the number of attempts.
fn grow_to_third(filter: &mut AnyFilter) -> usize {
    let mut attempted = 0;
    while filter.layer_count() < 3 || filter.newest_len() < MORE as u64 {
        filter.insert_item(&item(attempted), 0, &mut |_| true).unwrap();
        attempted += 1;
    }
    attempted
}

/// The header of a filter of three layers, the newest of which counts as full.
fn header_of_full(filter: &AnyFilter) -> Vec<u8> {
    let mut header = filter.encode_header();
    match filter.view() {
        AnyRef::Small(_) | AnyRef::Windowed(_) | AnyRef::ValkeyBloom(_) => {
            unreachable!("not created")
        }
        AnyRef::Bloomline(_) => header[48..56].copy_from_slice(&THIRD.to_le_bytes()),
        AnyRef::RedisBloom(_) => {
            let total = 1 + u64::from(MAX_EXPANSION) + THIRD;
            header[..8].copy_from_slice(&total.to_le_bytes());
            let third = 20 + 2 * 53 + 16;
            header[third..third + 8].copy_from_slice(&THIRD.to_le_bytes());
        }
    }
    header
}

/// The filter of a header, with the first three chunks of `filter`: two layers, and part of the
/// third.
fn through_chunks(filter: &AnyFilter, header: &[u8]) -> AnyFilter {
    let mut copy = AnyFilter::decode_header(header, &mut |_| true).unwrap();
    let mut offset = 0;
    for _ in 0..3 {
        let chunk = filter.chunk(offset).unwrap();
        copy.write_chunk(offset, chunk).unwrap();
        offset += chunk.len() as u64;
    }
    copy
}

/// The resident bytes of this process.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[test]
fn three_layers_hold_every_item_in_little_memory() {
    let _alone = alone();
    for mut filter in empty() {
        let before = resident_bytes();
        let attempted = grow_to_third(&mut filter);
        let layout = filter.layout();
        assert_eq!(filter.layer_count(), 3, "{layout:?}");
        assert_eq!(filter.capacity(), 1 + u64::from(MAX_EXPANSION) + THIRD);
        assert_eq!(filter.len(), 1 + u64::from(MAX_EXPANSION) + MORE as u64);
        let mut bytes = Vec::new();
        filter.each_layer(|words| bytes.push(words.bytes()));
        // Ten to fourteen bits per item.
        assert!((THIRD * 10 / 8..THIRD * 14 / 8).contains(&bytes[2]), "{layout:?}: {bytes:?}");
        assert!(filter.size_bytes() > bytes.iter().sum());
        // At most a page per bit of the items in the third layer, and 64 MiB for the rest.
        let touched = resident_bytes().saturating_sub(before);
        assert!(
            touched < (MORE as u64 * 16 * 4096) + (64 << 20),
            "{layout:?}: {touched} bytes touched"
        );

        assert!(
            (0..attempted).all(|number| filter.contains_item(&item(number), 0)),
            "{layout:?}: an item is missing"
        );
        let absent: Vec<Vec<u8>> = (attempted..attempted + 200_000).map(item).collect();
        let mut found = 0.0;
        filter.contains_each(&mut absent.iter().map(Vec::as_slice), 0, &mut |is_found| {
            found += f64::from(is_found)
        });
        // Five standard deviations above the mean of 200,000 lookups at the target rate.
        let most = 200_000.0 * ERROR_RATE + 5.0 * (200_000.0 * ERROR_RATE).sqrt();
        assert!(found <= most, "{layout:?}: {found} of 200,000 absent items");
    }
}

#[test]
fn header_and_chunks_restore_three_layers() {
    let _alone = alone();
    for mut filter in empty() {
        let attempted = grow_to_third(&mut filter);
        let header = filter.encode_header();
        let copy = through_chunks(&filter, &header);
        assert_eq!(copy.encode_header(), header);
        assert_eq!((copy.len(), copy.size_bytes()), (filter.len(), filter.size_bytes()));
        // The chunks contain the first two layers completely.
        let in_first_two = (0..attempted - 2 * MORE)
            .filter(|&number| copy.contains_item(&item(number), 0))
            .count();
        assert_eq!(in_first_two, attempted - 2 * MORE, "{:?}", filter.layout());
    }
}

#[test]
fn refused_fourth_layer_changes_nothing() {
    let _alone = alone();
    for mut filter in empty() {
        let attempted = grow_to_third(&mut filter);
        let header = header_of_full(&filter);
        let mut full = through_chunks(&filter, &header);
        assert_eq!((full.room(), full.encode_header()), (0, header.clone()));
        let mut demands = Vec::new();
        // Refuses 2^44 bytes and more, which is more than any machine has.
        let mut permit = |demand: Demand| {
            demands.push(demand);
            demand.filter_bytes < 1 << 44
        };
        let refused = full.insert_item(b"new", 0, &mut permit).unwrap_err();
        let mut batch = Vec::new();
        let items = [b"new".as_slice(), b"item:0", b"newer"];
        full.insert_each(&mut items.into_iter(), 0, &mut permit, &mut |result| {
            batch.push(result.is_ok())
        });
        assert_eq!(batch, [false, true, false]);
        match full.view() {
            AnyRef::Small(_) | AnyRef::Windowed(_) | AnyRef::ValkeyBloom(_) => {
                unreachable!("not decoded")
            }
            // The capacity exceeds that of the largest layer, so the permit is not called.
            AnyRef::Bloomline(_) => {
                assert!(matches!(refused, Error::Capacity(FOURTH)), "{refused}");
                assert!(demands.is_empty(), "{demands:?}");
            }
            // RedisBloom's layout has no such limit, so the permit decides: ten to sixteen bits per
            // item.
            AnyRef::RedisBloom(_) => {
                assert!(matches!(refused, Error::Refused(bytes) if bytes > FOURTH), "{refused}");
                assert!(demands.iter().all(|demand| demand.new_bytes > FOURTH), "{demands:?}");
            }
        }
        assert_eq!(full.encode_header(), header);
        assert_eq!((full.layer_count(), full.contains_item(b"new", 0)), (3, false));
        assert!((0..attempted - 2 * MORE).all(|number| full.contains_item(&item(number), 0)));
    }
}
