//! The calls that test and insert items, compiled once for all tests.
//!
//! Those of the core are inlined for speed, so each place that calls one compiles its loops again,
//! for every backend and layout: seconds per place. These take items and answers as `dyn`. Such an
//! iterator has the size hint of the one behind it, so few items are few here too.

use std::ops::ControlFlow;

use bloomline_core::Error;
use bloomline_core::bloom::redisbloom::RedisBloomFilter;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_core::host::valkey::ValkeyFilter;
use bloomline_core::host::{AnyFilter, Filter, Permit};
use bloomline_core::insertion::Insertion;

/// The items of a call.
pub type Items<'a, 'b> = &'a mut dyn Iterator<Item = &'b [u8]>;

/// Calls of a Bloom filter.
pub trait Calls {
    /// The answer to an insertion.
    type Inserted;

    /// `insert` of the filter. Only a windowed one reads the time `now`.
    ///
    /// # Errors
    ///
    /// Those of [`AnyFilter::insert`].
    fn insert_item(
        &mut self,
        item: &[u8],
        now: u64,
        permit: Permit,
    ) -> Result<Self::Inserted, Error>;

    /// `contains` of the filter.
    fn contains_item(&self, item: &[u8], now: u64) -> bool;

    /// `insert_batch` of the filter: up to the answer that stops.
    fn insert_slice(
        &mut self,
        items: &[&[u8]],
        now: u64,
        permit: Permit,
        answer: &mut dyn FnMut(Result<Self::Inserted, Error>) -> ControlFlow<()>,
    );

    /// The same for an iterator, whose items are collected: a filter may read them twice.
    fn insert_until(
        &mut self,
        items: Items,
        now: u64,
        permit: Permit,
        answer: &mut dyn FnMut(Result<Self::Inserted, Error>) -> ControlFlow<()>,
    ) {
        self.insert_slice(&items.collect::<Vec<_>>(), now, permit, answer);
    }

    /// The same, up to the first [`Error::Full`], as by BF.MADD.
    fn insert_each(
        &mut self,
        items: Items,
        now: u64,
        permit: Permit,
        answer: &mut dyn FnMut(Result<Self::Inserted, Error>),
    ) {
        self.insert_until(items, now, permit, &mut |result| {
            let is_full = matches!(result, Err(Error::Full(_)));
            answer(result);
            if is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }

    /// `contains_batch` of the filter.
    fn contains_each(&self, items: Items, now: u64, answer: &mut dyn FnMut(bool));
}

/// Implements [`Calls`] for one type: what is generic would be compiled where it is called. The
/// time is passed on where it is named twice.
macro_rules! calls {
    ($filter:ty, $inserted:ty, $time:ident $(=> $now:ident)?) => {
        impl Calls for $filter {
            type Inserted = $inserted;

            fn insert_item(
                &mut self,
                item: &[u8],
                $time: u64,
                permit: Permit,
            ) -> Result<$inserted, Error> {
                self.insert(item, $($now,)? permit)
            }

            fn contains_item(&self, item: &[u8], $time: u64) -> bool {
                self.contains(item $(, $now)?)
            }

            fn insert_slice(
                &mut self,
                items: &[&[u8]],
                $time: u64,
                permit: Permit,
                answer: &mut dyn FnMut(Result<$inserted, Error>) -> ControlFlow<()>,
            ) {
                let _ = self.insert_batch(items.iter(), $($now,)? permit, answer);
            }

            fn contains_each(&self, items: Items, $time: u64, answer: &mut dyn FnMut(bool)) {
                self.contains_batch(items, $($now,)? answer);
            }
        }
    };
}

calls!(AnyFilter, Insertion, now => now);
calls!(Filter, bool, _now);
calls!(RedisBloomFilter, bool, _now);
calls!(ValkeyFilter, bool, _now);

/// Calls of a cuckoo filter for many items. Those for one item are compiled in the core.
pub trait CuckooCalls {
    /// [`AnyCuckoo::insert_batch`].
    fn insert_each(
        &mut self,
        items: Items,
        only_new: bool,
        permit: Permit,
        answer: &mut dyn FnMut(Result<bool, Error>),
    );

    /// [`AnyCuckoo::contains_batch`].
    fn contains_each(&self, items: Items, answer: &mut dyn FnMut(bool));

    /// [`AnyCuckoo::remove_batch`].
    fn remove_each(&mut self, items: Items, answer: &mut dyn FnMut(bool));
}

impl CuckooCalls for AnyCuckoo {
    fn insert_each(
        &mut self,
        items: Items,
        only_new: bool,
        permit: Permit,
        answer: &mut dyn FnMut(Result<bool, Error>),
    ) {
        self.insert_batch(items, only_new, permit, answer);
    }

    fn contains_each(&self, items: Items, answer: &mut dyn FnMut(bool)) {
        self.contains_batch(items, answer);
    }

    fn remove_each(&mut self, items: Items, answer: &mut dyn FnMut(bool)) {
        self.remove_batch(items, answer);
    }
}
