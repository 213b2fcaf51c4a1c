//! A filter of either layout, or one that forgets.

mod items;
mod union;

use std::ops::ControlFlow;
use std::ptr::NonNull;

use crate::bloomline::Filter;
use crate::bloomline::irregular::is_length;
use crate::chunk::Chunk;
use crate::error::Error;
use crate::layer::Layer;
use crate::memory::words::{Mover, Words};
use crate::redisbloom::geometry::Options;
use crate::redisbloom::{ClassicFilter, Common};
use crate::scalable::Added;
use crate::spec::{Growth, Layout, Permit, Spec};
use crate::window::WindowedFilter;

/// A filter of either layout, or one that forgets. The methods are those of [`Filter`].
#[derive(Debug)]
pub enum AnyFilter {
    /// A filter in this project's layout.
    Bloomline(Filter),
    /// A filter that forgets, in this project's layout.
    Windowed(Box<WindowedFilter>),
    /// A filter in RedisBloom's layout. It is boxed, so that the enum is as small as [`Filter`].
    RedisBloom(Box<ClassicFilter>),
}

const _: () = assert!(size_of::<AnyFilter>() == size_of::<Filter>());

/// Evaluates an expression with the filter of any kind.
macro_rules! any {
    ($any:expr, $filter:ident => $do:expr) => {
        match $any {
            AnyFilter::Bloomline($filter) => $do,
            AnyFilter::Windowed($filter) => $do,
            AnyFilter::RedisBloom($filter) => $do,
        }
    };
}

impl From<ClassicFilter> for AnyFilter {
    fn from(filter: ClassicFilter) -> Self {
        Self::RedisBloom(Box::new(filter))
    }
}

impl From<WindowedFilter> for AnyFilter {
    fn from(filter: WindowedFilter) -> Self {
        Self::Windowed(Box::new(filter))
    }
}

impl From<Filter> for AnyFilter {
    fn from(filter: Filter) -> Self {
        Self::Bloomline(filter)
    }
}

impl AnyFilter {
    /// An empty filter in RedisBloom's layout, which stores an expansion even if the filter does
    /// not grow.
    ///
    /// # Errors
    ///
    /// Those of [`ClassicFilter::new`].
    pub fn redisbloom(spec: Spec, stored_expansion: u32, permit: Permit) -> Result<Self, Error> {
        let options = Options::of_new_filter(spec.growth == Growth::Fixed);
        let common = Common { options, expansion: stored_expansion };
        ClassicFilter::new(spec.capacity, spec.error_rate, common, permit).map(Self::from)
    }

    /// The filter of a header of either layout, its bits all zero.
    ///
    /// # Errors
    ///
    /// Those of [`Filter::decode_header`] and [`ClassicFilter::decode_header`].
    pub fn decode_header(bytes: &[u8], permit: Permit) -> Result<Self, Error> {
        // The length decides: a header of RedisBloom's layout never has one of these, but its first
        // bytes are a number and may be the magic.
        if !is_length(bytes.len()) {
            return ClassicFilter::decode_header(bytes, permit).map(Self::from);
        }
        if WindowedFilter::has_header(bytes) {
            WindowedFilter::decode_header(bytes, permit).map(Self::from)
        } else {
            Filter::decode_header(bytes, permit).map(Self::from)
        }
    }

    /// The header, in the filter's own layout.
    pub fn encode_header(&self) -> Vec<u8> {
        match self {
            Self::Bloomline(filter) => filter.encode_header(),
            Self::Windowed(filter) => filter.encode_header(),
            Self::RedisBloom(filter) => filter.encode_header(),
        }
    }

    /// The filter's layout.
    pub fn layout(&self) -> Layout {
        match self {
            Self::Bloomline(_) | Self::Windowed(_) => Layout::Bloomline,
            Self::RedisBloom(_) => Layout::RedisBloom,
        }
    }

    /// What happens when the newest layer is full.
    pub fn growth(&self) -> Growth {
        match self {
            Self::Bloomline(filter) => filter.spec().growth,
            Self::Windowed(filter) => filter.spec().growth,
            Self::RedisBloom(filter) => match *filter.common() {
                Common { options, .. } if options.is_fixed() => Growth::Fixed,
                Common { expansion, .. } => Growth::Scaling { expansion },
            },
        }
    }

    /// The target rate. In RedisBloom's layout it is twice that of the first layer if the filter
    /// grows.
    pub fn error_rate(&self) -> f64 {
        match self {
            Self::Bloomline(filter) => filter.spec().error_rate,
            Self::Windowed(filter) => filter.spec().error_rate,
            Self::RedisBloom(filter) => {
                let first = filter.layers().next().map_or(0.0, |layer| layer.shape().error);
                if filter.common().options.is_fixed() { first } else { first * 2.0 }
            }
        }
    }

    /// See [`Filter::try_clone`].
    ///
    /// # Errors
    ///
    /// Those of [`Filter::try_clone`].
    pub fn try_clone(&self, permit: Permit) -> Result<Self, Error> {
        any!(self, filter => filter.try_clone(permit).map(Self::from))
    }

    /// The filter that forgets, if it is one.
    #[inline]
    pub fn windowed(&self) -> Option<&WindowedFilter> {
        match self {
            Self::Windowed(filter) => Some(filter),
            Self::Bloomline(_) | Self::RedisBloom(_) => None,
        }
    }

    /// The filter that forgets, if it is one, to be changed.
    #[inline]
    pub fn windowed_mut(&mut self) -> Option<&mut WindowedFilter> {
        match self {
            Self::Windowed(filter) => Some(filter),
            Self::Bloomline(_) | Self::RedisBloom(_) => None,
        }
    }

    /// See [`Filter::len`].
    pub fn len(&self) -> u64 {
        any!(self, filter => filter.len())
    }

    /// See [`Filter::is_empty`].
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// See [`Filter::newest_len`]. Of a filter that forgets, the items in its newest generation.
    #[inline]
    pub fn newest_len(&self) -> u64 {
        match self {
            Self::Bloomline(filter) => filter.newest_len(),
            Self::Windowed(filter) => filter.newest().len(),
            Self::RedisBloom(filter) => filter.newest_len(),
        }
    }

    /// See [`Filter::capacity`].
    pub fn capacity(&self) -> u64 {
        any!(self, filter => filter.capacity())
    }

    /// See [`Filter::room`].
    #[inline]
    pub fn room(&self) -> u64 {
        any!(self, filter => filter.room())
    }

    /// See [`Filter::layer_count`].
    #[inline]
    pub fn layer_count(&self) -> u32 {
        any!(self, filter => filter.layer_count())
    }

    /// See [`Filter::size_bytes`].
    pub fn size_bytes(&self) -> u64 {
        any!(self, filter => filter.size_bytes())
    }

    /// See [`Filter::added_since`]. None for a filter that forgets, which also loses items.
    pub fn added_since(&self, layers: u32, newest_len: u64) -> Option<Added> {
        match self {
            Self::Bloomline(filter) => Some(filter.added_since(layers, newest_len)),
            Self::Windowed(_) => None,
            Self::RedisBloom(filter) => Some(filter.added_since(layers, newest_len)),
        }
    }

    /// Where the bits begin; see [`Filter::first_byte`] and [`WindowedFilter::first_byte`].
    pub fn first_byte(&self) -> u64 {
        any!(self, filter => filter.first_byte())
    }

    /// See [`Filter::chunk`].
    pub fn chunk(&self, offset: u64) -> Option<&[u8]> {
        any!(self, filter => filter.chunk(offset))
    }

    /// Calls `see` with each of [`Filter::chunks`], until it breaks.
    pub fn each_chunk<'a>(
        &'a self,
        from: u64,
        max_bytes: usize,
        mut see: impl FnMut(Chunk<'a>) -> ControlFlow<()>,
    ) {
        let _ = any!(self, filter => filter.chunks(from, max_bytes).try_for_each(&mut see));
    }

    /// See [`Filter::write_chunk`].
    ///
    /// # Errors
    ///
    /// [`Error::Chunk`].
    pub fn write_chunk(&mut self, offset: u64, chunk: &[u8]) -> Result<(), Error> {
        any!(self, filter => filter.write_chunk(offset, chunk))
    }

    /// Calls `see` with the bits of each layer, oldest first.
    pub fn each_layer(&self, mut see: impl FnMut(&Words)) {
        any!(self, filter => filter.layers().for_each(|layer| see(layer.words())))
    }

    /// Calls `write` with the bits of each layer, oldest first, until it fails.
    ///
    /// # Errors
    ///
    /// Those of `write`.
    pub fn try_each_layer_mut<E>(
        &mut self,
        mut write: impl FnMut(&mut Words) -> Result<(), E>,
    ) -> Result<(), E> {
        any!(self, filter => filter.layers_mut().try_for_each(|layer| write(layer.words_mut())))
    }

    /// The fill of each layer, oldest first, in [0, 1]; see [`Filter::samples`].
    pub fn fills(&self) -> Vec<f64> {
        any!(self, filter => filter.samples().map(|(layer, sample)| layer.words().fill(sample)).collect())
    }

    /// The false-positive rate of each layer, oldest first, computed from its fill; in [0, 1].
    pub fn fp_rates(&self) -> Vec<f64> {
        any!(self, filter => filter.samples().map(|(layer, sample)| layer.by_fill(sample).rate).collect())
    }

    /// Calls `see` with the start of each allocation that the filter owns. The allocation that
    /// holds the `AnyFilter` itself belongs to the caller.
    pub fn each_block(&self, mut see: impl FnMut(NonNull<u8>)) {
        match self {
            Self::Bloomline(_) => {}
            Self::Windowed(filter) => see(NonNull::from(&**filter).cast()),
            Self::RedisBloom(filter) => see(NonNull::from(&**filter).cast()),
        }
        any!(self, filter => filter.allocations().for_each(see))
    }

    /// See [`Filter::relocate`].
    pub fn relocate(
        &mut self,
        from: usize,
        mover: &mut Mover,
        should_stop: impl FnMut() -> bool,
    ) -> Option<usize> {
        any!(self, filter => filter.relocate(from, mover, should_stop))
    }
}
