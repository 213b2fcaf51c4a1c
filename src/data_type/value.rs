//! The word that the server stores for a filter.
//!
//! | lowest two bits | the rest is the address of |
//! |---|---|
//! | 0 | a box with the filter |
//! | others | what `packed.rs` says |
//!
//! A filter without a box is *unpacked* to be used: its numbers are copied, its bits are not. Then
//! any method may be called. After a change it is packed again, and may need a box from then on.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use super::family::DataType;
use super::packed::Packed;

/// The bits of an address with the form of the filter. All allocations are aligned to words.
const FORM: usize = 3;

/// The word of a filter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Value(NonNull<c_void>);

impl Value {
    /// Gives up a filter to the server.
    #[inline]
    pub fn of<F: DataType>(filter: F) -> Self {
        match filter.pack() {
            Ok(Packed { block, form }) => Self(block.cast().map_addr(|address| address | form)),
            Err(filter) => Self(NonNull::from(Box::leak(Box::new(filter))).cast()),
        }
    }

    #[inline]
    pub fn stored(word: NonNull<c_void>) -> Self {
        Self(word)
    }

    /// The word, to be stored.
    #[inline]
    pub fn word(self) -> NonNull<c_void> {
        self.0
    }

    /// The filter in another form; none if it is in a box.
    #[inline(always)]
    pub fn packed(self) -> Option<Packed> {
        let form = self.0.addr().get() & FORM;
        (form != 0).then(|| Packed { block: self.block(), form })
    }

    /// The allocation at the address.
    #[inline(always)]
    pub fn block(self) -> NonNull<u8> {
        // Without these bits an address is still that of an allocation, and not 0.
        let start = self.0.as_ptr().map_addr(|address| address & !FORM);
        NonNull::new(start).unwrap_or(self.0).cast()
    }

    /// The same filter after its allocation was moved to `block`.
    pub fn moved_to(self, block: NonNull<u8>) -> Self {
        let form = self.0.addr().get() & FORM;
        Self(block.cast().map_addr(|address| address | form))
    }

    /// The filter, unpacked; none if it is in a box.
    ///
    /// # Safety
    ///
    /// The word must come from [`Value::of`] of this family. The result and the value are one
    /// filter: only one of them may be changed or dropped.
    #[inline(always)]
    unsafe fn unpacked<F: DataType>(self) -> Option<ManuallyDrop<F>> {
        let packed = self.packed()?;
        // SAFETY: guaranteed by the caller.
        unsafe { F::unpack(packed) }.map(ManuallyDrop::new)
    }

    /// Takes the filter back.
    ///
    /// # Safety
    ///
    /// The word must come from [`Value::of`] of this family, and nothing may use it afterwards.
    pub unsafe fn take<F: DataType>(self) -> F {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.unpacked() {
                Some(filter) => ManuallyDrop::into_inner(filter),
                None => *Box::from_raw(self.0.cast::<F>().as_ptr()),
            }
        }
    }

    /// The filter, to be read.
    ///
    /// # Safety
    ///
    /// The word must come from [`Value::of`] of this family, and nothing may change the filter
    /// while the result is used.
    #[inline(always)]
    pub unsafe fn read<'a, F: DataType>(self) -> Opened<'a, F> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.unpacked() {
                Some(filter) => Opened::Unpacked(filter),
                None => Opened::Boxed(self.0.cast().as_ref()),
            }
        }
    }

    /// Calls `write` with the filter, to be changed. If another value holds the filter afterwards,
    /// `moved` is called with it, also if `write` panics.
    ///
    /// # Safety
    ///
    /// The word must come from [`Value::of`] of this family, and nothing else may use the filter
    /// meanwhile. After a call of `moved` this value must not be used.
    #[inline(always)]
    pub unsafe fn write<F: DataType, T>(
        self,
        write: impl FnOnce(&mut F) -> T,
        moved: impl FnMut(Self),
    ) -> T {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.unpacked::<F>() {
                Some(filter) => write(&mut Unpacked { filter, from: self, moved }.filter),
                None => write(self.0.cast().as_mut()),
            }
        }
    }
}

/// A filter that is packed again when it is dropped.
struct Unpacked<F: DataType, M: FnMut(Value)> {
    filter: ManuallyDrop<F>,
    from: Value,
    moved: M,
}

impl<F: DataType, M: FnMut(Value)> Drop for Unpacked<F, M> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: the filter is not used afterwards.
        let value = Value::of(unsafe { ManuallyDrop::take(&mut self.filter) });
        if value != self.from {
            (self.moved)(value);
        }
    }
}

/// A filter that a value holds, to be read.
pub enum Opened<'a, F> {
    Boxed(&'a F),
    /// A copy of the filter's numbers, and the addresses of its bits.
    Unpacked(ManuallyDrop<F>),
}

impl<F> Deref for Opened<'_, F> {
    type Target = F;

    #[inline(always)]
    fn deref(&self) -> &F {
        match self {
            Self::Boxed(filter) => filter,
            Self::Unpacked(filter) => filter,
        }
    }
}
