//! How much work calls do, in steps instead of time: slots that searches visit, and tables that are
//! tested. Chosen items and forged bytes cost at most ten times what honest content of the same
//! size does.

use bloomline_core::Error;
use bloomline_core::cuckoo::redisbloom::CuckooNumbers;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_core::work;
use bloomline_reference::calls::CuckooCalls;
use bloomline_reference::cuckoo_header::{Header, Table};
use bloomline_reference::random::Random;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{
    Layout, bytes, compact, created, granted, item, load_from, options, overwrite, with_numbers,
};

/// The seed of [`Layout::create`].
const SEED: u64 = 7;

/// The item of eight bytes with a hash: XXH3 of eight bytes can be inverted.
fn item_of(hash: u64) -> [u8; 8] {
    const PRIME: u64 = 0x9fb2_1c65_1e98_df25;
    let secret = 0x1cad_21f7_2c81_017cu64 ^ 0xdb97_9083_e96d_d4de;
    let inverse = (0..6).fold(PRIME, |inverse, _| {
        inverse.wrapping_mul(2u64.wrapping_sub(PRIME.wrapping_mul(inverse)))
    });
    let mut mixed = hash ^ (hash >> 28) ^ (hash >> 56);
    mixed = mixed.wrapping_mul(inverse);
    mixed ^= (mixed >> 35) + 8;
    mixed = mixed.wrapping_mul(inverse);
    // 64 times the identity.
    for _ in 0..63 {
        mixed ^= mixed.rotate_left(49) ^ mixed.rotate_left(24);
    }
    let seed = SEED ^ u64::from((SEED as u32).swap_bytes()) << 32;
    (mixed ^ secret.wrapping_sub(seed)).rotate_left(32).to_le_bytes()
}

/// Items with these prefixes in a table.
fn items_of(table: &Table, prefixes: impl Iterator<Item = u64>) -> Vec<[u8; 8]> {
    let hash = |prefix| (u128::from(prefix) << 64).div_ceil(table.prefixes().into()) as u64;
    prefixes.map(|prefix| item_of(hash(prefix))).collect()
}

/// The two windows of a prefix.
fn windows_of(table: &Table, prefix: u64) -> [u64; 2] {
    let fingerprints = table.prefixes() / table.windows;
    let (first, fingerprint) = (prefix / fingerprints, prefix % fingerprints);
    let mut mixed = (fingerprint + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^= mixed >> 29;
    mixed = mixed.wrapping_mul(0xd134_2543_de82_ef95);
    let distance = 1 + ((u128::from(mixed) * u128::from(table.windows - 1)) >> 64) as u64;
    [first, (first + distance) % table.windows]
}

/// A filter that does not grow, and its table.
fn fixed(capacity: u64, error_rate: f64) -> (AnyCuckoo, Table) {
    let filter = Layout::Bloomline { error_rate, is_fixed: true }.create(capacity);
    let table = Header::of(&filter).tables.remove(0);
    (filter, table)
}

/// The steps of inserting items, the same call as one batch.
fn steps_of(filter: &mut AnyCuckoo, items: &[[u8; 8]]) -> u64 {
    work::take();
    filter.insert_each(&mut items.iter().map(AsRef::as_ref), false, &mut granted, &mut |_| {});
    work::take()
}

#[test]
fn items_can_be_chosen() {
    let (mut filter, table) = fixed(1_000, 0.01);
    let items = items_of(&table, 100..101);
    for copies in 1..4 {
        filter.insert(&items[0], &mut granted).unwrap();
        assert_eq!(filter.count(&items[0]), copies);
    }
    let mut hashes: Vec<u64> = Vec::new();
    for prefix in [1, 2, 3, 1 << 20] {
        let [item] = items_of(&table, std::iter::once(prefix))[..] else { panic!("one item") };
        hashes.push(xxh3_64_with_seed(&item, SEED));
    }
    let prefixes: Vec<u64> = hashes.into_iter().map(|hash| table.prefix(hash)).collect();
    assert_eq!(prefixes, [1, 2, 3, 1 << 20].map(|prefix| prefix % table.prefixes()));
}

/// Items all of whose slots lie among a few hundred: nearly all searches fail.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn chosen_items_cost_at_most_tenfold() {
    const ITEMS: u64 = 10_000;
    let (mut filter, _) = fixed(ITEMS, 1e-4);
    let honest: Vec<_> = (0..ITEMS).map(item).collect();
    let steps = steps_of(&mut filter, &honest) + ITEMS;
    for windows in [4, 20, 300] {
        let (mut filter, table) = fixed(ITEMS, 1e-4);
        let is_near = |prefix: &u64| windows_of(&table, *prefix).iter().all(|it| *it < windows);
        let prefixes = (0..windows * table.prefixes() / table.windows).filter(is_near);
        let items = items_of(&table, prefixes.take(ITEMS as usize));
        let chosen = steps_of(&mut filter, &items) + items.len() as u64;
        // The first 64 searches are long, so that honest items that come later find their slots.
        let most = 10 * steps * items.len() as u64 / ITEMS + 64 * 1_000 + 64 * items.len() as u64;
        assert!(chosen <= most, "{windows}: {chosen} steps for {} items, {steps}", items.len());
        assert!(items.iter().all(|item| filter.contains(item)));
    }
}

/// A filter that is being doubled, and one of several tables, both with slots that are all
/// occupied.
fn saturated(seed: u64) -> Vec<AnyCuckoo> {
    let mut filters = Vec::new();
    for (error_rate, items) in [(0.01, 4_100), (1e-4, 30_000)] {
        let mut filter = Layout::Bloomline { error_rate, is_fixed: false }.create(2_000);
        for number in 0..items {
            filter.insert(&item(number), &mut granted).unwrap();
        }
        let mut random = Random::new(seed);
        // Random values, or equal ones.
        overwrite(&mut filter, || if seed > 0 { random.next() as u8 } else { 0x55 });
        filters.push(filter);
    }
    filters
}

fn slots(filter: &AnyCuckoo) -> u64 {
    filter.buckets() + u64::from(filter.table_count())
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn saturated_tables_cost_few_steps_per_slot() {
    for seed in 0..4 {
        for filter in saturated(seed) {
            let mut filter = filter;
            let tables = u64::from(filter.table_count());
            let before = slots(&filter);
            let copy = filter.try_clone(&mut granted).unwrap();
            work::take();
            compact(&mut filter);
            let steps = work::take();
            let most = (8 + 16) * before + (1 << 16) + 64_000 * tables;
            assert!(steps <= most, "{steps} steps to compact {before} slots: {filter:?}");
            for mut filter in [filter, copy] {
                let items: Vec<_> = (0..2_000).map(|number| item(1 << 40 | number)).collect();
                let steps = steps_of(&mut filter, &items);
                // A long search for each of the first 64 entries of a list; then short ones: for
                // the item, and for those that are drained with it.
                let most = 2 * 64 * 1_000 + 64 * (items.len() as u64 + before);
                assert!(steps <= most, "{steps} steps for {} items", items.len());
                filter.check().unwrap();
            }
        }
    }
}

/// A doubling whose target is at its limit ends soon, and needs no further table.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn a_doubling_above_the_limit_ends_soon() {
    let [mut filter, _] = <[AnyCuckoo; 2]>::try_from(saturated(1)).unwrap();
    let (tables, mut inserted) = (filter.table_count(), 0);
    assert_eq!(filter.encode_header()[13], 1);
    while filter.encode_header()[13] == 1 {
        filter.insert(&item(1 << 40 | inserted), &mut granted).unwrap();
        assert!(filter.contains(&item(1 << 40 | inserted)) && filter.table_count() <= tables);
        inserted += 1;
    }
    assert!(inserted <= 4_200 / 64 + 1, "{inserted} insertions");
}

/// A header with a list that has as many copies as it may have: what needs the list is refused, and
/// changes nothing; all else is stored.
#[test]
fn a_full_list_refuses_only_what_needs_it() {
    for is_fixed in [true, false] {
        let empty = Layout::Bloomline { error_rate: 0.01, is_fixed }.create(20);
        let mut header = Header::of(&empty);
        let table = &mut header.tables[0];
        let prefix = table.prefixes() - 1;
        table.list.insert(prefix, 1 << 58);
        let listed = items_of(table, std::iter::once(prefix))[0];
        let mut filter = AnyCuckoo::decode_header(&header.encode(), &mut granted).unwrap();
        let before = bytes(&filter);
        assert!(matches!(filter.insert(&listed, &mut granted), Err(Error::Full(_))));
        assert!(bytes(&filter) == before);
        let (mut stored, mut refused) = (0, 0);
        for copy in 0..3_000 {
            let before = bytes(&filter);
            match filter.insert(&item(copy / 5), &mut granted) {
                Ok(()) => stored += 1,
                Err(Error::Full(_)) => {
                    refused += 1;
                    assert!(bytes(&filter) == before);
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert!(refused > 0 && stored > if is_fixed { 15 } else { 1_500 }, "{stored} stored");
        assert!(filter.size_bytes() < 40_000);
        compact(&mut filter);
        filter.check().unwrap();
    }
}

/// In RedisBloom's layout, items of a call that is refused once are not searched for again; what is
/// stored, is stored in the same way without them.
#[test]
fn after_many_failed_searches_only_empty_slots_are_filled() {
    for (bucket_size, max_iterations) in [(1, 200), (2, 65_535), (4, 500)] {
        let mut filter = created(512, options(bucket_size, max_iterations, 0));
        let mut other = filter.try_clone(&mut granted).unwrap();
        let items: Vec<_> = (0..2_000).map(item).collect();
        let mut stored = Vec::new();
        for call in items.chunks(700) {
            let mut answers = Vec::new();
            filter.insert_each(
                &mut call.iter().map(AsRef::as_ref),
                false,
                &mut granted,
                &mut |answer| answers.push(answer),
            );
            let accepted = call.iter().zip(answers).filter(|(_, answer)| answer.is_ok());
            stored.extend(accepted.map(|(item, _)| *item));
        }
        assert!(stored.len() > 400 && stored.len() < items.len());
        for (index, call) in stored.chunks(37).enumerate() {
            if index % 2 == 0 {
                other.insert_each(
                    &mut call.iter().map(AsRef::as_ref),
                    false,
                    &mut granted,
                    &mut |answer| {
                        assert_eq!(answer, Ok(true));
                    },
                );
            } else {
                call.iter().for_each(|item| other.insert(item, &mut granted).unwrap());
            }
        }
        assert!(other == filter);
    }
}

/// Tables that are full but for one slot, which no entry of another table can take, and copies of
/// one item. A compaction takes some steps per slot, and so does the next one.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn thousands_of_tables_are_compacted_in_few_steps() {
    let numbers = CuckooNumbers {
        items: 0,
        buckets: 64,
        deletes: 0,
        tables: 2_000,
        bucket_size: 2,
        max_iterations: 20,
        expansion: 1,
    };
    let mut dense = with_numbers(&numbers, &mut granted).unwrap();
    overwrite(&mut dense, || 2);
    // An odd bucket is the other one of an odd bucket.
    for table in 0..numbers.tables {
        dense.load_chunk(table * 128 + 2, &[0]).unwrap();
    }
    let mut copies = created(4, options(1, 20, 1));
    for _ in 0..4_000 {
        copies.insert(b"again", &mut granted).unwrap();
    }
    for mut filter in [dense, copies] {
        let tables = filter.table_count();
        assert!(tables >= 2_000);
        let slots = filter.capacity();
        for _ in 0..2 {
            work::take();
            compact(&mut filter);
            let steps = work::take();
            assert!(steps <= 4 * slots, "{steps} steps, {slots} slots");
        }
        assert!(filter.table_count() >= 1_999);
    }
}

/// A header that counts no items does not make each deletion compact.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn a_header_without_items_does_not_compact_for_each_deletion() {
    let mut filter = created(4_096, options(2, 20, 1));
    for number in 0..9_000 {
        filter.insert(&item(number), &mut granted).unwrap();
    }
    let mut header = filter.encode_header();
    header[..8].fill(0);
    let mut forged = AnyCuckoo::decode_header(&header, &mut granted).unwrap();
    load_from(&mut forged, &filter);
    let mut compactions = 0;
    for number in 0..800 {
        assert!(forged.remove(&item(number)));
        compactions += u64::from(forged.deletes() == 0);
    }
    assert!(compactions <= 1 && forged.len() > 8_000, "{compactions} compactions");
}

/// A call that deletes all items of a large newest table compacts some forty times. It reads the
/// table once, and then only blocks of 64 slots that have items.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn deletions_read_a_large_table_once_per_call() {
    const ITEMS: u64 = 2_000;
    let mut filter = created(128, options(1, 1, 32_768));
    for number in 0..ITEMS {
        filter.insert(&item(number), &mut granted).unwrap();
    }
    assert_eq!(filter.table_count(), 2);
    let blocks = filter.capacity() / 64;
    // Every page was touched.
    let mut dense = filter.try_clone(&mut granted).unwrap();
    overwrite(&mut dense, || 1);
    load_from(&mut dense, &filter);
    for mut filter in [filter, dense] {
        let mut single = filter.try_clone(&mut granted).unwrap();
        let items: Vec<_> = (0..ITEMS).map(item).collect();
        work::take();
        let (mut steps, mut compactions) = (0, 0);
        // The first call leaves half of the items.
        for call in items.chunks(ITEMS as usize / 2) {
            let mut answers = Vec::new();
            let call = &mut call.iter().map(AsRef::as_ref);
            filter.remove_each(&mut call.clone(), &mut |is_removed| answers.push(is_removed));
            steps += work::take();
            for (item, answer) in call.zip(answers) {
                assert_eq!(single.remove(item), answer);
                compactions += u64::from(single.deletes() == 0);
            }
            work::take();
            assert!(single == filter, "one by one, and in a call");
        }
        assert!(filter.is_empty() && compactions > 30, "{compactions} compactions");
        // Each tenth of the items that is deleted is followed by a visit of the others.
        assert!(steps <= 2 * blocks + 30 * ITEMS, "{steps} steps, {blocks} blocks");
    }
}

/// From 128 tables on, the first refusal of a call ends it: to test that number of tables for an
/// empty slot takes as long as a search.
#[test]
fn first_refusal_ends_a_call_of_many_tables() {
    for (tables, is_ended) in [(100, false), (128, true)] {
        let mut filter = created(2, options(1, 20, 1));
        while filter.table_count() < tables {
            filter.insert(&item(1), &mut granted).unwrap();
        }
        let (mut demands, mut refused) = (0, 0);
        let mut refuse = |_| {
            demands += 1;
            false
        };
        filter.insert_each(
            &mut [item(1); 1_000].iter().map(AsRef::as_ref),
            false,
            &mut refuse,
            &mut |answer| {
                refused += u64::from(matches!(answer, Err(Error::Refused(_))));
            },
        );
        assert!(refused >= 998, "{refused} refused");
        assert_eq!(demands, if is_ended { 1 } else { refused }, "{tables} tables");
    }
}
