//! The reference model of a filter of any kind.

use bloomline_core::chunk::Bits;
use bloomline_core::host::AnyRef;
use bloomline_core::host::cuckoo::CuckooKind;

use super::filter::{Filter, Outcome};
use crate::checks::check::bits;
use crate::payload::FieldWriter;
use crate::redisbloom_cuckoo::Refusal;
use crate::{bloomline, bloomline_cuckoo, redisbloom, redisbloom_cuckoo, valkey, windowed};

/// The reference model of a filter.
pub enum Oracle {
    Bloom(bloomline::Model),
    ClassicBloom(redisbloom::Model),
    ValkeyBloom(valkey::Model),
    Windowed(windowed::Model),
    Cuckoo(bloomline_cuckoo::Model),
    RedisBloomCuckoo(redisbloom_cuckoo::Model),
}

fn of_refusal(result: Result<(), Refusal>) -> Outcome {
    match result {
        Ok(()) => Outcome::New,
        Err(Refusal::Full) => Outcome::Full,
        Err(Refusal::CannotGrow) => Outcome::CannotGrow,
    }
}

impl Oracle {
    /// The model of a filter that was not created here. Only that of a cuckoo filter in
    /// RedisBloom's layout takes any numbers and bytes.
    pub fn of(filter: &Filter) -> Option<Self> {
        let Filter::Cuckoo(filter) = filter else { return None };
        let CuckooKind::RedisBloom(classic) = filter.view() else { return None };
        let numbers = classic.numbers();
        Some(Self::RedisBloomCuckoo(redisbloom_cuckoo::Model {
            bucket_size: numbers.bucket_size as usize,
            max_iterations: numbers.max_iterations as usize,
            expansion: numbers.expansion,
            items: numbers.items,
            deletes: numbers.deletes,
            tables: classic.tables().map(<[u8]>::to_vec).collect(),
            failed_iterations: 0,
            end: None,
        }))
    }

    /// Compares how often an item was counted: 1 for an item of a Bloom filter.
    pub fn assert_counts(&self, item: &[u8], now: u64, count: u64) {
        let exactly = |count: u64| count..=count;
        let expected = match self {
            Self::Bloom(model) => exactly(model.contains(item).into()),
            Self::ClassicBloom(model) => exactly(model.contains(item).into()),
            Self::ValkeyBloom(model) => exactly(model.contains(item).into()),
            Self::Windowed(model) => exactly(model.contains(item, now).into()),
            Self::Cuckoo(model) => model.counts(item),
            Self::RedisBloomCuckoo(model) => exactly(model.count(item)),
        };
        assert!(expected.contains(&count), "{count}, not {expected:?}: {}", item.escape_ascii());
    }

    /// Before the items of a call are compared that were inserted into the filter.
    pub fn begin_call(&mut self, filter: &Filter) {
        match (self, filter) {
            (Self::RedisBloomCuckoo(model), _) => (model.failed_iterations, model.end) = (0, None),
            (Self::Cuckoo(model), Filter::Cuckoo(filter)) => model.follow(filter),
            _ => {}
        }
    }

    /// Compares the outcome of an insertion, after inserting the item here. A filter that was
    /// refused memory must not have changed, so the item is not inserted here.
    pub fn assert_inserts(&mut self, item: &[u8], only_new: bool, limit: u64, outcome: Outcome) {
        let expected = match self {
            Self::Cuckoo(_) if outcome == Outcome::Refused => Outcome::Refused,
            Self::Cuckoo(model) => {
                let result = match outcome {
                    Outcome::Full => Err(Refusal::Full),
                    Outcome::CannotGrow => Err(Refusal::CannotGrow),
                    other => Ok(other == Outcome::New),
                };
                model.inserted(item, only_new, result);
                outcome
            }
            Self::RedisBloomCuckoo(model) if only_new && model.contains(item) => Outcome::Present,
            Self::RedisBloomCuckoo(model) => {
                // The size as this project counts it.
                let memory = |bytes: u64| bytes.div_ceil(8).saturating_mul(8).saturating_add(24);
                let present: u64 =
                    model.tables.iter().map(|table| memory(table.len() as u64)).sum();
                let may_grow = |bytes| memory(bytes).saturating_add(40 + present) <= limit;
                match of_refusal(model.insert_further(item, may_grow)) {
                    Outcome::CannotGrow if outcome == Outcome::Refused => Outcome::Refused,
                    expected => expected,
                }
            }
            Self::Bloom(model) if outcome == Outcome::Refused => {
                let newest = model.layers.last().expect("at least one");
                assert!(model.newest_len == newest.capacity && !model.contains(item));
                Outcome::Refused
            }
            Self::Bloom(model) => match model.insert(item) {
                bloomline::Answer::New => Outcome::New,
                bloomline::Answer::Seen => Outcome::Present,
                bloomline::Answer::Full => Outcome::Full,
                bloomline::Answer::CannotGrow => Outcome::CannotGrow,
            },
            Self::ClassicBloom(model) if outcome == Outcome::Refused => {
                let newest = model.layers.last().expect("at least one");
                assert!(newest.len >= newest.plan.capacity && !model.contains(item));
                Outcome::Refused
            }
            Self::ClassicBloom(model) => match model.insert(item) {
                redisbloom::Answer::New => Outcome::New,
                redisbloom::Answer::Seen => Outcome::Present,
                redisbloom::Answer::Full => Outcome::Full,
                redisbloom::Answer::CannotGrow => Outcome::CannotGrow,
            },
            Self::ValkeyBloom(model) if outcome == Outcome::Refused => {
                let newest = model.layers.last().expect("at least one");
                assert!(model.newest_len >= newest.capacity && !model.contains(item));
                Outcome::Refused
            }
            Self::ValkeyBloom(model) => match model.insert(item) {
                valkey::Answer::New => Outcome::New,
                valkey::Answer::Seen => Outcome::Present,
                valkey::Answer::Full => Outcome::Full,
                valkey::Answer::CannotGrow => Outcome::CannotGrow,
            },
            Self::Windowed(_) if outcome == Outcome::Refused => Outcome::Refused,
            Self::Windowed(model) => match model.insert(item) {
                windowed::Answer::New => Outcome::New,
                windowed::Answer::Refreshed => Outcome::Refreshed,
                windowed::Answer::Present => Outcome::Present,
                windowed::Answer::Full => Outcome::Full,
                windowed::Answer::CannotGrow => Outcome::CannotGrow,
            },
        };
        assert_eq!(outcome, expected, "for the item {}", item.escape_ascii());
    }

    /// Compares the result of a deletion, after deleting the item here.
    pub fn assert_removes(&mut self, item: &[u8], is_removed: bool) {
        match self {
            Self::Cuckoo(model) => model.removed(item, is_removed),
            Self::RedisBloomCuckoo(model) => assert_eq!(is_removed, model.remove(item)),
            _ => assert!(!is_removed),
        }
    }

    pub fn advance(&mut self, now: u64) {
        if let Self::Windowed(model) = self {
            model.advance(now);
        }
    }

    pub fn rotate(&mut self, now: u64) {
        if let Self::Windowed(model) = self {
            model.rotate(now);
        }
    }

    /// Follows a compaction. True if it must have changed the filter, `None` if that is not known.
    /// False if there is no model of the result.
    pub fn compact(&mut self, filter: &Filter, is_changed: bool) -> (Option<bool>, bool) {
        match self {
            Self::Cuckoo(model) => {
                let Filter::Cuckoo(filter) = filter else { return (None, false) };
                model.compacted(filter);
                (None, true)
            }
            Self::RedisBloomCuckoo(model) => {
                let before = (model.header(), model.tables.clone());
                model.compact(true);
                (Some((model.header(), model.tables.clone()) != before), true)
            }
            Self::Bloom(model) => {
                let Some(AnyRef::Bloomline(filter)) = filter.view() else {
                    return (None, false);
                };
                let newest = filter.layers().next_back().expect("at least one");
                if is_changed {
                    model.compact(newest.fold().stored(), newest.capacity());
                }
                (None, true)
            }
            Self::ClassicBloom(_) => (None, !is_changed),
            Self::Windowed(_) | Self::ValkeyBloom(_) => (Some(false), true),
        }
    }

    /// Compares everything that can be read.
    pub fn assert_equal(&self, filter: &Filter, now: u64) {
        match (self, filter) {
            (Self::Bloom(model), Filter::Bloom(filter)) => {
                assert_eq!((filter.len(), filter.newest_len()), (model.len(), model.newest_len));
                let expected = model.layers.iter().map(|layer| layer.bits.as_raw_slice());
                assert!(bits(filter).iter().eq(expected), "the bits differ from the model");
            }
            (Self::ClassicBloom(model), Filter::Bloom(filter)) => {
                assert_eq!(filter.len(), model.layers.iter().map(|layer| layer.len).sum::<u64>());
                let expected = model.layers.iter().map(|layer| layer.bits.as_raw_slice());
                assert!(bits(filter).iter().eq(expected), "the bits differ from the model");
            }
            (Self::ValkeyBloom(model), Filter::Bloom(filter)) => {
                let filter = filter.valkey().expect("a filter of that layout");
                assert_eq!((filter.len(), filter.newest_len()), (model.len(), model.newest_len));
                assert_eq!(filter.size_bytes(), model.size());
                let mut fields = FieldWriter::default();
                filter.encode_fields(&mut fields).expect("memory");
                assert!(fields.0 == model.fields(), "the fields differ from the model");
                let payload = filter.encode_payload().expect("memory");
                assert!(*payload == *model.load_payload(), "the payload differs from the model");
            }
            (Self::Windowed(model), Filter::Bloom(filter)) => {
                let filter = filter.windowed().expect("a windowed filter");
                assert_eq!(
                    (filter.len(), filter.len_at(now), filter.first_byte(), filter.number()),
                    (model.len(), model.len_at(now), model.dropped_bytes, model.number)
                );
                let state = |live, len, opened| (live, len, opened);
                let generations =
                    filter.generations().map(|(_, it)| state(it.live(), it.len(), it.opened()));
                let expected =
                    model.generations.iter().map(|it| state(it.live, it.len(), it.opened));
                assert!(generations.eq(expected), "the generations differ: {filter:?}");
                let bits = filter.layers().map(|layer| layer.words().as_bytes().to_vec());
                assert!(bits.eq(model.bits()), "the bits differ from the model");
            }
            (Self::Cuckoo(model), Filter::Cuckoo(filter)) => model.assert_equal(filter),
            (Self::RedisBloomCuckoo(model), Filter::Cuckoo(filter)) => {
                let CuckooKind::RedisBloom(classic) = filter.view() else { panic!("{filter:?}") };
                assert_eq!(filter.encode_header(), model.header());
                assert!(classic.tables().eq(model.tables.iter()), "the tables differ");
                assert_eq!((filter.size(), filter.len()), (model.size(), model.items));
                let mut allocations = 0;
                filter.each_allocation(|_| allocations += 1);
                assert_eq!(allocations, model.tables.len() + 2);
            }
            _ => panic!("a model of another kind"),
        }
    }
}
