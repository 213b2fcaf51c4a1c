//! How a layout maps the hash of an item to bits: one file a layout, and one for each way to look at a line.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod bloomline;
pub mod probe;
#[cfg(target_arch = "x86_64")]
mod window;

use probe::{Probe, Scalar};

/// Work on lines that can be done in any way to look at them.
pub trait Task {
    /// What comes of it.
    type Output;

    /// Does the work. Must be `#[inline(always)]`, and so must all it calls with `probe`; closures can't be: the
    /// instructions of a probe are inlined only into functions that are allowed to have them.
    fn run<P: Probe>(self, probe: P) -> Self::Output;
}

/// Does the work in the fastest way this processor has; with the feature `scalar`, word by word on every processor.
#[inline(always)]
pub fn dispatch<T: Task>(task: T) -> T::Output {
    #[cfg(all(target_arch = "x86_64", not(feature = "scalar")))]
    {
        if let Some(probe) = avx512::Avx512::detect() {
            return probe.perform(task);
        }
        if let Some(probe) = avx2::Avx2::detect() {
            return probe.perform(task);
        }
    }
    task.run(Scalar)
}

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
