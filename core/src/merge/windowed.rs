//! Merging windowed filters.

use std::iter;

use super::{Merge, Plan, Union};
use crate::bloomline::{BlockedLayer, Filter};
use crate::error::{Error, Parameter};
use crate::layer::Layer;
use crate::memory::lists::try_push;
use crate::memory::try_box;
use crate::permit::{Permit, request};
use crate::spec::Layout;
use crate::window::filter::beside;
use crate::window::ring::Ring;
use crate::window::{Generation, WindowSpec, WindowedFilter};

impl WindowedFilter {
    /// Merges this filter with others of equal parameters; see `ScalableFilter::merge`.
    ///
    /// Generations are merged with the one that was opened at the same time, which this filter must
    /// have; of several, in their order. Each stays within its part of the error budget.
    pub(crate) fn merge(&mut self, others: &[&Self], permit: Permit) -> Result<bool, Error> {
        // Generations are merged layer by layer, which takes layers that own their bits.
        let mut copies = Vec::new();
        for other in others {
            try_push(&mut copies, other.unpacked()?)?;
        }
        let mut large = Vec::new();
        for (other, copy) in others.iter().zip(&copies) {
            try_push(&mut large, copy.as_ref().unwrap_or(other))?;
        }
        self.unpack()?;
        let is_changed = self.merge_large(&large, permit);
        self.pack();
        is_changed
    }

    /// A copy with a large ring; `None` if this filter has one.
    fn unpacked(&self) -> Result<Option<Self>, Error> {
        if matches!(self.ring, Ring::Large(_)) {
            return Ok(None);
        }
        let mut copy = self.copy()?;
        copy.unpack()?;
        Ok(Some(copy))
    }

    /// The same for filters that have large rings.
    fn merge_large(&mut self, others: &[&Self], permit: Permit) -> Result<bool, Error> {
        let partners = self.partners(others)?;
        self.request_overflow(&partners, permit)?;
        let (mut merges, mut layer, end) = (Vec::new(), 0, self.end());
        for (own, sources) in self.owned().zip(partners) {
            try_push(&mut merges, Merged::plan(own, layer, sources, &self.spec())?)?;
            layer += own.view().layer_count();
        }
        let (mut is_changed, older_bytes) = (false, self.older_bytes());
        if let Ring::Large(large) = &mut self.ring {
            for (own, merged) in large.all_mut().zip(merges) {
                is_changed |= merged.apply(own);
            }
        }
        if self.older_bytes() != older_bytes {
            // The offsets behind the new layers have changed, and a dump may be there.
            self.dropped_bytes = end;
        }
        Ok(is_changed)
    }

    /// The generations of a large ring, oldest first.
    fn owned(&self) -> impl Iterator<Item = &Generation> {
        let large = match &self.ring {
            Ring::Small(_) => None,
            Ring::Large(large) => Some(large),
        };
        large.into_iter().flat_map(|large| large.older.iter().chain(iter::once(&large.newest)))
    }

    /// Asks `permit` for the overflow layers that generations get from sources. They are one
    /// demand: each generation may add a little, and all of them too much.
    fn request_overflow(&self, partners: &[Vec<&Generation>], permit: Permit) -> Result<(), Error> {
        let (mut new, mut filter_bytes) = (Vec::new(), self.large_size_bytes());
        for (own, sources) in self.owned().zip(partners) {
            let layer_count = |filter: &&Filter| filter.layer_count();
            let overflows = sources.iter().filter_map(|source| source.overflow.as_deref());
            let Some(longest) = overflows.max_by_key(layer_count) else { continue };
            let present = own.overflow.as_ref().map_or(0, |filter| filter.layer_count());
            let added = longest.layers().skip(present as usize).map(|layer| layer.words().bytes());
            let start = new.len();
            for bytes in added {
                try_push(&mut new, bytes)?;
            }
            let added: u64 = new.iter().skip(start).sum();
            if added > 0 {
                let bits = own.overflow.as_ref().map_or(0, |filter| filter.bits_bytes()) + added;
                let size = BlockedLayer::size_bytes(bits, longest.layer_count());
                filter_bytes = (filter_bytes - own.view().overflow_bytes()).saturating_add(size);
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        // Where the bits end if they move behind all earlier offsets.
        let last_end = self.end().saturating_add(self.end() - self.dropped_bytes);
        let permit = &mut beside(0, last_end, permit);
        request(permit, Layout::Bloomline, new, |_| filter_bytes)
    }
}

/// A generation, and the number of those before it that were opened at the same time: rotations by
/// hand and by count may be that quick.
struct Opened<'a> {
    one: &'a Generation,
    nth: usize,
}

impl Opened<'_> {
    /// What is equal in generations that are merged.
    fn opening(&self) -> (u64, usize) {
        (self.one.opened, self.nth)
    }
}

impl WindowedFilter {
    /// Bytes of the bits of the older generations.
    fn older_bytes(&self) -> u64 {
        self.all().rev().skip(1).map(|one| one.bits_bytes()).sum()
    }

    /// For each generation, oldest first, those of other filters that are merged with it.
    ///
    /// Cost: one pass over the generations of each filter, which are in the order of their opening.
    ///
    /// # Errors
    ///
    /// [`Error::Differs`] if one of the others has a generation that this filter lacks;
    /// [`Error::OutOfMemory`].
    fn partners<'a>(&self, others: &[&'a Self]) -> Result<Vec<Vec<&'a Generation>>, Error> {
        let mut partners = Vec::new();
        for _ in self.owned() {
            try_push(&mut partners, Vec::new())?;
        }
        for other in others {
            let mut own = self.all_by_opening().zip(&mut partners);
            for source in other.all_by_opening() {
                let partner = own.find(|(own, _)| own.opening() == source.opening());
                let differs = Error::Differs(Parameter::Generation(source.one.opened));
                try_push(partner.ok_or(differs)?.1, source.one)?;
            }
        }
        Ok(partners)
    }

    /// The generations, oldest first.
    fn all_by_opening(&self) -> impl Iterator<Item = Opened<'_>> {
        self.owned().scan((0, 0), |(opened, count), one| {
            let nth = if one.opened == *opened { *count } else { 0 };
            (*opened, *count) = (one.opened, nth + 1);
            Some(Opened { one, nth })
        })
    }
}

/// What a generation is merged with. It was checked, and its memory is allocated.
struct Merged<'a> {
    sources: Vec<&'a Generation>,
    /// How the number of items in the regular layer is estimated.
    regular: Union,
    overflow: Overflow<'a>,
}

/// The overflow layers of the result.
enum Overflow<'a> {
    None,
    /// A new filter: only the sources have overflow layers.
    New(Box<Filter>),
    /// The filter of the generation, merged with those of the sources.
    Own(Vec<&'a Filter>, Plan<BlockedLayer>),
}

impl<'a> Merged<'a> {
    /// Checks the union of a generation, whose regular layer has index `layer`, and allocates the
    /// memory for it.
    fn plan(
        own: &Generation,
        layer: u32,
        sources: Vec<&'a Generation>,
        spec: &WindowSpec,
    ) -> Result<Self, Error> {
        // Granted for all generations together.
        let permit: Permit = &mut |_| true;
        let all = iter::once(own).chain(sources.iter().copied());
        for source in &sources {
            let has_other_capacity = source.regular.capacity() != own.regular.capacity();
            if has_other_capacity || own.regular.differs(&source.regular, 0).is_some() {
                return Err(Error::Differs(Parameter::Generation(own.opened)));
            }
        }
        let regular = Union::of(all.map(|one| (&one.regular, one.regular_len)));
        let (regular_len, capacity) = (regular.len(), own.regular.capacity());
        if regular_len > capacity {
            let (rate, target) = (own.regular.fp_rate(regular_len), spec.regular().error_rate);
            let full = Error::LayerFull { layer, items: regular_len, capacity };
            return Err(if rate > target { Error::RateExceeded { rate, target } } else { full });
        }
        let others = overflows(&sources)?;
        let target = spec.overflow().map_or(0.0, |spec| spec.error_rate);
        let overflow = match (&own.overflow, others.split_first()) {
            (Some(filter), _) => {
                let plan = filter.plan_merge(&others, target, permit)?;
                Overflow::Own(others, plan)
            }
            (None, Some((first, rest))) => {
                let mut filter = first.try_clone(permit)?;
                filter.merge(rest, target, permit)?;
                Overflow::New(try_box(filter)?)
            }
            (None, None) => Overflow::None,
        };
        Ok(Self { sources, regular, overflow })
    }

    /// Merges the generation. True if a bit changed.
    fn apply(self, own: &mut Generation) -> bool {
        let counts = |one: &Generation| [one.live, one.len()];
        let sums = iter::once(counts(own)).chain(self.sources.iter().map(|one| counts(one)));
        let [live, len] = sums.fold([0u128; 2], |[live, len], [one_live, one_len]| {
            [live + u128::from(one_live), len + u128::from(one_len)]
        });
        let unite = |source: &&Generation| own.regular.words_mut().union(source.regular.words());
        let new_bits: u64 = self.sources.iter().map(unite).sum();
        let mut is_changed = new_bits > 0;
        match self.overflow {
            Overflow::None => {}
            Overflow::New(filter) => {
                own.overflow = Some(filter);
                is_changed = true;
            }
            Overflow::Own(others, plan) => {
                if let Some(filter) = &mut own.overflow {
                    is_changed |= filter.merge_as(&others, plan);
                }
            }
        }
        if is_changed {
            own.regular_len = self.regular.len_after(new_bits).min(own.regular.capacity());
            // As many of the items are live as were in the parts.
            let len_after = u128::from(own.len());
            own.live = (len_after * live / len.max(1)).min(len_after) as u64;
        }
        is_changed
    }
}

/// The overflow layers of the generations that have some.
fn overflows<'a>(generations: &[&'a Generation]) -> Result<Vec<&'a Filter>, Error> {
    let mut found = Vec::new();
    for filter in generations.iter().filter_map(|generation| generation.overflow.as_deref()) {
        try_push(&mut found, filter)?;
    }
    Ok(found)
}
