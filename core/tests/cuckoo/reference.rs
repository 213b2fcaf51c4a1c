//! Filters in this project's layout compared with their model: sizes one by one, and batches.
//! `bloomline_reference::life` compares random programs.

use bloomline_core::Error;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_reference::bloomline_cuckoo::Model;
use bloomline_reference::calls::CuckooCalls;
use bloomline_reference::random::Random;
use bloomline_reference::redisbloom_cuckoo::{self, Refusal};

use super::{Layout, compact, created, granted, options, tables};

const SEED: u64 = 0x5eed;

fn item(number: u16) -> Vec<u8> {
    format!("item:{number}").into_bytes()
}

/// A filter, its model, and a copy that gets all items in batches.
struct Pair {
    filter: AnyCuckoo,
    batch: AnyCuckoo,
    model: Model,
}

impl Pair {
    fn new(capacity: u64, error_rate: f64, is_fixed: bool) -> Self {
        let layout = Layout::Bloomline { error_rate, is_fixed };
        let [filter, batch] = [0; 2].map(|_| layout.create_seeded(capacity, SEED));
        let model = Model::new(&filter, capacity);
        Self { filter, batch, model }
    }

    fn insert(&mut self, item: &[u8]) {
        let inserted = self.filter.insert(item, &mut granted).map(|()| true).map_err(refusal);
        self.batch.insert_each(&mut [item].into_iter(), false, &mut granted, &mut |answer| {
            assert_eq!(answer.map_err(refusal), inserted);
        });
        self.model.follow(&self.filter);
        self.model.inserted(item, false, inserted);
    }

    fn remove(&mut self, item: &[u8]) {
        let is_removed = self.filter.remove(item);
        self.batch
            .remove_each(&mut [item].into_iter(), &mut |answer| assert_eq!(answer, is_removed));
        self.model.removed(item, is_removed);
    }

    fn assert_equal(&self) {
        self.filter.check().expect("valid");
        assert!(self.batch == self.filter, "one by one, and in batches: {:?}", self.filter);
        self.model.assert_equal(&self.filter);
    }
}

fn refusal(error: Error) -> Refusal {
    match error {
        Error::Full(_) => Refusal::Full,
        Error::TooManyTables(_) => Refusal::CannotGrow,
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
                    pair.insert(&item(number));
                    // Each seventh item has copies.
                    for _ in 0..if number % 7 == 0 { number % 6 } else { 0 } {
                        pair.insert(&item(number));
                    }
                    pair.assert_equal();
                }
                for number in (0..count).step_by(2) {
                    pair.remove(&item(number));
                    pair.assert_equal();
                }
                compact(&mut pair.filter);
                compact(&mut pair.batch);
                pair.model.compacted(&pair.filter);
                pair.assert_equal();
            }
        }
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
            batch.insert_each(
                &mut call.iter().map(AsRef::as_ref),
                true,
                &mut granted,
                &mut |answer| answers.push(answer),
            );
        }
        let expected: Vec<_> =
            items.iter().map(|item| single.insert_new(item, &mut granted)).collect();
        assert!(answers == expected && batch == single && batch.table_count() > 1);
        for item in items.iter().step_by(3) {
            // An item that seemed to be there was not inserted.
            batch.remove(item);
        }
        let mut found = Vec::new();
        batch.contains_each(&mut items.iter().map(AsRef::as_ref), &mut |is_in| found.push(is_in));
        assert!(items.iter().map(|item| batch.contains(item)).eq(found.iter().copied()));
        assert!(found.contains(&false) || bucket_size == 8);
    }
}

/// Few and many tables, of equal and of growing sizes: after deletions of any items, a compaction
/// leaves the bytes that RedisBloom's leaves.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn many_tables_are_compacted_as_by_redisbloom() {
    for (bucket_size, expansion, copies) in
        [(1, 1, 1), (1, 1, 60), (2, 1, 40), (3, 1, 70), (2, 1, 3), (9, 1, 200), (2, 2, 8)]
    {
        for deleted in [0, 1, 3, 9] {
            let mut filter = created(64, options(bucket_size, 20, expansion));
            let mut model = redisbloom_cuckoo::Model::new(64, bucket_size, 20, expansion);
            let mut random = Random::new(copies);
            for number in (0..700 * u64::from(bucket_size)).map(|_| random.below(700) as u16) {
                for _ in 0..if number < 5 { copies } else { 1 } {
                    filter.insert(&item(number), &mut granted).unwrap();
                    model.insert(&item(number), |_| true).unwrap();
                }
            }
            assert!(expansion == 2 || filter.table_count() > 8);
            for _ in 0..deleted * 100 {
                let number = random.below(700) as u16;
                assert_eq!(filter.remove(&item(number)), model.remove(&item(number)));
            }
            for _ in 0..2 {
                compact(&mut filter);
                model.compact(true);
                assert!(
                    filter.encode_header() == model.header() && tables(&filter) == model.tables
                );
            }
        }
    }
}
