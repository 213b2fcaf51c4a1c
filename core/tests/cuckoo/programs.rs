//! Random programs of operations, compared with the reference model.

use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_reference::checks::cuckoo;
use bloomline_reference::random::Random;
use bloomline_reference::redisbloom_cuckoo::Model;
use proptest::prelude::*;

use super::{classic, compact, created, granted, options};

/// Runs a body on random bytes of which many must give a filter.
fn assert_programs_agree(cases: u64, run: fn(&[u8]) -> bool) {
    let mut accepted = 0;
    for seed in 0..cases {
        let mut random = Random::new(seed);
        let length = 64 + random.below(600);
        let bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
        accepted += u64::from(run(&bytes));
    }
    assert!(accepted > cases / 4, "{accepted} of {cases} programs had a filter");
}

#[test]
fn random_programs_agree_with_the_reference_model() {
    assert_programs_agree(if cfg!(miri) { 10 } else { 4_000 }, cuckoo::run);
}

#[test]
fn random_programs_agree_with_the_model_of_the_own_layout() {
    assert_programs_agree(if cfg!(miri) { 10 } else { 4_000 }, cuckoo::run_bloomline);
}

/// One step on one of few items.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(u16),
    InsertNew(u16),
    Remove(u16),
    Contains(u16),
    Count(u16),
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    let item = || 0..400u16;
    prop_oneof![
        8 => item().prop_map(Step::Insert),
        4 => item().prop_map(Step::InsertNew),
        5 => item().prop_map(Step::Remove),
        2 => item().prop_map(Step::Contains),
        2 => item().prop_map(Step::Count),
        1 => Just(Step::Compact),
    ]
}

fn perform(step: Step, filter: &mut AnyCuckoo, model: &mut Model) {
    let bytes = |item: u16| format!("item:{item}").into_bytes();
    match step {
        Step::Insert(item) => {
            let is_inserted = filter.insert(&bytes(item), &mut granted).is_ok();
            assert_eq!(is_inserted, model.insert(&bytes(item), |_| true).is_ok());
        }
        Step::InsertNew(item) => {
            let inserted = filter.insert_new(&bytes(item), &mut granted).ok();
            let expected = match model.contains(&bytes(item)) {
                true => Some(false),
                false => model.insert(&bytes(item), |_| true).ok().map(|()| true),
            };
            assert_eq!(inserted, expected);
        }
        Step::Remove(item) => assert_eq!(filter.remove(&bytes(item)), model.remove(&bytes(item))),
        Step::Contains(item) => {
            assert_eq!(filter.contains(&bytes(item)), model.contains(&bytes(item)));
        }
        Step::Count(item) => assert_eq!(filter.count(&bytes(item)), model.count(&bytes(item))),
        Step::Compact => {
            compact(filter);
            model.compact(true);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn streams_agree_with_the_reference_model(
        capacity in 1..300u64,
        bucket_size in prop_oneof![1..=4u8, Just(255)],
        max_iterations in 1..40u16,
        expansion in prop_oneof![Just(0u16), Just(1), Just(2), Just(4)],
        steps in proptest::collection::vec(step(), 0..600),
    ) {
        let mut filter = created(capacity, options(bucket_size, max_iterations, expansion));
        let mut model = Model::new(capacity, bucket_size, max_iterations, expansion);
        for step in steps {
            perform(step, &mut filter, &mut model);
            prop_assert_eq!(filter.encode_header(), model.header());
            prop_assert!(classic(&filter).tables().eq(model.tables.iter()));
            prop_assert_eq!(filter.size(), model.size());
        }
        prop_assert!(filter.check().is_ok());
    }
}

/// A table that is far larger than a cache line per item, several tables, and groups that are not
/// full: the batches prefetch.
#[test]
fn batches_answer_as_single_calls_do() {
    let items: Vec<[u8; 4]> =
        (0..if cfg!(miri) { 300u32 } else { 400_000 }).map(u32::to_le_bytes).collect();
    for bucket_size in [1, 2, 3, 4, 8] {
        let capacity = items.len() as u64 / 3;
        let mut batch = created(capacity, options(bucket_size, 20, 2));
        let mut single = created(capacity, options(bucket_size, 20, 2));
        let mut answers = Vec::new();
        for call in items.chunks(1001) {
            batch.insert_batch(call.iter(), true, &mut granted, |answer| answers.push(answer));
        }
        let expected: Vec<_> =
            items.iter().map(|item| single.insert_new(item, &mut granted)).collect();
        assert!(answers == expected && batch == single && batch.table_count() > 1);
        for item in items.iter().step_by(3) {
            // An item that seemed to be there was not inserted.
            batch.remove(item);
        }
        let mut found = Vec::new();
        batch.contains_batch(items.iter(), |is_in| found.push(is_in));
        assert!(items.iter().map(|item| batch.contains(item)).eq(found.iter().copied()));
        assert!(found.contains(&false) || bucket_size == 8);
    }
}
