//! The filter beside its naive model: equal bit by bit and answer by answer, one by one and in
//! batches.

use bloomline_core::batch::contains_spot;
use bloomline_core::bloomline::BlockedLayer;
use bloomline_core::bloomline::geometry::ROWS;
use bloomline_core::bloomline::hash::item_hash;
use bloomline_core::layer::Layer;
use bloomline_core::simd::{Backend, Block, Scalar};
#[cfg(target_arch = "x86_64")]
use bloomline_core::simd::{avx2::Avx2, avx512::Avx512};
use bloomline_core::spec::Demand;
use bloomline_core::{AnyFilter, Error, Filter, Growth, Layout, Spec};
use bloomline_reference::bloomline::{Answer, Model};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn scaling(capacity: u64, error_rate: f64, expansion: u32) -> Spec {
    Spec { capacity, error_rate, growth: Growth::Scaling { expansion } }
}

fn fixed(capacity: u64, error_rate: f64) -> Spec {
    Spec { capacity, error_rate, growth: Growth::Fixed }
}

fn new(spec: Spec, seed: u64) -> Filter {
    Filter::new(spec, seed, &mut |_| true).unwrap()
}

fn answer(result: Result<bool, Error>) -> Answer {
    match result {
        Ok(true) => Answer::New,
        Ok(false) => Answer::Seen,
        Err(Error::Full(_)) => Answer::Full,
        Err(_) => Answer::CannotGrow,
    }
}

fn insert(filter: &mut Filter, item: &[u8]) -> Answer {
    answer(filter.insert(item, &mut |_| true))
}

fn insert_batch<T: AsRef<[u8]>>(filter: &mut Filter, items: &[T]) -> Vec<Answer> {
    let mut answers = Vec::new();
    filter.insert_batch(items.iter().map(AsRef::as_ref), &mut |_| true, |result| {
        answers.push(answer(result))
    });
    answers
}

fn contains_batch<T: AsRef<[u8]>>(filter: &Filter, items: &[T]) -> Vec<bool> {
    let mut answers = Vec::new();
    filter.contains_batch(items.iter().map(AsRef::as_ref), |present| answers.push(present));
    answers
}

fn assert_same_bytes(filter: &Filter, model: &Model) {
    assert_eq!(filter.layer_count() as usize, model.layers.len());
    assert_eq!((filter.len(), filter.newest_len()), (model.len(), model.newest_len));
    for (index, (layer, model)) in filter.layers().zip(&model.layers).enumerate() {
        assert_eq!(
            (layer.capacity(), layer.geometry()),
            (model.capacity, &model.geometry),
            "layer {index}"
        );
        // Not `assert_eq`: megabytes in a message help nobody.
        assert!(
            layer.as_bytes() == model.bits.as_raw_slice(),
            "other bits in layer {index}: {:?}",
            model.geometry
        );
    }
}

/// Everything that may be seen of a filter.
fn picture(filter: &Filter) -> (Vec<u8>, Vec<Vec<u8>>) {
    let bits = filter.layers().map(|layer| layer.as_bytes().to_vec()).collect();
    (filter.encode_header().to_vec(), bits)
}

fn specs() -> impl Strategy<Value = Spec> {
    let error_rates = vec![0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12];
    let growth = prop_oneof![
        Just(Growth::Fixed),
        (1u32..5).prop_map(|expansion| Growth::Scaling { expansion })
    ];
    (1u64..120, prop::sample::select(error_rates), growth)
        .prop_map(|(capacity, error_rate, growth)| Spec { capacity, error_rate, growth })
}

/// Items of which many are twice in a call, with lengths on all sides of the hash function's
/// thresholds.
fn items() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let item = (0u16..400, prop::sample::select(vec![0usize, 1, 3, 14, 38, 127, 239, 260]));
    let item = item.prop_map(|(number, padding)| {
        let mut item = number.to_le_bytes().to_vec();
        item.resize(2 + padding, b'x');
        // The empty item is one too.
        if number == 0 { Vec::new() } else { item }
    });
    prop::collection::vec(item, 0..500)
}

/// Equal cases in every run.
fn pinned(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(4096),
        failure_persistence: None,
        ..Default::default()
    }
}

proptest! {
    #![proptest_config(pinned(400))]

    #[test]
    fn items_one_by_one_are_answered_and_stored_as_by_the_twin(spec in specs(), seed: u64, items in items()) {
        let (mut filter, mut model) = (new(spec, seed), Model::new(spec, seed));
        for item in &items {
            prop_assert_eq!(filter.contains(item), model.contains(item));
            prop_assert_eq!(insert(&mut filter, item), model.insert(item));
        }
        assert_same_bytes(&filter, &model);
        for number in 0..500u16 {
            let item = number.to_be_bytes();
            prop_assert_eq!(filter.contains(&item), model.contains(&item));
        }
    }

    #[test]
    fn a_batch_however_split_is_the_same_as_one_by_one(
        spec in specs(), seed: u64, items in items(), splits in prop::collection::vec(1usize..200, 1..20),
    ) {
        let (mut whole, mut single) = (new(spec, seed), new(spec, seed));
        let (mut rest, mut splits) = (&items[..], splits.into_iter().cycle());
        while !rest.is_empty() {
            let (call, later) = rest.split_at(splits.next().unwrap().min(rest.len()));
            rest = later;
            let present = contains_batch(&whole, call);
            prop_assert!(call.iter().zip(present).all(|(item, present)| single.contains(item) == present));
            let answers = insert_batch(&mut whole, call);
            let expected: Vec<Answer> = call.iter().map(|item| insert(&mut single, item)).collect();
            // A full filter ends the call at its first refusal.
            let end = expected.iter().position(|answer| *answer == Answer::Full).map_or(call.len(), |at| at + 1);
            prop_assert_eq!(&answers[..], &expected[..end]);
            if end < call.len() {
                prop_assert!(whole.room() == 0 && picture(&whole) == picture(&single));
            }
        }
        prop_assert!(picture(&whole) == picture(&single));
    }
}

#[test]
fn large_filters_of_every_number_of_lines_an_item_are_stored_as_by_the_twin() {
    // One, two, three and four lines; pages of less than 64 lines, whole ones, and a growth from
    // one kind to the other.
    let specs = [
        fixed(40_000, 0.1),
        fixed(300_000, 0.1),
        fixed(40_000, 1e-3),
        fixed(200_000, 1e-3),
        fixed(40_000, 1e-5),
        fixed(120_000, 1e-5),
        fixed(40_000, 1e-9),
        fixed(60_000, 1e-9),
        scaling(1_000, 0.01, 2),
        scaling(30, 1e-6, 3),
        scaling(500, 0.2, 1),
    ];
    for (spec, seed) in specs.into_iter().zip([0, 1, u64::MAX].into_iter().cycle()) {
        let (mut filter, mut model) = (new(spec, seed), Model::new(spec, seed));
        let count = if spec.growth == Growth::Fixed { spec.capacity } else { 40_000 };
        let items: Vec<[u8; 8]> = (0..count).map(u64::to_le_bytes).collect();
        for call in items.chunks(1_000) {
            let expected: Vec<Answer> = call.iter().map(|item| model.insert(item)).collect();
            assert_eq!(insert_batch(&mut filter, call), expected);
        }
        assert_same_bytes(&filter, &model);
        let strangers: Vec<[u8; 8]> = (count..count + 20_000).map(u64::to_le_bytes).collect();
        let expected: Vec<bool> = strangers.iter().map(|item| model.contains(item)).collect();
        assert_eq!(contains_batch(&filter, &strangers), expected);
        assert!(contains_batch(&filter, &items).into_iter().all(|present| present));
    }
}

fn contains_by<P: Backend>(backend: P, layer: &BlockedLayer, item: &[u8], seed: u64) -> bool {
    let hash = item_hash(item, seed);
    contains_spot(layer, backend, &layer.locate(&hash))
}

fn insert_by<P: Backend>(backend: P, layer: &mut BlockedLayer, item: &[u8], seed: u64) {
    let hash = item_hash(item, seed);
    layer.set(backend, &layer.locate(&hash));
}

/// Fills one filter in the way that this processor takes, another in a given way, and lets each way
/// read what the other wrote.
fn both_ways_agree<P: Backend>(backend: P, spec: Spec, seed: u64) -> (u8, u8) {
    let (mut dispatched, mut given) = (new(spec, seed), new(spec, seed));
    let items: Vec<[u8; 8]> = (0..spec.capacity).map(u64::to_le_bytes).collect();
    // What seems to be there has all its bits set, so setting them again changes nothing.
    insert_batch(&mut dispatched, &items);
    let layer = given.layers_mut().next().unwrap();
    items.iter().for_each(|item| insert_by(backend, layer, item, seed));

    let written = dispatched.layers().next().unwrap();
    let geometry = *written.geometry();
    assert!(
        written.as_bytes() == given.layers().next().unwrap().as_bytes(),
        "other bits: {geometry:?}"
    );
    // A thousand strangers too, of which one in four down to none is found.
    let asked: Vec<[u8; 8]> = (0..spec.capacity + 1_000).map(u64::to_le_bytes).collect();
    let expected: Vec<bool> =
        asked.iter().map(|item| contains_by(backend, written, item, seed)).collect();
    assert_eq!(contains_batch(&given, &asked), expected, "{geometry:?}");
    assert!(expected[..items.len()].iter().all(|found| *found), "{geometry:?}");
    (geometry.blocks_per_item(), geometry.bits_per_block())
}

#[test]
fn every_shape_of_the_table_is_written_and_read_alike_word_by_word_and_in_the_way_of_this_processor()
 {
    every_shape_is_written_and_read_alike(Scalar);
}

/// Compares the answers for prepared patterns, which groups take through many layers, with those
/// word by word.
fn prepared_patterns_are_tested_alike<P: Backend>(backend: P) {
    for bits in 1..=8 {
        let mut found = 0;
        for index in 0..10_000u64 {
            let random = |of: u64| item_hash(&index.to_le_bytes(), of).pattern;
            // One bit of 16 is missing, so that each answer is frequent.
            let block = Block(std::array::from_fn(|word| {
                (0..4).fold(0, |all, of| all | random(8 * of + word as u64))
            }));
            let pattern = random(u64::MAX);
            let expected = Scalar.test_once(&block, pattern, bits);
            assert_eq!(
                backend.test(&block, backend.prepare(pattern), bits),
                expected,
                "{pattern:#x} {block:x?}"
            );
            found += u32::from(expected);
        }
        assert!((5_000..9_900).contains(&found), "{found} of 10,000 with {bits} bits");
    }
}

#[test]
fn prepared_patterns_are_tested_alike_in_every_way_of_this_processor() {
    prepared_patterns_are_tested_alike(Scalar);
    #[cfg(target_arch = "x86_64")]
    {
        Avx2::detect().into_iter().for_each(prepared_patterns_are_tested_alike);
        Avx512::detect().into_iter().for_each(prepared_patterns_are_tested_alike);
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn every_shape_of_the_table_is_written_and_read_alike_by_vectors_of_each_width() {
    match Avx2::detect() {
        Some(backend) => every_shape_is_written_and_read_alike(backend),
        None => eprintln!("NOT TESTED: this processor has no AVX2"),
    }
    match Avx512::detect() {
        Some(backend) => every_shape_is_written_and_read_alike(backend),
        None => eprintln!("NOT TESTED: this processor has no AVX-512 with VBMI"),
    }
}

fn every_shape_is_written_and_read_alike<P: Backend>(backend: P) {
    let mut shapes = std::collections::BTreeSet::new();
    for index in 0..ROWS.len() {
        // The middle of the row, exactly.
        let low = if index.is_multiple_of(2) { 1.75 } else { 1.25 };
        let error_rate = low * (-3.0 - (index / 2) as f64).exp2();
        // A line, a page of a few, one page, several ones.
        for capacity in [1, 30, 700, 4_000] {
            shapes.insert(both_ways_agree(backend, fixed(capacity, error_rate), !(index as u64)));
        }
    }
    for row in &ROWS {
        assert!(shapes.contains(&(row.lines, row.bits_per_block)), "{row:?} was not tried");
    }
}

#[test]
fn a_grown_filter_is_read_layer_by_layer_word_by_word_as_in_the_way_of_this_processor() {
    for spec in [scaling(100, 0.01, 2), scaling(30, 1e-6, 3), scaling(500, 0.25, 1)] {
        let mut filter = new(spec, 7);
        let items: Vec<[u8; 8]> = (0..20_000u64).map(u64::to_le_bytes).collect();
        insert_batch(&mut filter, &items);
        assert!(filter.layer_count() > 4);
        let asked: Vec<[u8; 8]> = (0..40_000u64).map(u64::to_le_bytes).collect();
        let in_any =
            |item: &[u8; 8]| filter.layers().any(|layer| contains_by(Scalar, layer, item, 7));
        assert_eq!(
            contains_batch(&filter, &asked),
            asked.iter().map(in_any).collect::<Vec<bool>>()
        );
    }
}

#[test]
fn an_item_twice_in_one_call_is_new_once() {
    let mut filter = new(scaling(100, 0.01, 2), 7);
    let answers = insert_batch(&mut filter, &["b", "b", "", "c", "", "b"]);
    use Answer::{New, Seen};
    assert_eq!(answers, [New, Seen, New, New, Seen, Seen]);
    assert_eq!(filter.len(), 3);
}

#[test]
fn a_full_fixed_filter_answers_for_what_it_has_and_ends_a_call_at_the_first_item_it_has_not() {
    let mut filter = new(fixed(3, 0.001), 7);
    let answers = insert_batch(&mut filter, &["a", "b", "c", "a", "d", "e"]);
    use Answer::{Full, New, Seen};
    assert_eq!(answers, [New, New, New, Seen, Full]);
    let before = picture(&filter);
    assert_eq!(
        filter.insert(b"f", &mut |_| unreachable!("no memory is needed")),
        Err(Error::Full(3))
    );
    assert_eq!(
        (insert_batch(&mut filter, &["a", "c"]), filter.len(), filter.room()),
        (vec![Seen, Seen], 3, 0)
    );
    assert!(picture(&filter) == before);
}

#[test]
fn a_growth_that_is_refused_changes_nothing_and_may_be_granted_later() {
    let mut filter = new(scaling(50, 0.01, 2), 7);
    let mut item = 0u64;
    while filter.room() > 0 {
        filter.insert(&item.to_le_bytes(), &mut |_| true).unwrap();
        item += 1;
    }
    let (before, size) = (picture(&filter), filter.size_bytes());
    let mut asked = Vec::new();
    let mut refuse = |demand: Demand| {
        asked.push(demand);
        false
    };
    for _ in 0..3 {
        let result = filter.insert(b"new", &mut refuse);
        assert!(matches!(result, Err(Error::Refused(_))), "{result:?}");
        assert_eq!(filter.insert(&0u64.to_le_bytes(), &mut refuse), Ok(false));
    }
    assert!(picture(&filter) == before);
    assert_eq!((filter.size_bytes(), filter.contains(b"new")), (size, false));
    assert_eq!(asked.len(), 3, "asked when memory is needed, and only then");
    assert!(asked.iter().all(|demand| *demand == asked[0]));

    assert_eq!(filter.insert(b"new", &mut |demand| demand == asked[0]), Ok(true));
    let newest = filter.layers().next_back().unwrap().geometry().bytes();
    let filter_bytes = filter.size_bytes();
    let layout = Layout::Bloomline;
    assert_eq!(asked[0], Demand { new_bytes: newest, largest_layer: newest, filter_bytes, layout });
    assert_eq!((filter.layer_count(), filter.newest_len()), (2, 1));
}

#[test]
fn a_refused_growth_in_a_call_does_not_stop_the_answers_for_items_it_has() {
    let mut filter = new(scaling(2, 0.001, 2), 7);
    insert_batch(&mut filter, &["a", "b"]);
    let (mut answers, items) = (Vec::new(), ["c", "a", "d", "b"].map(str::as_bytes));
    filter.insert_batch(items.into_iter(), &mut |_| false, |result| answers.push(answer(result)));
    use Answer::{CannotGrow, Seen};
    assert_eq!(answers, [CannotGrow, Seen, CannotGrow, Seen]);
}

#[test]
fn memory_is_asked_for_only_after_the_permit() {
    // Four terabytes: this would fail, or hurt, if it were asked for.
    let mut asked = None;
    let result = Filter::new(fixed(1 << 40, 1e-6), 7, &mut |demand| {
        asked = Some(demand);
        false
    });
    let demand = asked.unwrap();
    assert_eq!(result.err(), Some(Error::Refused(demand.filter_bytes)));
    assert!(
        demand.new_bytes > 3 << 40 && demand.filter_bytes - demand.new_bytes == 96,
        "{demand:?}"
    );
    // A number out of range is said before the limit is asked.
    let unasked = &mut |_| unreachable!("nothing to ask for");
    assert_eq!(Filter::new(fixed(0, 0.01), 7, unasked).err(), Some(Error::Capacity(0)));
    assert_eq!(Filter::new(scaling(9, 0.01, 0), 7, unasked).err(), Some(Error::Expansion(0)));
    assert_eq!(
        Filter::new(scaling(9, 0.01, 32_769), 7, unasked).err(),
        Some(Error::Expansion(32_769))
    );
    assert_eq!(Filter::new(scaling(9, 0.3, 2), 7, unasked).err(), Some(Error::ErrorRate(0.3)));
}

#[test]
fn every_layer_gets_its_part_of_what_the_older_ones_left() {
    let mut filter = new(scaling(100, 0.01, 2), 7);
    let items: Vec<[u8; 8]> = (0..100_000u64).map(u64::to_le_bytes).collect();
    insert_batch(&mut filter, &items);
    let errors: Vec<f64> = filter.layer_errors().collect();
    assert_eq!((errors.len(), errors[0]), (filter.layer_count() as usize, 0.005));
    let mut spent = 0.0;
    for ((index, layer), error) in filter.layers().enumerate().zip(errors) {
        assert_eq!(error, (0.01 - spent) / (index as f64 + 2.0), "layer {index}");
        // The shares add up to 1 if every layer uses all of its own.
        assert!(error >= 0.01 / ((index as f64 + 1.0) * (index as f64 + 2.0)), "layer {index}");
        spent += layer.fp_rate(layer.capacity());
    }
    assert!(spent < 0.01);
}

/// Lookups in a far layer go in two waves; nothing but speed may depend on it.
#[test]
fn far_layers_answer_a_batch_as_they_answer_one_by_one() {
    let wide = scaling(9_000_000, 0.01, 2);
    let mut filters = [
        AnyFilter::from(new(wide, 7)),
        AnyFilter::redisbloom(wide, 2, &mut |_| true).unwrap(),
        AnyFilter::from(new(scaling(1_000, 0.01, 20_000), 7)),
        AnyFilter::redisbloom(scaling(1_000, 0.01, 20_000), 20_000, &mut |_| true).unwrap(),
    ];
    let items: Vec<[u8; 8]> = (0..30_000u64).map(u64::to_le_bytes).collect();
    for filter in &mut filters {
        let mut single = filter.try_clone(&mut |_| true).unwrap();
        let mut answers = Vec::new();
        filter.insert_batch(items.iter().map(AsRef::as_ref), &mut |_| true, |result| {
            answers.push(result)
        });
        assert!(items.iter().map(|item| single.insert(item, &mut |_| true)).eq(answers));
        let bits = |filter: &AnyFilter| {
            let mut bits = Vec::new();
            filter.each_layer(|words| bits.push(words.as_bytes().to_vec()));
            bits
        };
        assert!(bits(filter) == bits(&single), "other bits than one by one");
        assert!(filter.size_bytes() > 10 << 20);
        let asked: Vec<[u8; 8]> = (15_000..60_000u64).map(u64::to_le_bytes).collect();
        let mut answers = Vec::new();
        filter.contains_batch(asked.iter().map(AsRef::as_ref), |present| answers.push(present));
        assert_eq!(answers, asked.iter().map(|item| filter.contains(item)).collect::<Vec<bool>>());
        assert!(answers[..15_000].iter().all(|&present| present));
        assert!(answers[15_000..].iter().filter(|&&present| present).count() < 600);
    }
}
