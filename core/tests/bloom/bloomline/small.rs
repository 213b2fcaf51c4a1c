//! Small filters: a list answers as its bits would, and its header has its items.

use bloomline_core::Error;
use bloomline_core::host::{AnyFilter, Filter, Insertion, Spec};
use bloomline_reference::calls::Calls;
use bloomline_reference::checks::check::{assert_consistent, assert_equal, bits};

use crate::filters::{SEED, fixed, new, scaling};

fn listed(spec: Spec) -> AnyFilter {
    AnyFilter::bloomline(spec, SEED, &mut |_| true).unwrap()
}

fn item(number: u32) -> [u8; 4] {
    number.to_le_bytes()
}

fn insert(filter: &mut AnyFilter, number: u32) {
    let inserted = filter.insert_item(&item(number), 0, &mut |_| true);
    assert!(inserted.unwrap().is_new());
}

fn insert_each(
    filter: &mut AnyFilter,
    items: &[[u8; 4]],
    mut answer: impl FnMut(Result<Insertion, Error>),
) {
    let mut items = items.iter().map(<[u8; 4]>::as_slice);
    filter.insert_each(&mut items, 0, &mut |_| true, &mut answer);
}

/// The most items that the list of a filter may have, by the sectors of its layer; 0 for a layer of
/// blocks.
fn most(with_bits: &Filter) -> u64 {
    let layer = with_bits.layers().next().unwrap();
    let sectors = if layer.geometry().is_small() { layer.bytes() / 8 } else { 0 };
    sectors.saturating_sub(4).min(16).min(layer.capacity())
}

/// Specifications of layers of all small sizes, and of some with blocks.
fn specs() -> Vec<Spec> {
    let mut specs = Vec::new();
    for capacity in [1, 2, 3, 5, 8, 12, 20, 33, 50, 75, 100, 150, 200, 300, 400] {
        for error_rate in [0.25, 0.1, 0.01, 0.001, 1e-6, 1e-9] {
            specs.extend([fixed(capacity, error_rate), scaling(capacity, error_rate, 2)]);
        }
    }
    specs
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn lists_answer_as_their_bits_do() {
    let mut lists = 0;
    for spec in specs() {
        let (mut filter, mut with_bits) = (listed(spec), AnyFilter::from(new(spec, SEED)));
        let most = most(&new(spec, SEED));
        assert_eq!(filter.is_listed(), most > 0, "{spec:?}");
        lists += u64::from(most > 0);
        for number in 0..40 {
            assert_eq!(
                filter.listed_room(),
                if filter.is_listed() { most - filter.len() } else { 0 }
            );
            let answer = filter.insert_item(&item(number), 0, &mut |_| true);
            assert_eq!(answer, with_bits.insert_item(&item(number), 0, &mut |_| true), "{spec:?}");
            assert_eq!(filter.is_listed(), filter.len() <= most && most > 0, "{spec:?}");
            assert!(bits(&filter) == bits(&with_bits), "{spec:?}, {number}");
            assert_consistent(&filter);
            if filter.is_listed() {
                let len = filter.len();
                let words =
                    if len <= 4 { len.max(1).next_multiple_of(2) } else { len.next_multiple_of(4) };
                assert_eq!(filter.size_bytes(), 32 + 8 * words);
                assert!(filter.size_bytes() < with_bits.size_bytes());
            } else {
                assert_equal(&filter, &with_bits);
            }
            let absent: Vec<_> = (1_000..1_200).map(item).collect();
            let (mut one_by_one, mut at_once) = (Vec::new(), Vec::new());
            for item in &absent {
                one_by_one.push(filter.contains_item(item, 0));
                assert_eq!(one_by_one.last(), Some(&with_bits.contains_item(item, 0)), "{spec:?}");
            }
            let items = &mut absent.iter().map(AsRef::as_ref);
            filter.contains_each(items, 0, &mut |answer| at_once.push(answer));
            assert_eq!(one_by_one, at_once);
        }
    }
    assert!(lists > 30, "{lists} lists");
}

/// Items whose bits others have set.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn mistakes_of_lists_are_those_of_their_bits() {
    let spec = fixed(255, 0.1);
    let (mut filter, mut with_bits) = (listed(spec), AnyFilter::from(new(spec, SEED)));
    for number in 0..filter.listed_room() as u32 {
        for filter in [&mut filter, &mut with_bits] {
            insert(filter, number);
        }
    }
    assert!(filter.is_listed());
    let found = |filter: &AnyFilter| {
        (16..1_000_000).filter(|&number| filter.contains_item(&item(number), 0)).collect::<Vec<_>>()
    };
    let mistakes = found(&filter);
    assert!(mistakes.len() > 10 && mistakes == found(&with_bits), "{mistakes:?}");
    for number in mistakes {
        assert!(!filter.insert_item(&item(number), 0, &mut |_| true).unwrap().is_new());
    }
}

#[test]
fn batches_pass_from_the_list_to_the_bits() {
    let spec = scaling(100, 0.01, 2);
    for (first, len) in [(0, 17), (0, 60), (3, 40), (16, 1), (10, 500)] {
        let (mut filter, mut with_bits) = (listed(spec), AnyFilter::from(new(spec, SEED)));
        let items = (0..first + len).map(item).collect::<Vec<_>>();
        for call in [&items[..first as usize], &items[first as usize..]] {
            let (mut answers, mut expected) = (Vec::new(), Vec::new());
            insert_each(&mut filter, call, |answer| answers.push(answer));
            insert_each(&mut with_bits, call, |answer| expected.push(answer));
            assert_eq!(answers, expected);
        }
        assert!(!filter.is_listed());
        assert_equal(&filter, &with_bits);
    }
}

/// Items that are repeated need no room in the list, though the call has that many.
#[test]
fn batches_with_known_items_leave_a_list_of_its_size() {
    for (present, distinct, repeats) in [(0, 1, 30), (2, 3, 4), (5, 1, 11), (8, 8, 2), (16, 0, 9)] {
        let (mut filter, mut single) =
            (listed(scaling(100, 0.01, 2)), listed(scaling(100, 0.01, 2)));
        let present = (0..present).map(item).collect::<Vec<_>>();
        let distinct = (0..present.len() as u32 + distinct).map(item).collect::<Vec<_>>();
        let call = distinct.iter().copied().cycle().take(distinct.len() * repeats).collect();
        for items in [present, call] {
            let mut answers = Vec::new();
            insert_each(&mut filter, &items, |answer| answers.push(answer));
            let one_by_one = items.iter().map(|item| single.insert_item(item, 0, &mut |_| true));
            assert_eq!(answers, one_by_one.collect::<Vec<_>>());
            assert_equal(&filter, &single);
        }
        assert!(filter.is_listed());
    }
}

/// Neither the number of arguments nor that of calls decides, only that of different items.
#[test]
fn form_follows_from_the_items_and_not_from_the_calls() {
    for spec in [scaling(100, 0.01, 2), fixed(100, 0.01), scaling(39, 0.01, 2), fixed(20, 1e-6)] {
        let most = most(&new(spec, SEED)) as u32;
        for distinct in [1, 2, most, most + 1].map(|distinct| distinct.min(spec.capacity as u32)) {
            for repeats in [1, 2, 17, 600] {
                let items = (0..distinct).map(item).collect::<Vec<_>>();
                let call: Vec<_> =
                    items.iter().copied().cycle().take(items.len() * repeats).collect();
                let (mut at_once, mut one_by_one) = (listed(spec), listed(spec));
                insert_each(&mut at_once, &call, |answer| {
                    answer.unwrap();
                });
                (0..distinct).for_each(|number| insert(&mut one_by_one, number));
                assert_equal(&at_once, &one_by_one);
                let reloaded =
                    AnyFilter::decode_header(&at_once.encode_header(), &mut |_| true).unwrap();
                for filter in [&at_once, &one_by_one, &at_once.try_clone(&mut |_| true).unwrap()] {
                    assert_eq!(filter.is_listed(), distinct <= most, "{distinct} of {spec:?}");
                    assert_eq!(filter.size_bytes(), reloaded.size_bytes());
                }
            }
        }
    }
}

#[test]
fn merges_and_chunks_give_a_list_its_bits_if_they_change_it() {
    let spec = scaling(100, 0.01, 2);
    let filled = |mut filter: AnyFilter, items: std::ops::Range<u32>| {
        items.for_each(|number| insert(&mut filter, number));
        filter
    };
    let with_bits = |items| filled(AnyFilter::from(new(spec, SEED)), items);
    for other in [filled(listed(spec), 4..9), with_bits(4..9)] {
        let mut filter = filled(listed(spec), 0..5);
        filter.check_union(&[&other]).unwrap();
        assert_eq!(filter.union(&[&other], &mut |_| true), Ok(true));
        let mut expected = with_bits(0..5);
        assert_eq!(expected.union(&[&other], &mut |_| true), Ok(true));
        assert_equal(&filter, &expected);

        let mut filter = filled(listed(spec), 0..9);
        assert_eq!(filter.union(&[&other], &mut |_| true), Ok(false));
        assert!(filter.is_listed());
        let mut expected = with_bits(0..5);
        assert_eq!(expected.union(&[&filter], &mut |_| true), Ok(true));
    }
    let differs = listed(scaling(100, 0.02, 2));
    assert!(matches!(differs.check_union(&[&listed(spec)]), Err(Error::Differs(_))));

    let mut filter = filled(listed(spec), 0..5);
    let layer = bits(&filter).concat();
    assert_eq!(filter.write_chunk(0, &layer), Ok(false));
    assert!(filter.write_chunk(8, &layer).is_err() && filter.write_chunk(160, &[1]).is_err());
    assert!(filter.is_listed() && filter.compact() == Ok(0));
    assert_eq!(filter.write_chunk(80, &[255; 80]), Ok(true));
    let mut expected = with_bits(0..5);
    expected.write_chunk(80, &[255; 80]).unwrap();
    assert_equal(&filter, &expected);
}
