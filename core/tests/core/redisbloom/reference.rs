//! RedisBloom's layout, with 32-bit and 64-bit hashes, compared with a reference model that
//! computes with 128 bits.

use bloomline_core::Error;
use bloomline_core::host::{AnyFilter, Demand, Insertion};
use bloomline_core::redisbloom::geometry::Options;
use bloomline_core::redisbloom::indexes::Modulus;
use bloomline_core::redisbloom::{ClassicFilter, Common};
use proptest::prelude::*;

use bloomline_reference::redisbloom::{Answer, Model, ModelLayer, Plan};

fn granted(_: Demand) -> bool {
    true
}

fn answer(result: Result<Insertion, Error>) -> Answer {
    match result {
        Ok(Insertion::New) => Answer::New,
        Ok(Insertion::Present) => Answer::Seen,
        Ok(Insertion::Refreshed) => panic!("the filter has no window"),
        Err(Error::Full(_)) => Answer::Full,
        Err(_) => Answer::CannotGrow,
    }
}

fn assert_equal(filter: &AnyFilter, model: &Model) {
    let mut bits = Vec::new();
    filter.each_layer(|words| bits.push(words.as_bytes().to_vec()));
    assert_eq!(bits.len(), model.layers.len());
    for (layer, expected) in bits.iter().zip(&model.layers) {
        assert!(layer == expected.bits.as_raw_slice());
    }
    let len: u64 = model.layers.iter().map(|layer| layer.len).sum();
    assert_eq!(filter.len(), len);
}

/// Inserts the items into both, in batches of `group` or one by one, and tests both for these and
/// other items.
fn drive(filter: &mut AnyFilter, model: &mut Model, items: &[Vec<u8>], group: usize) {
    for items in items.chunks(group) {
        let mut answers = Vec::new();
        if group == 1 {
            answers.push(answer(filter.insert(&items[0], &mut granted)));
        } else {
            let items = items.iter().map(Vec::as_slice);
            filter.insert_batch(items, &mut granted, |result| answers.push(answer(result)));
        }
        // A batch ends at the first item that a full filter refuses.
        let expected: Vec<Answer> =
            items[..answers.len()].iter().map(|item| model.insert(item)).collect();
        assert_eq!(answers, expected);
        assert!(answers.len() == items.len() || answers.last() == Some(&Answer::Full));
    }
    assert_equal(filter, model);
    let tested: Vec<Vec<u8>> =
        items.iter().cloned().chain((0..200u32).map(|i| i.to_be_bytes().to_vec())).collect();
    let mut answers = Vec::new();
    filter.contains_batch(tested.iter().map(Vec::as_slice), 0, |is| answers.push(is));
    let expected: Vec<bool> = tested.iter().map(|item| model.contains(item)).collect();
    assert_eq!(answers, expected);
}

fn items() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn filters_equal_the_reference_model(
        options in prop::sample::select(vec![0u32, 1, 4, 5, 8, 9, 12, 13]),
        capacity in 1u64..120,
        exponent in 0.6f64..12.0,
        expansion in 1u32..5,
        items in items(),
        group in prop::sample::select(vec![1usize, 3, 64, 100]),
    ) {
        let error = 10f64.powf(-exponent);
        let common = Common { options: Options::from_bits(options), expansion };
        let mut filter = AnyFilter::from(ClassicFilter::new(capacity, error, common, &mut granted).unwrap());
        let first = if options & 8 == 0 { error * 0.5 } else { error };
        let layer = ModelLayer::new(Plan::new(options, capacity, first).unwrap());
        let mut model = Model { options, expansion: expansion.into(), layers: vec![layer] };
        drive(&mut filter, &mut model, &items, group);
    }

    #[test]
    fn any_number_of_bits_equals_the_reference_model(
        is_64_bit in any::<bool>(),
        words in 1u64..5_000,
        power in 0u8..19,
        hashes in 1u32..60,
        items in items(),
    ) {
        let bits = words * 64;
        let log2_bits = if 1u64 << power <= bits { power } else { 0 };
        let plan = Plan { capacity: 1_000, error: 0.01, hashes, bits, log2_bits };
        let options = if is_64_bit { 13u32 } else { 9 };
        let per_item = (f64::from(hashes) - 0.5) / 0.693147180559945;
        let header = [
            &0u64.to_le_bytes()[..], &1u32.to_le_bytes(), &options.to_le_bytes(), &2u32.to_le_bytes(),
            &(bits / 8).to_le_bytes(), &bits.to_le_bytes(), &0u64.to_le_bytes(),
            &plan.error.to_le_bytes(), &per_item.to_le_bytes(), &hashes.to_le_bytes(),
            &plan.capacity.to_le_bytes(), &[log2_bits],
        ].concat();
        let mut filter = AnyFilter::decode_header(&header, &mut granted).unwrap();
        prop_assert_eq!(filter.encode_header(), header);
        let mut model = Model { options, expansion: 2, layers: vec![ModelLayer::new(plan)] };
        drive(&mut filter, &mut model, &items, 64);
    }
}

#[test]
fn barrett_reduction_equals_division_at_every_edge() {
    let edges = |around: u64| [around.wrapping_sub(1), around, around.wrapping_add(1)];
    let values = (1..64)
        .flat_map(|bit| edges(1 << bit))
        .chain([3 << 62, u64::MAX])
        .filter(|&value| value >= 2);
    for value in values {
        let modulus = Modulus::new(value);
        let multiples = [1, 2, 3, u64::MAX / value - 1, u64::MAX / value]
            .map(|times| value.wrapping_mul(times));
        for n in [0, 1 << 32, 1 << 63].into_iter().chain(multiples).flat_map(edges) {
            assert_eq!(modulus.reduce(n), n % value, "{n} modulo {value}");
        }
    }
}
