//! Filters in this project's layout compared with their reference model, byte by byte: sizes one by
//! one, and batches. `bloomline_reference::life` compares random programs.

use std::cell::Cell;

use bloomline_core::Error;
use bloomline_core::host::Demand;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_reference::bloomline_cuckoo::Model;
use bloomline_reference::redisbloom_cuckoo::Refusal;

use super::{Layout, compact, created, granted, options, tables};

const SEED: u64 = 0x5eed;

fn item(number: u16) -> Vec<u8> {
    format!("item:{number}").into_bytes()
}

fn items(first: u16, count: u16) -> impl Iterator<Item = Vec<u8>> {
    (0..count).map(move |index| item(first.wrapping_add(index)))
}

/// A filter and its model.
struct Pair {
    filter: AnyCuckoo,
    model: Model,
}

impl Pair {
    fn new(capacity: u64, error_rate: f64, is_fixed: bool) -> Self {
        let filter = Layout::Bloomline { error_rate, is_fixed }.create_seeded(capacity, SEED);
        let model = Model::new(capacity, error_rate, is_fixed, SEED).expect("a rate of the range");
        Self { filter, model }
    }

    /// Inserts items in both.
    fn insert(&mut self, items: impl Iterator<Item = Vec<u8>>) {
        for item in items {
            let inserted = self.filter.insert(&item, &mut granted);
            assert_eq!(inserted.map_err(refusal), self.model.insert(&item, true));
        }
    }

    fn remove(&mut self, first: u16, count: u16) {
        for item in items(first, count) {
            assert_eq!(self.filter.remove(&item), self.model.remove(&item));
        }
    }

    /// Compares all bytes and numbers.
    fn assert_equal(&self) {
        let Self { filter, model } = self;
        filter.check().expect("valid");
        let expansion = if model.is_fixed { 0 } else { 1 };
        let is_equal = filter.encode_header() == model.header(2, 20, expansion);
        assert!(is_equal, "the headers differ: {filter:?}, {}", model.numbers());
        for (index, (bytes, table)) in tables(filter).iter().zip(&model.tables).enumerate() {
            assert!(*bytes == table.bytes(), "table {index} differs: {filter:?}");
        }
        assert_eq!((filter.len(), filter.deletes()), (model.len(), model.deletes));
        let rates = (filter.current_rate().unwrap(), model.current_rate());
        assert!((rates.0 - rates.1).abs() <= 1e-12 * rates.1, "{rates:?}");
        assert!(rates.1 <= model.rate_for_life() * (1.0 + 1e-12));
        assert!(model.rate_for_life() <= model.error_rate * (1.0 + 1e-12));
    }
}

fn refusal(error: Error) -> Refusal {
    match error {
        Error::Full(_) => Refusal::Full,
        Error::TooManyLayers(_) => Refusal::CannotGrow,
        other => panic!("{other}"),
    }
}

/// Every small capacity, compared after each insertion and each deletion.
#[test]
fn small_filters_agree_with_the_model_after_each_step() {
    let most = if cfg!(miri) { 3 } else { 70 };
    for capacity in 1..=most {
        for error_rate in [0.25, 0.01, 1e-5] {
            for is_fixed in [true, false] {
                let mut pair = Pair::new(capacity, error_rate, is_fixed);
                let count = capacity as u16 * 3 + 20;
                for number in 0..count {
                    pair.insert(items(number, 1));
                    pair.assert_equal();
                }
                for number in (0..count).step_by(2) {
                    pair.remove(number, 1);
                    pair.assert_equal();
                }
                let compaction = compact(&mut pair.filter);
                assert_eq!(compaction.is_changed, pair.model.compact());
                pair.assert_equal();
            }
        }
    }
}

/// In a batch, an item that is refused changes nothing for those after it.
#[test]
fn own_batches_continue_after_a_refusal() {
    let mut pair = Pair::new(50, 0.01, false);
    let items: Vec<_> = items(0, 300).collect();
    let (left, mut answers) = (Cell::new(2), Vec::new());
    // Two growths are granted.
    let mut permit = |_: Demand| left.replace(left.get().max(1) - 1) > 0;
    pair.filter.insert_batch(items.iter(), false, &mut permit, |result| answers.push(result));
    for (item, answer) in items.iter().zip(answers) {
        match answer {
            Ok(_) => pair.model.insert(item, true).unwrap(),
            Err(error) => assert!(matches!(error, Error::Refused(_)), "{error}"),
        }
    }
    pair.assert_equal();
    assert!(pair.model.len() < 300);
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
