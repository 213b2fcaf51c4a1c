//! Testing and inserting items in a filter of any kind.

use std::ops::ControlFlow;

use super::{AnyFilter, AnyMut, AnyRef};
use crate::bloom::batch::GenerationsExt;
use crate::error::Error;
use crate::insertion::Insertion;
use crate::math::estimate::Estimate;
use crate::memory::try_box;
use crate::permit::Permit;

impl AnyFilter {
    /// True if the item may have been inserted; see
    /// [`Filter::contains`](crate::host::Filter::contains). Windowed filters answer for the time
    /// `now`, in milliseconds; others ignore it.
    #[inline]
    pub fn contains(&self, item: &[u8], now: u64) -> bool {
        match self.view() {
            AnyRef::Bloomline(filter) => filter.test(item, now),
            AnyRef::Small(filter) => filter.contains(item),
            // Not generic, so it is compiled in this crate, to fewer instructions; see
            // docs/explanation/performance.md.
            AnyRef::Windowed(filter) => filter.contains(item, now),
            AnyRef::RedisBloom(filter) => filter.test(item, now),
            AnyRef::ValkeyBloom(filter) => filter.test(item, now),
        }
    }

    /// Inserts an item; see [`Filter::insert`](crate::host::Filter::insert) and
    /// [`WindowedFilter::insert`](crate::bloom::window::WindowedFilter::insert), which uses the
    /// time `now`, in milliseconds.
    #[inline]
    pub fn insert(&mut self, item: &[u8], now: u64, permit: Permit) -> Result<Insertion, Error> {
        match self.view_mut() {
            AnyMut::Bloomline(filter) => filter.add(item, now, permit),
            AnyMut::Small(filter) => match filter.insert(item)? {
                Some(is_new) => Ok(is_new.into()),
                None => self.grow_with(item, now, permit),
            },
            // As in `contains`.
            AnyMut::Windowed(filter) => filter.insert(item, now, permit),
            AnyMut::RedisBloom(filter) => filter.add(item, now, permit),
            AnyMut::ValkeyBloom(filter) => filter.add(item, now, permit),
        }
    }

    /// Answers for each item in turn as [`AnyFilter::contains`] does.
    #[inline]
    pub fn contains_batch(
        &self,
        items: impl Iterator<Item: AsRef<[u8]>>,
        now: u64,
        answer: impl FnMut(bool),
    ) {
        any!(
            self,
            filter => filter.test_batch(items, now, answer),
            small => filter.contains_batch(items, answer)
        );
    }

    /// Inserts each item in turn, and answers as [`AnyFilter::insert`] does, up to the answer that
    /// stops: later items are not inserted. `Break` after that one.
    #[inline]
    pub fn insert_batch(
        &mut self,
        mut items: impl Iterator<Item: AsRef<[u8]>> + Clone,
        now: u64,
        permit: Permit,
        mut answer: impl FnMut(Result<Insertion, Error>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        loop {
            let small = match self.view_mut() {
                AnyMut::Small(filter) => filter,
                AnyMut::Bloomline(filter) => return filter.add_batch(items, now, permit, answer),
                AnyMut::Windowed(filter) => return filter.add_batch(items, now, permit, answer),
                AnyMut::RedisBloom(filter) => return filter.add_batch(items, now, permit, answer),
                AnyMut::ValkeyBloom(filter) => return filter.add_batch(items, now, permit, answer),
            };
            let insertion = |result: Result<bool, Error>| answer(result.map(Insertion::from));
            let Some(item) = small.insert_batch(&mut items, insertion)? else {
                return ControlFlow::Continue(());
            };
            answer(self.grow_with(item.as_ref(), now, permit))?;
        }
    }

    /// Inserts an item for which the layer of a small filter has no room: the filter gets another.
    #[cold]
    fn grow_with(&mut self, item: &[u8], now: u64, permit: Permit) -> Result<Insertion, Error> {
        let AnyRef::Small(filter) = self.view() else { return self.insert(item, now, permit) };
        let mut grown = try_box(filter.to_filter()?)?;
        let insertion = grown.add(item, now, permit)?;
        *self = grown.into();
        Ok(insertion)
    }

    /// The items that a windowed filter contains at the time `now`, in milliseconds; of other
    /// filters all items.
    pub fn len_at(&self, now: u64) -> u64 {
        match self.view() {
            AnyRef::Windowed(filter) => filter.len_at(now),
            _ => self.len(),
        }
    }

    /// The items that all layers together are sized for; of a windowed filter, what was specified
    /// and the overflow layers of the generations that answer at the time `now`, in milliseconds.
    pub fn capacity_at(&self, now: u64) -> u64 {
        match self.view() {
            AnyRef::Windowed(filter) => filter.capacity_at(now),
            _ => self.capacity(),
        }
    }

    /// The number of distinct items that were added, estimated by the fill of the layers; of a
    /// windowed filter, of the generations that answer at the time `now`, in milliseconds.
    ///
    /// An item that the filter contains by mistake when it is added is counted too, unlike in
    /// [`AnyFilter::len_at`].
    pub fn estimate_at(&self, now: u64) -> Estimate {
        match self.view() {
            AnyRef::Bloomline(filter) => filter.estimate(),
            AnyRef::Small(filter) => filter.estimate(),
            AnyRef::Windowed(filter) => filter.estimate_at(now),
            AnyRef::RedisBloom(filter) => filter.estimate(),
            AnyRef::ValkeyBloom(filter) => filter.estimate(),
        }
    }

    /// The number of layers that do not answer at the time `now`, in milliseconds: those of a
    /// windowed filter whose window has passed. They are the oldest ones.
    pub fn expired_layers(&self, now: u64) -> u32 {
        self.windowed().map_or(0, |filter| filter.expired_layers(now))
    }
}
