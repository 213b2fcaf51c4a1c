//! A filter as one word: the address of an allocation, and in the lowest bits what that is.
//!
//! | tag | the allocation | the filter |
//! |---|---|---|
//! | 0 | words behind a header | one small layer, or a small ring: the header shows which |
//! | 1 | a [`LargeRing`] | windowed |
//! | 2 | a [`Filter`] | several layers, or a larger one |
//! | 3 | a [`RedisBloomFilter`] | in RedisBloom's layout |
//! | 4 | a [`ValkeyFilter`] | in valkey-bloom's layout |
//!
//! A host stores the word, so nothing is copied to use a filter. A reference to the word is also a
//! reference to the [`SmallFilter`], the [`SmallRing`] or the [`WindowedFilter`] in it: these are
//! words themselves, with the tags of their rows. So a filter that changes its form writes another
//! word where the old one was.
//!
//! This is the only file with `unsafe` code for words.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

use super::bloomline::Filter;
use super::redisbloom::RedisBloomFilter;
use super::small::SmallFilter;
use super::small::ring::SmallRing;
use super::valkey::ValkeyFilter;
use super::window::ring::LargeRing;
use crate::memory::headed::Headed;
use crate::memory::stored::Stored;
use crate::memory::words::Mover;

/// Bits of an address that are those of the tag: what is allocated is aligned to words.
const TAG_BITS: usize = 7;

const HEADED: usize = 0;
const RING: usize = 1;
const FILTER: usize = 2;
const REDISBLOOM: usize = 3;
const VALKEY: usize = 4;

const _: () = assert!(
    align_of::<LargeRing>() > TAG_BITS
        && align_of::<Filter>() > TAG_BITS
        && align_of::<RedisBloomFilter>() > TAG_BITS
        && align_of::<ValkeyFilter>() > TAG_BITS
);

/// The start of an allocation, plus a tag.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
struct Word(NonNull<()>);

impl Word {
    #[inline(always)]
    fn of_headed(headed: Headed) -> Self {
        Self(headed.into_raw().cast())
    }

    fn of_box<T>(filter: Box<T>, tag: usize) -> Self {
        let start = NonNull::from(Box::leak(filter)).cast();
        // SAFETY: the allocation is longer than a tag.
        Self(unsafe { start.byte_add(tag) })
    }

    #[inline(always)]
    fn tag(self) -> usize {
        self.0.addr().get() & TAG_BITS
    }

    /// The allocation.
    ///
    /// # Safety
    ///
    /// The tag must be that of the word.
    #[inline(always)]
    unsafe fn start<T>(self, tag: usize) -> NonNull<T> {
        debug_assert_eq!(self.tag(), tag);
        // SAFETY: the tag was added to the start.
        unsafe { self.0.byte_sub(tag) }.cast()
    }

    /// The start of the allocation.
    fn bytes(self) -> NonNull<u8> {
        // SAFETY: the tag is that of the word.
        unsafe { self.start(self.tag()) }
    }

    /// Frees the filter.
    ///
    /// # Safety
    ///
    /// The word must own it, and must not be used afterwards.
    unsafe fn free(self) {
        // SAFETY: guaranteed by the caller; the tag shows what was made a word.
        unsafe {
            match self.tag() {
                HEADED => drop(Headed::from_raw(self.start(HEADED))),
                RING => drop(Box::from_raw(self.start::<LargeRing>(RING).as_ptr())),
                FILTER => drop(Box::from_raw(self.start::<Filter>(FILTER).as_ptr())),
                REDISBLOOM => {
                    drop(Box::from_raw(self.start::<RedisBloomFilter>(REDISBLOOM).as_ptr()));
                }
                _ => drop(Box::from_raw(self.start::<ValkeyFilter>(VALKEY).as_ptr())),
            }
        }
    }
}

/// A filter of any layout, or a windowed one. The methods are those of [`Filter`].
#[repr(transparent)]
pub struct AnyFilter(Word);

/// A windowed filter: a ring of generations.
///
/// An item is hashed once for all layers of all generations.
#[repr(transparent)]
pub struct WindowedFilter(Word);

// SAFETY: it owns a filter, which is `Send` and `Sync`.
unsafe impl Send for AnyFilter {}
// SAFETY: as above.
unsafe impl Sync for AnyFilter {}
// SAFETY: as above.
unsafe impl Send for WindowedFilter {}
// SAFETY: as above.
unsafe impl Sync for WindowedFilter {}

impl Drop for AnyFilter {
    fn drop(&mut self) {
        // SAFETY: the word owns the filter, and is not used afterwards.
        unsafe { self.0.free() }
    }
}

impl Drop for WindowedFilter {
    fn drop(&mut self) {
        // SAFETY: as for `AnyFilter`.
        unsafe { self.0.free() }
    }
}

impl From<SmallFilter> for AnyFilter {
    #[inline]
    fn from(filter: SmallFilter) -> Self {
        Self(Word::of_headed(filter.into_headed()))
    }
}

impl From<WindowedFilter> for AnyFilter {
    #[inline]
    fn from(filter: WindowedFilter) -> Self {
        Self(ManuallyDrop::new(filter).0)
    }
}

impl From<Box<Filter>> for AnyFilter {
    fn from(filter: Box<Filter>) -> Self {
        Self(Word::of_box(filter, FILTER))
    }
}

impl From<Box<RedisBloomFilter>> for AnyFilter {
    fn from(filter: Box<RedisBloomFilter>) -> Self {
        Self(Word::of_box(filter, REDISBLOOM))
    }
}

impl From<Box<ValkeyFilter>> for AnyFilter {
    fn from(filter: Box<ValkeyFilter>) -> Self {
        Self(Word::of_box(filter, VALKEY))
    }
}

impl From<SmallRing> for WindowedFilter {
    fn from(ring: SmallRing) -> Self {
        Self(Word::of_headed(ring.into_headed()))
    }
}

impl From<Box<LargeRing>> for WindowedFilter {
    fn from(ring: Box<LargeRing>) -> Self {
        Self(Word::of_box(ring, RING))
    }
}

/// A filter of any kind, to be read.
#[derive(Clone, Copy)]
pub enum AnyRef<'a> {
    /// A filter in this project's layout.
    Bloomline(&'a Filter),
    /// The same of one small layer.
    Small(&'a SmallFilter),
    /// A windowed filter, in this project's layout.
    Windowed(&'a WindowedFilter),
    RedisBloom(&'a RedisBloomFilter),
    ValkeyBloom(&'a ValkeyFilter),
}

/// A filter of any kind, to be changed.
pub(crate) enum AnyMut<'a> {
    Bloomline(&'a mut Filter),
    Small(&'a mut SmallFilter),
    Windowed(&'a mut WindowedFilter),
    RedisBloom(&'a mut RedisBloomFilter),
    ValkeyBloom(&'a mut ValkeyFilter),
}

/// The ring of a windowed filter, to be read.
#[derive(Clone, Copy)]
pub(crate) enum RingRef<'a> {
    Small(&'a SmallRing),
    Large(&'a LargeRing),
}

/// The ring of a windowed filter, to be changed.
pub(crate) enum RingMut<'a> {
    Small(&'a mut SmallRing),
    Large(&'a mut LargeRing),
}

/// Transparent structs around an address, which are words themselves.
trait IsWord {}
impl IsWord for SmallFilter {}
impl IsWord for SmallRing {}
impl IsWord for WindowedFilter {}

impl Word {
    /// The same word as a `T`.
    ///
    /// # Safety
    ///
    /// It must be that of a `T`.
    #[inline(always)]
    unsafe fn cast<T: IsWord>(&self) -> &T {
        const { assert!(size_of::<T>() == size_of::<Self>()) };
        // SAFETY: both are transparent structs around an address.
        unsafe { &*ptr::from_ref(self).cast() }
    }

    /// The same word as a `T`, to be changed.
    ///
    /// # Safety
    ///
    /// It must be that of a `T`. It may become any other `T`.
    #[inline(always)]
    unsafe fn cast_mut<T: IsWord>(&mut self) -> &mut T {
        const { assert!(size_of::<T>() == size_of::<Self>()) };
        // SAFETY: both are transparent structs around an address.
        unsafe { &mut *ptr::from_mut(self).cast() }
    }

    /// True if the word is a small ring.
    ///
    /// # Safety
    ///
    /// The tag must be 0.
    #[inline(always)]
    unsafe fn is_small_ring(&self) -> bool {
        // SAFETY: with tag 0 the word is an address with a header, of whichever filter.
        SmallRing::is_header(unsafe { Headed::header_at(self.start(HEADED)) })
    }
}

impl Stored for AnyFilter {
    #[inline(always)]
    fn into_raw(self) -> NonNull<c_void> {
        ManuallyDrop::new(self).as_raw()
    }

    #[inline(always)]
    fn as_raw(&self) -> NonNull<c_void> {
        self.0.0.cast()
    }

    #[inline(always)]
    unsafe fn from_raw(word: NonNull<c_void>) -> Self {
        Self(Word(word.cast()))
    }
}

impl AnyFilter {
    /// The filter, to be read.
    #[inline(always)]
    pub fn view(&self) -> AnyRef<'_> {
        let word = &self.0;
        // SAFETY: the tag shows what was made a word, which lives as long as this one.
        unsafe {
            match word.tag() {
                HEADED if word.is_small_ring() => AnyRef::Windowed(word.cast()),
                HEADED => AnyRef::Small(word.cast()),
                RING => AnyRef::Windowed(word.cast()),
                FILTER => AnyRef::Bloomline(word.start(FILTER).as_ref()),
                REDISBLOOM => AnyRef::RedisBloom(word.start(REDISBLOOM).as_ref()),
                _ => AnyRef::ValkeyBloom(word.start(VALKEY).as_ref()),
            }
        }
    }

    /// The filter, to be changed.
    #[inline(always)]
    pub(crate) fn view_mut(&mut self) -> AnyMut<'_> {
        let word = &mut self.0;
        // SAFETY: as in `view`, and the word is borrowed exclusively.
        unsafe {
            match word.tag() {
                HEADED if word.is_small_ring() => AnyMut::Windowed(word.cast_mut()),
                HEADED => AnyMut::Small(word.cast_mut()),
                RING => AnyMut::Windowed(word.cast_mut()),
                FILTER => AnyMut::Bloomline(word.start(FILTER).as_mut()),
                REDISBLOOM => AnyMut::RedisBloom(word.start(REDISBLOOM).as_mut()),
                _ => AnyMut::ValkeyBloom(word.start(VALKEY).as_mut()),
            }
        }
    }

    /// The start of the allocation.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.0.bytes()
    }

    /// True if the word addresses a box.
    pub(crate) fn is_boxed(&self) -> bool {
        self.0.tag() != HEADED
    }

    /// Lets `mover` move the allocation.
    pub(crate) fn relocate_start(&mut self, mover: &mut Mover) {
        let tag = self.0.tag();
        // SAFETY: the word is the only address of the allocation, and is overwritten here. The new
        // allocation has the size of the old one.
        unsafe { self.0 = Word(mover.relocate(self.start()).byte_add(tag).cast()) };
    }
}

impl WindowedFilter {
    /// The ring, to be read.
    #[inline(always)]
    pub(crate) fn ring(&self) -> RingRef<'_> {
        // SAFETY: a windowed filter has tag 0 and is a small ring, or tag 1.
        unsafe {
            match self.0.tag() {
                HEADED => RingRef::Small(self.0.cast()),
                _ => RingRef::Large(self.0.start(RING).as_ref()),
            }
        }
    }

    /// The ring, to be changed.
    #[inline(always)]
    pub(crate) fn ring_mut(&mut self) -> RingMut<'_> {
        // SAFETY: as in `ring`, and the word is borrowed exclusively.
        unsafe {
            match self.0.tag() {
                HEADED => RingMut::Small(self.0.cast_mut()),
                _ => RingMut::Large(self.0.start(RING).as_mut()),
            }
        }
    }

    /// The start of the allocation.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.0.bytes()
    }
}
