//! Large filters compared with the reference model, backends with each other, and batches with
//! single calls. `bloomline_reference::life` compares random programs.

use bloomline_core::bloom::bloomline::BlockedLayer;
use bloomline_core::bloom::bloomline::sizing::ROWS;
use bloomline_core::hash::xxh3::item_hash;
use bloomline_core::host::{AnyFilter, Demand, Filter, Growth, Spec};
use bloomline_core::simd::{Backend, Block, Scalar};
use bloomline_core::{Error, Layout};
use bloomline_reference::bloomline::{Answer, Model};
use bloomline_reference::calls::Calls;

use crate::filters::{any, assert_equals_model, fixed, new, scaling, state};

fn answer(result: Result<bool, Error>) -> Answer {
    match result {
        Ok(true) => Answer::New,
        Ok(false) => Answer::Seen,
        Err(Error::Full(_)) => Answer::Full,
        Err(_) => Answer::CannotGrow,
    }
}

fn insert_batch<T: AsRef<[u8]>>(filter: &mut Filter, items: &[T]) -> Vec<Answer> {
    let mut answers = Vec::new();
    filter.insert_each(&mut items.iter().map(AsRef::as_ref), 0, &mut |_| true, &mut |result| {
        answers.push(answer(result))
    });
    answers
}

fn contains_batch<T: AsRef<[u8]>>(filter: &Filter, items: &[T]) -> Vec<bool> {
    let mut answers = Vec::new();
    filter.contains_each(&mut items.iter().map(AsRef::as_ref), 0, &mut |present| {
        answers.push(present)
    });
    answers
}

#[test]
fn large_filters_equal_the_reference_model() {
    // One to four blocks per item; pages of less than 64 blocks, whole pages, and growth from one
    // to the other.
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
        assert_equals_model(&filter, &model);
        let absent: Vec<[u8; 8]> = (count..count + 20_000).map(u64::to_le_bytes).collect();
        let expected: Vec<bool> = absent.iter().map(|item| model.contains(item)).collect();
        assert_eq!(contains_batch(&filter, &absent), expected);
        assert!(contains_batch(&filter, &items).into_iter().all(|present| present));
    }
}

fn contains_by<P: Backend>(backend: P, layer: &BlockedLayer, item: &[u8], seed: u64) -> bool {
    let hash = item_hash(item, seed);
    layer.contains(backend, &layer.locate(&hash))
}

fn insert_by<P: Backend>(backend: P, layer: &mut BlockedLayer, item: &[u8], seed: u64) {
    let hash = item_hash(item, seed);
    layer.set(backend, &layer.locate(&hash));
}

/// Fills one filter with the backend of this processor and another one with a given backend, and
/// tests each with the other backend. Returns blocks per item and bits per block.
fn assert_backend_agrees<P: Backend>(backend: P, spec: Spec, seed: u64) -> (u8, u8) {
    let (mut dispatched, mut given) = (new(spec, seed), new(spec, seed));
    let items: Vec<[u8; 8]> = (0..spec.capacity).map(u64::to_le_bytes).collect();
    // An item that seems to be present has all its bits set, so setting them again changes nothing.
    insert_batch(&mut dispatched, &items);
    let layer = given.layers_mut().next().unwrap();
    items.iter().for_each(|item| insert_by(backend, layer, item, seed));

    let written = dispatched.layers().next().unwrap();
    let geometry = *written.geometry();
    assert!(
        written.words().as_bytes() == given.layers().next().unwrap().words().as_bytes(),
        "the bits differ: {geometry:?}"
    );
    // The items and a thousand absent ones, of which up to a quarter are false positives.
    let tested: Vec<[u8; 8]> = (0..spec.capacity + 1_000).map(u64::to_le_bytes).collect();
    let expected: Vec<bool> =
        tested.iter().map(|item| contains_by(backend, written, item, seed)).collect();
    assert_eq!(contains_batch(&given, &tested), expected, "{geometry:?}");
    assert!(expected[..items.len()].iter().all(|found| *found), "{geometry:?}");
    (geometry.blocks_per_item(), geometry.bits_per_block())
}

/// Compares the answers of a backend for prepared patterns, which batches use for filters of many
/// layers, with those of the scalar backend.
fn assert_prepared_patterns_agree<P: Backend>(backend: P) {
    for bits in 1..=8 {
        let mut found = 0;
        for index in 0..10_000u64 {
            let random = |of: u64| item_hash(&index.to_le_bytes(), of).pattern;
            // One bit of 16 is not set, so that both answers are frequent.
            let block = Block(std::array::from_fn(|sector| {
                (0..4).fold(0, |all, of| all | random(8 * of + sector as u64))
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
fn backends_agree_on_prepared_patterns() {
    with_each_backend!(assert_prepared_patterns_agree());
}

#[test]
fn backends_agree_with_the_dispatched_one_on_every_shape() {
    with_each_backend!(assert_backend_agrees_on_every_shape());
}

fn assert_backend_agrees_on_every_shape<P: Backend>(backend: P) {
    let mut shapes = std::collections::BTreeSet::new();
    for index in 0..ROWS.len() {
        // Exactly the middle of the row.
        let low = if index.is_multiple_of(2) { 1.75 } else { 1.25 };
        let error_rate = low * (-3.0 - (index / 2) as f64).exp2();
        // One block, a page of a few blocks, one page, several pages.
        for capacity in [1, 30, 700, 4_000] {
            shapes.insert(assert_backend_agrees(
                backend,
                fixed(capacity, error_rate),
                !(index as u64),
            ));
        }
    }
    for row in &ROWS {
        assert!(
            shapes.contains(&(row.blocks_per_item, row.bits_per_block)),
            "{row:?} was not tested"
        );
    }
}

#[test]
fn scalar_and_dispatched_backend_agree_on_grown_filters() {
    for spec in [scaling(100, 0.01, 2), scaling(30, 1e-6, 3), scaling(500, 0.25, 1)] {
        let mut filter = new(spec, 7);
        let items: Vec<[u8; 8]> = (0..20_000u64).map(u64::to_le_bytes).collect();
        insert_batch(&mut filter, &items);
        assert!(filter.layer_count() > 4);
        let tested: Vec<[u8; 8]> = (0..40_000u64).map(u64::to_le_bytes).collect();
        let in_any =
            |item: &[u8; 8]| filter.layers().any(|layer| contains_by(Scalar, layer, item, 7));
        assert_eq!(
            contains_batch(&filter, &tested),
            tested.iter().map(in_any).collect::<Vec<bool>>()
        );
    }
}

/// Lookups test small layers after the others, which may stand before them.
#[test]
fn items_of_small_layers_are_found_wherever_they_stand() {
    let mut mixed = 0;
    for error_rate in [0.25, 0.2, 0.1, 0.01, 1e-3] {
        for (capacity, expansion) in [(100, 2), (60, 1), (1, 2), (7, 3)] {
            let (spec, items) = (scaling(capacity, error_rate, expansion), 0..3_000u64);
            let (mut filter, mut model) = (new(spec, 7), Model::new(spec, 7));
            let items: Vec<[u8; 8]> = items.map(u64::to_le_bytes).collect();
            insert_batch(&mut filter, &items);
            for item in &items {
                model.insert(item);
            }
            assert_equals_model(&filter, &model);
            let is_small: Vec<bool> =
                filter.layers().map(|layer| layer.geometry().is_small()).collect();
            mixed += u32::from(is_small.windows(2).any(|pair| pair == [false, true]));
            let tested: Vec<[u8; 8]> = (0..6_000u64).map(u64::to_le_bytes).collect();
            let expected: Vec<bool> = tested.iter().map(|item| model.contains(item)).collect();
            assert_eq!(contains_batch(&filter, &tested), expected, "{spec:?}");
            let singly: Vec<bool> =
                tested.iter().map(|item| filter.contains_item(item, 0)).collect();
            assert_eq!(singly, expected, "{spec:?}");
        }
    }
    assert!(mixed > 2, "{mixed} filters have a small layer after another one");
}

#[test]
fn item_twice_in_one_call_is_new_once() {
    let mut filter = new(scaling(100, 0.01, 2), 7);
    let answers = insert_batch(&mut filter, &["b", "b", "", "c", "", "b"]);
    use Answer::{New, Seen};
    assert_eq!(answers, [New, Seen, New, New, Seen, Seen]);
    assert_eq!(filter.len(), 3);
}

#[test]
fn full_fixed_filter_ends_a_call_at_the_first_new_item() {
    let mut filter = new(fixed(3, 0.001), 7);
    let answers = insert_batch(&mut filter, &["a", "b", "c", "a", "d", "e"]);
    use Answer::{Full, New, Seen};
    assert_eq!(answers, [New, New, New, Seen, Full]);
    let before = state(&any(&filter));
    assert_eq!(
        filter.insert_item(b"f", 0, &mut |_| unreachable!("no memory is needed")),
        Err(Error::Full(3))
    );
    assert_eq!(
        (insert_batch(&mut filter, &["a", "c"]), filter.len(), filter.room()),
        (vec![Seen, Seen], 3, 0)
    );
    assert!(state(&any(&filter)) == before);
}

#[test]
fn refused_growth_changes_nothing_and_can_be_granted_later() {
    let mut filter = new(scaling(50, 0.01, 2), 7);
    let mut item = 0u64;
    while filter.room() > 0 {
        filter.insert_item(&item.to_le_bytes(), 0, &mut |_| true).unwrap();
        item += 1;
    }
    let (before, size) = (state(&any(&filter)), filter.size_bytes());
    let mut demands = Vec::new();
    let mut refuse = |demand: Demand| {
        demands.push(demand);
        false
    };
    for _ in 0..3 {
        let result = filter.insert_item(b"new", 0, &mut refuse);
        assert!(matches!(result, Err(Error::Refused(_))), "{result:?}");
        assert_eq!(filter.insert_item(&0u64.to_le_bytes(), 0, &mut refuse), Ok(false));
    }
    assert!(state(&any(&filter)) == before);
    assert_eq!((filter.size_bytes(), filter.contains_item(b"new", 0)), (size, false));
    assert_eq!(demands.len(), 3, "one demand per item that needs memory");
    assert!(demands.iter().all(|demand| *demand == demands[0]));

    assert_eq!(filter.insert_item(b"new", 0, &mut |demand| demand == demands[0]), Ok(true));
    let newest = filter.layers().next_back().unwrap().geometry().bytes();
    let filter_bytes = filter.size_bytes();
    let layout = Layout::Bloomline;
    assert_eq!(
        demands[0],
        Demand { new_bytes: newest, largest_layer: newest, filter_bytes, layout, tables: 0 }
    );
    assert_eq!((filter.layer_count(), filter.newest_len()), (2, 1));
}

#[test]
fn refused_growth_does_not_end_a_call() {
    let mut filter = new(scaling(2, 0.001, 2), 7);
    insert_batch(&mut filter, &["a", "b"]);
    let (mut answers, items) = (Vec::new(), ["c", "a", "d", "b"].map(str::as_bytes));
    filter.insert_each(&mut items.into_iter(), 0, &mut |_| false, &mut |result| {
        answers.push(answer(result))
    });
    use Answer::{CannotGrow, Seen};
    assert_eq!(answers, [CannotGrow, Seen, CannotGrow, Seen]);
}

#[test]
fn memory_is_allocated_only_after_the_permit() {
    // Four terabytes, whose allocation would fail.
    let mut demanded = None;
    let result = Filter::new(fixed(1 << 40, 1e-6), 7, &mut |demand| {
        demanded = Some(demand);
        false
    });
    let demand = demanded.unwrap();
    assert_eq!(result.err(), Some(Error::Refused(demand.filter_bytes)));
    assert!(
        demand.new_bytes > 3 << 40 && demand.filter_bytes - demand.new_bytes == 96,
        "{demand:?}"
    );
    // A number out of range is refused before the permit is called.
    let uncalled = &mut |_| unreachable!("the permit is called for invalid numbers");
    assert_eq!(Filter::new(fixed(0, 0.01), 7, uncalled).err(), Some(Error::Capacity(0)));
    assert_eq!(Filter::new(scaling(9, 0.01, 0), 7, uncalled).err(), Some(Error::Expansion(0)));
    assert_eq!(
        Filter::new(scaling(9, 0.01, 32_769), 7, uncalled).err(),
        Some(Error::Expansion(32_769))
    );
    assert_eq!(Filter::new(scaling(9, 0.3, 2), 7, uncalled).err(), Some(Error::ErrorRate(0.3)));
}

#[test]
fn each_layer_gets_its_share_of_the_error_budget() {
    let mut filter = new(scaling(100, 0.01, 2), 7);
    let items: Vec<[u8; 8]> = (0..100_000u64).map(u64::to_le_bytes).collect();
    insert_batch(&mut filter, &items);
    let errors: Vec<f64> = filter.layer_errors().collect();
    assert_eq!((errors.len(), errors[0]), (filter.layer_count() as usize, 0.005));
    let mut older_rates = 0.0;
    for ((index, layer), error) in filter.layers().enumerate().zip(errors) {
        assert_eq!(error, (0.01 - older_rates) / (index as f64 + 2.0), "layer {index}");
        // These shares add up to 1 if every layer reaches its target rate.
        assert!(error >= 0.01 / ((index as f64 + 1.0) * (index as f64 + 2.0)), "layer {index}");
        older_rates += layer.fp_rate(layer.capacity());
    }
    assert!(older_rates < 0.01);
}

/// Large layers prefetch in two stages, which must affect only the speed.
#[test]
fn batches_equal_single_calls_in_large_layers() {
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
        filter.insert_each(&mut items.iter().map(AsRef::as_ref), 0, &mut |_| true, &mut |result| {
            answers.push(result)
        });
        assert!(items.iter().map(|item| single.insert_item(item, 0, &mut |_| true)).eq(answers));
        let bits = |filter: &AnyFilter| {
            let mut bits = Vec::new();
            filter.each_layer(|words| bits.push(words.as_bytes().to_vec()));
            bits
        };
        assert!(bits(filter) == bits(&single), "the bits differ from those of single calls");
        assert!(filter.size_bytes() > 10 << 20);
        let tested: Vec<[u8; 8]> = (15_000..60_000u64).map(u64::to_le_bytes).collect();
        let mut answers = Vec::new();
        filter.contains_each(&mut tested.iter().map(AsRef::as_ref), 0, &mut |present| {
            answers.push(present)
        });
        assert_eq!(
            answers,
            tested.iter().map(|item| filter.contains_item(item, 0)).collect::<Vec<bool>>()
        );
        assert!(answers[..15_000].iter().all(|&present| present));
        assert!(answers[15_000..].iter().filter(|&&present| present).count() < 600);
    }
}
