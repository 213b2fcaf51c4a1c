//! How a layout maps the hash of an item to bits: one file a layout, and one for each way to look
//! at a line.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod bloomline;
pub mod probe;

use std::sync::OnceLock;

use probe::{Probe, Scalar};

/// Work on lines that can be done in any way to look at them.
pub trait Task {
    /// What comes of it.
    type Output;

    /// Does the work. Must be `#[inline(always)]`, and so must all it calls with `probe`; closures
    /// can't be: the instructions of a probe are inlined only into functions that are allowed
    /// to have them.
    fn run<P: Probe>(self, probe: P) -> Self::Output;
}

/// The ways to look at a line, with the proof that this processor has them.
#[derive(Clone, Copy)]
enum Way {
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    Scalar,
}

impl Way {
    /// The fastest of this processor; with the feature `scalar`, word by word on every processor.
    fn fastest() -> Self {
        #[cfg(all(target_arch = "x86_64", not(feature = "scalar")))]
        {
            if let Some(probe) = avx512::Avx512::detect() {
                return Way::Avx512(probe);
            }
            if let Some(probe) = avx2::Avx2::detect() {
                return Way::Avx2(probe);
            }
        }
        Way::Scalar
    }
}

/// Does the work in the fastest way this processor has.
#[inline(always)]
pub fn dispatch<T: Task>(task: T) -> T::Output {
    // One look at memory: the processor is asked for half a dozen features.
    static WAY: OnceLock<Way> = OnceLock::new();
    match WAY.get_or_init(Way::fastest) {
        #[cfg(target_arch = "x86_64")]
        Way::Avx512(probe) => probe.perform(task),
        #[cfg(target_arch = "x86_64")]
        Way::Avx2(probe) => probe.perform(task),
        Way::Scalar => task.run(Scalar),
    }
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
