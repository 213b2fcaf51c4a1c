//! Filters recorded from valkey-bloom: equal bytes, replies and answers.

use bloomline_reference::valkey::{Answer, Model, pair};
use bloomline_reference::valkey_fixture::{Recorded, recorded};

/// The reference model of a filter before any item was added.
fn empty_model(filter: &Recorded) -> Model {
    let (_, expansion, rate, tightening, is_random) = filter.head();
    let (capacity, seed) = filter.first_layer();
    let model = Model::new(capacity, rate, expansion, tightening, seed);
    assert_eq!(model.is_random, is_random, "{}", filter.name);
    model
}

#[test]
fn the_model_agrees_with_recorded_filters() {
    for filter in recorded() {
        let mut model = empty_model(&filter);
        let mut replies = String::new();
        for item in filter.items() {
            match model.insert(&item) {
                Answer::New => replies.push('1'),
                Answer::Seen => replies.push('0'),
                Answer::Full | Answer::CannotGrow => {
                    replies.push('-');
                    break;
                }
            }
        }
        assert_eq!(replies, filter.replies(), "{}", filter.name);
        assert!(model.fields() == filter.fields, "{}", filter.name);
        for (item, answer) in filter.absent() {
            assert_eq!(model.contains(&item), answer, "{}", filter.name);
        }
        let found = (0..3000).filter(|n| model.contains(format!("absent:{n}").as_bytes())).count();
        assert_eq!(found as u64, filter.false_positives(), "{}", filter.name);
        let capacity = model.layers.iter().map(|layer| layer.capacity).sum();
        for (name, value) in [
            ("Capacity", capacity),
            ("Size", model.size()),
            ("Number of filters", model.layers.len() as u64),
            ("Number of items inserted", model.len()),
        ] {
            assert_eq!(filter.info(name), Some(value), "{}: {name}", filter.name);
        }
    }
}

#[test]
fn items_of_the_documentation_have_its_hashes() {
    let seed = &bloomline_reference::valkey::FIXED_SEED;
    assert_eq!(pair(seed, b""), (0x61ec_3bc3_3753_f4d6, 0x0aa4_a395_4a19_4204));
    assert_eq!(pair(seed, b"a"), (0x1980_7c47_e864_9714, 0x7244_f273_6f0f_b39a));
}
