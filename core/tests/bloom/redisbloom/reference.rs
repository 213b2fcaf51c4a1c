//! Layers of any number of bits in RedisBloom's layout, with 32-bit and 64-bit hashes, compared
//! with a reference model that computes with 128 bits.

use bloomline_core::Error;
use bloomline_core::bloom::classic::indexes::Modulus;
use bloomline_core::host::{AnyFilter, Demand, Insertion};
use bloomline_reference::calls::Calls;
use bloomline_reference::life::choices::Choices;
use bloomline_reference::life::steps::item;
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
            answers.push(answer(filter.insert_item(&items[0], 0, &mut granted)));
        } else {
            let mut items = items.iter().map(Vec::as_slice);
            filter.insert_each(&mut items, 0, &mut granted, &mut |result| {
                answers.push(answer(result))
            });
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
    filter.contains_each(&mut tested.iter().map(Vec::as_slice), 0, &mut |is| answers.push(is));
    let expected: Vec<bool> = tested.iter().map(|item| model.contains(item)).collect();
    assert_eq!(answers, expected);
}

#[test]
fn any_number_of_bits_equals_the_reference_model() {
    for seed in 0..if cfg!(miri) { 2 } else { 200 } {
        let choices = &mut Choices::of_seed(seed);
        let (bits, power) = (choices.within(1..=5_000) * 64, choices.below(19) as u8);
        let log2_bits = if 1u64 << power <= bits { power } else { 0 };
        let hashes = choices.within(1..=59) as u32;
        let plan = Plan { capacity: 1_000, error: 0.01, hashes, bits, log2_bits };
        let options = choices.of(&[13u32, 9]);
        let per_item = (f64::from(hashes) - 0.5) / 0.693147180559945;
        let header = [
            &0u64.to_le_bytes()[..],
            &1u32.to_le_bytes(),
            &options.to_le_bytes(),
            &2u32.to_le_bytes(),
            &(bits / 8).to_le_bytes(),
            &bits.to_le_bytes(),
            &0u64.to_le_bytes(),
            &plan.error.to_le_bytes(),
            &per_item.to_le_bytes(),
            &hashes.to_le_bytes(),
            &plan.capacity.to_le_bytes(),
            &[log2_bits],
        ]
        .concat();
        let mut filter = AnyFilter::decode_header(&header, &mut granted).unwrap();
        assert_eq!(filter.encode_header(), header);
        let mut model = Model { options, expansion: 2, layers: vec![ModelLayer::new(plan)] };
        let items = (0..choices.within(1..=400)).map(|_| item(choices.any())).collect::<Vec<_>>();
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
