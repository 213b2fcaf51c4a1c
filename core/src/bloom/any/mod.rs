//! A filter of any layout, or a windowed one.

use std::fmt;
use std::ops::ControlFlow;
use std::ptr::NonNull;

use delegate::delegate;

use crate::bloom::bloomline::{BlockedParams, Filter};
use crate::bloom::length::is_length;
use crate::bloom::redisbloom::geometry::Options;
use crate::bloom::redisbloom::{self, RedisBloomFilter};
use crate::bloom::scalable::{Increase, SAMPLE_PAGES};
use crate::bloom::small::SmallFilter;
use crate::bloom::valkey::ValkeyFilter;
use crate::bloom::window::WindowedFilter;
use crate::bloom::word::AnyMut;
pub use crate::bloom::word::{AnyFilter, AnyRef};
use crate::chunk::{Bits, Chunk};
use crate::error::{Error, HeaderError, Parameter};
use crate::memory::try_box;
use crate::memory::words::{Mover, WordsRef};
use crate::permit::Permit;
use crate::spec::{Growth, Layout, Spec};

/// Evaluates an expression with the filter of any kind, or another one with a small filter.
macro_rules! any {
    ($any:expr, $filter:ident => $do:expr) => {
        any!($any, $filter => $do, small => $do)
    };
    ($any:expr, $filter:ident => $do:expr, small => $small:expr) => {
        any!(AnyRef, $any.view(), $filter => $do, $small)
    };
    (mut $any:expr, $filter:ident => $do:expr) => {
        any!(mut $any, $filter => $do, small => $do)
    };
    (mut $any:expr, $filter:ident => $do:expr, small => $small:expr) => {
        any!(AnyMut, $any.view_mut(), $filter => $do, $small)
    };
    ($view:ident, $any:expr, $filter:ident => $do:expr, $small:expr) => {
        match $any {
            $view::Bloomline($filter) => $do,
            $view::Small($filter) => $small,
            $view::Windowed($filter) => $do,
            $view::RedisBloom($filter) => $do,
            $view::ValkeyBloom($filter) => $do,
        }
    };
}

mod items;
mod numbers;
mod rdb;

pub use numbers::LayerNumbers;

/// Two filters are equal if they have equal headers and equal bits.
impl PartialEq for AnyFilter {
    fn eq(&self, other: &Self) -> bool {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        self.each_layer(|bits| own.push(bits.as_bytes()));
        other.each_layer(|bits| others.push(bits.as_bytes()));
        own == others && self.encode_header() == other.encode_header()
    }
}

impl From<RedisBloomFilter> for AnyFilter {
    fn from(filter: RedisBloomFilter) -> Self {
        Box::new(filter).into()
    }
}

impl From<ValkeyFilter> for AnyFilter {
    fn from(filter: ValkeyFilter) -> Self {
        Box::new(filter).into()
    }
}

/// Small if it has one small layer, and if there is memory for that.
impl From<Filter> for AnyFilter {
    fn from(filter: Filter) -> Self {
        match SmallFilter::of(&filter) {
            Ok(Some(small)) => small.into(),
            Ok(None) | Err(_) => Box::new(filter).into(),
        }
    }
}

impl fmt::Debug for AnyFilter {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        any!(self, filter => filter.fmt(to))
    }
}

impl AnyFilter {
    /// The filter in a box; one of this project's layout also if it has one small layer.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn in_box<T>(filter: T) -> Result<Self, Error>
    where
        Self: From<Box<T>>,
    {
        try_box(filter).map(Self::from)
    }

    /// An empty filter in this project's layout.
    ///
    /// # Errors
    ///
    /// Those of [`Filter::new`].
    pub fn bloomline(spec: Spec, seed: u64, permit: Permit) -> Result<Self, Error> {
        let (params, plan) = BlockedParams::new(spec, seed)?;
        match SmallFilter::new(params, &plan, permit)? {
            Some(filter) => Ok(filter.into()),
            None => Self::in_box(Filter::with_plan(params, &plan, permit)?),
        }
    }

    /// An empty filter in RedisBloom's layout, which stores an expansion even if the filter does
    /// not grow.
    pub fn redisbloom(spec: Spec, stored_expansion: u32, permit: Permit) -> Result<Self, Error> {
        let options = Options::of_new_filter(spec.growth == Growth::Fixed);
        let params = redisbloom::RedisBloomParams { options, expansion: stored_expansion };
        Self::in_box(RedisBloomFilter::new(spec.capacity, spec.error_rate, params, permit)?)
    }

    /// The filter of a header of any layout, its bits all zero.
    pub fn decode_header(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        // The length decides: a header of RedisBloom's layout never has one of these, but its first
        // bytes are a number and may be the magic.
        if SmallFilter::has_listed_header(bytes) {
            return SmallFilter::decode_listed(bytes, permit).map(Self::from);
        }
        if !is_length(bytes.len()) {
            return Self::in_box(RedisBloomFilter::decode_header(bytes, permit)?);
        }
        if ValkeyFilter::has_header(bytes) {
            Self::in_box(ValkeyFilter::decode_header(bytes, permit)?)
        } else if WindowedFilter::has_header(bytes) {
            WindowedFilter::decode_header(bytes, permit).map(Self::from)
        } else {
            let description = Filter::describe(bytes)?;
            match SmallFilter::described(&description, permit)? {
                Some(filter) => Ok(filter.into()),
                None => Self::in_box(description.build(permit)?),
            }
        }
    }

    delegate! {
        to match self.view() {
            AnyRef::Bloomline(filter) => filter,
            AnyRef::Small(filter) => filter,
            AnyRef::Windowed(filter) => filter,
            AnyRef::RedisBloom(filter) => filter,
            AnyRef::ValkeyBloom(filter) => filter,
        } {
            pub fn len(&self) -> u64;

            /// The items in the newest layer; of a windowed filter, in its newest generation.
            pub fn newest_len(&self) -> u64;

            pub fn capacity(&self) -> u64;
            pub fn room(&self) -> u64;
            pub fn layer_count(&self) -> u32;
            pub fn size_bytes(&self) -> u64;
            pub fn sums(&self) -> Increase;

            /// The header, in the filter's own layout.
            pub fn encode_header(&self) -> Vec<u8>;

            pub fn chunk(&self, offset: u64) -> Option<&[u8]>;

            /// Where the bits begin; see [`Bits::first_byte`].
            pub fn first_byte(&self) -> u64;
        }
    }

    /// Lets `mover` move the allocations, from number `from` on; see [`Filter::relocate`]. The one
    /// that the word addresses is moved before the first.
    pub fn relocate(
        &mut self,
        from: usize,
        mover: &mut Mover,
        should_stop: impl FnMut() -> bool,
    ) -> Option<usize> {
        if from == 0 && self.is_boxed() {
            self.relocate_start(mover);
        }
        any!(mut self, filter => filter.relocate(from, mover, should_stop))
    }

    /// Checks that the filter is valid, which each method of this type keeps: its header is
    /// accepted and describes it. So whatever was accepted, and changed by any methods, can be
    /// saved and loaded again. A failure is a defect of this crate.
    ///
    /// Cost: that of writing and reading the header.
    ///
    /// # Errors
    ///
    /// Why the header would be refused, or [`HeaderError::Other`].
    pub fn check(&self) -> Result<(), Error> {
        let header = self.encode_header();
        let is_described = match self.view() {
            AnyRef::Bloomline(filter) => Filter::describe(&header)?.is_of(filter),
            AnyRef::Small(filter) if filter.is_listed() => {
                SmallFilter::decode_listed(&header, &mut |_| true)?.encode_header() == header
            }
            AnyRef::Small(filter) => filter.is_described_by(&Filter::describe(&header)?),
            AnyRef::Windowed(filter) => WindowedFilter::describe(&header)?.is_of(filter),
            AnyRef::RedisBloom(filter) => RedisBloomFilter::describe(&header)?.is_of(filter),
            AnyRef::ValkeyBloom(filter) => ValkeyFilter::describe(&header)?.is_of(filter),
        };
        if is_described { Ok(()) } else { Err(HeaderError::Other.into()) }
    }

    pub fn layout(&self) -> Layout {
        match self.view() {
            AnyRef::Bloomline(_) | AnyRef::Small(_) | AnyRef::Windowed(_) => Layout::Bloomline,
            AnyRef::RedisBloom(_) => Layout::RedisBloom,
            AnyRef::ValkeyBloom(_) => Layout::ValkeyBloom,
        }
    }

    /// What happens when the newest layer is full.
    pub fn growth(&self) -> Growth {
        any!(self, filter => filter.spec().growth)
    }

    /// True if an insertion may end with [`Error::Full`], after which later items have no answer.
    #[inline]
    pub fn may_become_full(&self) -> bool {
        match self.view() {
            AnyRef::Windowed(filter) => !filter.spec().may_overflow(),
            _ => self.growth() == Growth::Fixed,
        }
    }

    /// The seed of the hash, where it is a number of 64 bits. None in RedisBloom's layout, whose
    /// seeds are constant, and in valkey-bloom's, whose seed has 32 bytes.
    pub fn seed(&self) -> Option<u64> {
        match self.view() {
            AnyRef::Bloomline(filter) => Some(filter.seed()),
            AnyRef::Small(filter) => Some(filter.seed()),
            AnyRef::Windowed(filter) => Some(filter.seed()),
            AnyRef::RedisBloom(_) | AnyRef::ValkeyBloom(_) => None,
        }
    }

    /// The target rate. In RedisBloom's layout it is twice that of the first layer if the filter
    /// grows; in valkey-bloom's it is that of the first layer, so a filter that grows exceeds it.
    pub fn error_rate(&self) -> f64 {
        any!(self, filter => filter.spec().error_rate)
    }

    pub fn try_clone(&self, permit: Permit) -> Result<Self, Error> {
        match self.view() {
            AnyRef::Bloomline(filter) => Self::in_box(filter.try_clone(permit)?),
            AnyRef::Small(filter) => filter.try_clone(permit).map(Self::from),
            AnyRef::Windowed(filter) => filter.try_clone(permit).map(Self::from),
            AnyRef::RedisBloom(filter) => Self::in_box(filter.try_clone(permit)?),
            AnyRef::ValkeyBloom(filter) => Self::in_box(filter.try_clone(permit)?),
        }
    }

    /// The windowed filter, if it is one.
    #[inline]
    pub fn windowed(&self) -> Option<&WindowedFilter> {
        if let AnyRef::Windowed(filter) = self.view() { Some(filter) } else { None }
    }

    /// The windowed filter, if it is one, to be changed.
    #[inline]
    pub fn windowed_mut(&mut self) -> Option<&mut WindowedFilter> {
        if let AnyMut::Windowed(filter) = self.view_mut() { Some(filter) } else { None }
    }

    /// The filter in valkey-bloom's layout, if it is one.
    pub fn valkey(&self) -> Option<&ValkeyFilter> {
        if let AnyRef::ValkeyBloom(filter) = self.view() { Some(filter) } else { None }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if the filter is the list of its items.
    #[inline(always)]
    pub fn is_listed(&self) -> bool {
        matches!(self.view(), AnyRef::Small(filter) if filter.is_listed())
    }

    /// Bytes of a small filter, which also grows without a new layer; 0 of others.
    #[inline(always)]
    pub fn small_bytes(&self) -> u64 {
        if let AnyRef::Small(filter) = self.view() { filter.size_bytes() } else { 0 }
    }

    /// New items that can be inserted before the header has no list of all items: 0 if it has none.
    #[inline]
    pub fn listed_room(&self) -> u64 {
        if let AnyRef::Small(filter) = self.view() { filter.listed_room() } else { 0 }
    }

    /// See [`Filter::added_since`]. None for a windowed filter, which also loses items.
    pub fn added_since(&self, layers: u32, newest_len: u64) -> Option<Increase> {
        match self.view() {
            AnyRef::Bloomline(filter) => Some(filter.added_since(layers, newest_len)),
            AnyRef::Small(filter) => Some(filter.added_since(layers, newest_len)),
            AnyRef::Windowed(_) => None,
            AnyRef::RedisBloom(filter) => Some(filter.added_since(layers, newest_len)),
            AnyRef::ValkeyBloom(filter) => Some(filter.added_since(layers, newest_len)),
        }
    }

    /// Gives back the memory that the items do not need, and returns the number of bytes: 0 if, and
    /// only if, nothing has changed. See [`Filter::compact`].
    ///
    /// # Errors
    ///
    /// [`Error::Windowed`], [`Error::OfValkeyBloom`].
    pub fn compact(&mut self) -> Result<u64, Error> {
        match self.view_mut() {
            AnyMut::Bloomline(filter) => Ok(filter.compact()),
            // Its layer is too small to become smaller.
            AnyMut::Small(_) => Ok(0),
            AnyMut::RedisBloom(filter) => Ok(filter.compact()),
            AnyMut::Windowed(_) | AnyMut::ValkeyBloom(_) => Err(self.refusal()),
        }
    }

    /// Why the filter cannot be merged with one of another kind, or cannot be compacted.
    pub(crate) fn refusal(&self) -> Error {
        match self.view() {
            AnyRef::Windowed(_) => Error::Windowed,
            AnyRef::ValkeyBloom(_) => Error::OfValkeyBloom,
            AnyRef::Bloomline(_) | AnyRef::Small(_) | AnyRef::RedisBloom(_) => {
                Error::Differs(Parameter::Layout)
            }
        }
    }

    /// Calls `see` with each of [`Bits::chunks`], until it breaks.
    pub fn each_chunk<'a>(
        &'a self,
        from: u64,
        max_bytes: usize,
        mut see: impl FnMut(Chunk<'a>) -> ControlFlow<()>,
    ) {
        let _ = any!(self, filter => filter.chunks(from, max_bytes).try_for_each(&mut see));
    }

    /// See [`Bits::write_chunk`].
    ///
    /// # Errors
    ///
    /// [`Error::Chunk`].
    pub fn write_chunk(&mut self, offset: u64, chunk: &[u8]) -> Result<bool, Error> {
        any!(
            mut self,
            filter => filter.write_chunk(offset, chunk),
            small => filter.write_bits(offset, chunk)
        )
    }

    /// Calls `see` with the bits of each layer, oldest first.
    pub fn each_layer<'a>(&'a self, see: impl FnMut(WordsRef<'a>)) {
        any!(self, filter => filter.each_bits().for_each(see));
    }

    /// Calls `write` with the bits of each layer, oldest first, until it fails.
    pub fn try_each_layer_mut<E>(
        &mut self,
        write: impl FnMut(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        any!(mut self, filter => filter.each_bits_mut().try_for_each(write))
    }

    /// The fill of each layer, oldest first, in [0, 1]; see [`Filter::samples`].
    pub fn fills(&self) -> Vec<f64> {
        any!(
            self,
            filter => filter.samples().map(|(layer, sample)| layer.words().fill(sample)).collect(),
            small => vec![filter.with_layer(|layer| layer.words().fill(SAMPLE_PAGES))]
        )
    }

    /// The false-positive rate of each layer, oldest first, computed from its fill; in [0, 1].
    pub fn fp_rates(&self) -> Vec<f64> {
        any!(
            self,
            filter => filter.samples().map(|(layer, sample)| layer.by_fill(sample).rate).collect(),
            small => vec![filter.with_layer(|layer| layer.by_fill(SAMPLE_PAGES).rate)]
        )
    }

    /// Calls `see` with the start of each allocation that the filter owns.
    pub fn each_allocation(&self, mut see: impl FnMut(NonNull<u8>)) {
        match self.view() {
            AnyRef::Small(_) | AnyRef::Windowed(_) => {}
            AnyRef::Bloomline(_) | AnyRef::RedisBloom(_) | AnyRef::ValkeyBloom(_) => {
                see(self.start());
            }
        }
        any!(self, filter => filter.allocations().for_each(see))
    }
}
