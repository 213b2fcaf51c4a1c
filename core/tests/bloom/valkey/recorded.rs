//! Filters recorded from valkey-bloom: equal bytes, replies and answers.

use bloomline_core::Error;
use bloomline_core::host::valkey::{FIXED_SEED, ValkeyFilter, ValkeyParams};
use bloomline_core::host::{AnyFilter, Demand, Growth};
use bloomline_reference::calls::Calls;
use bloomline_reference::checks::check::assert_reloads;
use bloomline_reference::payload::{Field, FieldReader, FieldWriter, Payload};
use bloomline_reference::valkey::{Answer, Model, pair};
use bloomline_reference::valkey_fixture::{Recorded, file, load_payloads, recorded};

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

fn granted(_: Demand) -> bool {
    true
}

/// The filter before any item was added.
fn empty(filter: &Recorded) -> ValkeyFilter {
    let (_, expansion, error_rate, tightening, is_random) = filter.head();
    let (capacity, seed) = filter.first_layer();
    let params = ValkeyParams { expansion, error_rate, tightening, seed, is_random };
    ValkeyFilter::new(capacity, params, &mut granted).expect("a filter")
}

fn fields(filter: &ValkeyFilter) -> Vec<Field> {
    let mut writer = FieldWriter::default();
    filter.encode_fields(&mut writer).expect("memory");
    writer.0
}

fn decoded(fields: &[Field]) -> ValkeyFilter {
    let mut reader = FieldReader(fields);
    let filter = ValkeyFilter::decode_fields(&mut reader, &mut granted).expect("a filter");
    assert!(reader.0.is_empty());
    filter
}

#[test]
fn filters_are_filled_as_recorded() {
    for recorded in recorded() {
        let mut filter = empty(&recorded);
        let mut replies = String::new();
        for group in recorded.items().chunks(1_000) {
            filter.insert_each(
                &mut group.iter().map(Vec::as_slice),
                0,
                &mut granted,
                &mut |result| {
                    replies.push(match result {
                        Ok(true) => '1',
                        Ok(false) => '0',
                        Err(_) => '-',
                    });
                },
            );
        }
        assert_eq!(replies, recorded.replies(), "{}", recorded.name);
        assert!(fields(&filter) == recorded.fields, "{}", recorded.name);
    }
}

#[test]
fn recorded_payloads_give_equal_bytes_and_answers() {
    for recorded in recorded() {
        let name = &recorded.name;
        let filter = decoded(&recorded.fields);
        assert!(fields(&filter) == recorded.fields, "{name}");
        let payload = filter.encode_payload().expect("memory");
        let copy = ValkeyFilter::decode_payload(&payload, &mut granted).expect("a filter");
        assert!(fields(&copy) == recorded.fields, "{name}");
        for (item, answer) in recorded.absent() {
            assert_eq!(filter.contains_item(&item, 0), answer, "{name}");
        }
        let absent: Vec<_> = (0..3000).map(|n| format!("absent:{n}").into_bytes()).collect();
        let mut found = 0;
        filter.contains_each(&mut absent.iter().map(AsRef::as_ref), 0, &mut |is_in| {
            found += u64::from(is_in)
        });
        assert_eq!(found, recorded.false_positives(), "{name}");
        let added = recorded.items();
        let replies = recorded.replies();
        filter.contains_each(
            &mut added.iter().take(replies.trim_end_matches('-').len()).map(AsRef::as_ref),
            0,
            &mut |is_in| {
                assert!(is_in, "{name}");
            },
        );
        // The rate of layer 1,016.
        const LEAST: Error = Error::ErrorRateTooSmall(1.424047269444609e-308);
        let limit = 128 << 20;
        let spec = filter.spec();
        let reach = ValkeyFilter::reach(spec.capacity, filter.params(), limit).expect("a reach");
        if let Growth::Scaling { .. } = spec.growth {
            assert_eq!(recorded.info("Max scaled capacity"), Some(reach.capacity), "{name}");
            match reach.end {
                Error::Refused(bytes) => assert!(bytes > limit),
                other => assert_eq!((name.as_str(), other), ("expansion-1", LEAST)),
            }
        }
        for (field, value) in [
            ("Capacity", filter.capacity()),
            ("Size", filter.size_bytes()),
            ("Number of filters", filter.layer_count().into()),
            ("Number of items inserted", filter.len()),
        ] {
            assert_eq!(recorded.info(field), Some(value), "{name}: {field}");
        }
        let filter = AnyFilter::from(filter);
        filter.check().expect("valid");
        assert_reloads(&filter);
    }
}

#[test]
fn first_layers_have_any_rate() {
    let params = ValkeyParams {
        expansion: 2,
        error_rate: 0.0,
        tightening: 0.5,
        seed: FIXED_SEED,
        is_random: false,
    };
    for error_rate in [5e-324, 1e-310, f64::MIN_POSITIVE, 0.9999999999999999] {
        let params = ValkeyParams { error_rate, ..params };
        let mut filter = ValkeyFilter::new(100, params, &mut granted).expect("a filter");
        for number in 0..100u64 {
            filter.insert_item(&number.to_le_bytes(), 0, &mut granted).expect("room");
        }
        let copy = decoded(&fields(&filter));
        assert!(fields(&copy) == fields(&filter), "{error_rate}");
        let payload = filter.encode_payload().expect("memory");
        let copy = ValkeyFilter::decode_payload(&payload, &mut granted).expect("a filter");
        assert!(fields(&copy) == fields(&filter), "{error_rate}");
        assert_reloads(&AnyFilter::from(copy));
        if error_rate < 0.5 {
            let full = filter.insert_item(b"a further item", 0, &mut granted);
            assert!(matches!(full, Err(Error::ErrorRateTooSmall(_))), "{full:?}");
        }
    }
}

#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn copies_of_untouched_filters_take_no_memory() {
    use bloomline_core::memory::pages::visit_touched;
    use bloomline_core::stream::WriteFields;
    use std::ops::ControlFlow;

    /// Bytes of the largest string, and how many of them may have been touched.
    #[derive(Default)]
    struct Touched(usize, usize);

    impl Touched {
        fn see(&mut self, bytes: &[u8]) {
            (self.0, self.1) = (bytes.len(), 0);
            visit_touched(bytes, |range| {
                self.1 += range.len();
                ControlFlow::Continue(())
            });
        }
    }

    impl WriteFields for Touched {
        fn unsigned(&mut self, _: u64) {}
        fn number(&mut self, _: f64) {}
        fn string(&mut self, bytes: &[u8]) {
            self.see(bytes);
        }
    }

    let params = ValkeyParams {
        expansion: 2,
        error_rate: 0.01,
        tightening: 0.5,
        seed: FIXED_SEED,
        is_random: false,
    };
    let mut filter = ValkeyFilter::new(200_000_000, params, &mut granted).expect("a filter");
    filter.insert_item(b"item", 0, &mut granted).expect("room");
    let mut touched = Touched::default();
    filter.encode_fields(&mut touched).expect("memory");
    // Also with huge pages of 2 MB, eight of which the item and the ends can touch.
    assert!(touched.0 > 200 << 20 && touched.1 <= 20 << 20, "{} of {}", touched.1, touched.0);
    touched.see(&filter.encode_payload().expect("memory"));
    assert!(touched.0 > 200 << 20 && touched.1 <= 20 << 20, "{} of {}", touched.1, touched.0);
}

#[test]
fn recorded_payloads_of_bf_load_give_equal_bytes() {
    for (name, payload) in load_payloads() {
        let filter = ValkeyFilter::decode_payload(&payload, &mut granted).expect("a filter");
        assert!(*filter.encode_payload().expect("memory") == *payload, "{name}");
        let copy = decoded(&fields(&filter));
        assert!(*copy.encode_payload().expect("memory") == *payload, "{name}");
        AnyFilter::from(filter).check().expect("valid");
    }
    let dumped = decoded(&Payload::parse(&file("annotated.dump")).fields);
    assert!(*dumped.encode_payload().expect("memory") == *file("annotated.load"));
}
