//! How a layout maps the hash of an item to bits: one file a layout, and one for each way to look at a line.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
pub mod bloomline;
pub mod probe;

/// Asks the processor to fetch the cache line at an address, which need not be valid.
#[inline(always)]
pub(super) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
