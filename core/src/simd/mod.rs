//! Blocks, and the backends that test and set bits in them: scalar, AVX2, AVX-512.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod block;
pub mod scalar;

use std::sync::OnceLock;

pub use block::{BLOCK_SECTORS, Block};
pub use scalar::Scalar;

/// Bits of a pattern that choose the bit in a sector.
pub(crate) const PLACE_BITS: u32 = 6;
/// Bits of a pattern that choose the first of the consecutive sectors.
pub(crate) const SECTOR_BITS: u32 = 3;
/// Where in a pattern they stand: above the bit indexes of all sectors.
pub(crate) const START_SHIFT: u32 = PLACE_BITS * BLOCK_SECTORS as u32;

/// Tests and sets the bits of a pattern in a block. All backends give the same answers.
///
/// A value of the type is the proof that this processor has the instructions.
pub trait Backend: Copy {
    /// A pattern that is prepared for many blocks.
    type Pattern: Copy;

    /// Prepares a pattern.
    fn prepare(self, pattern: u64) -> Self::Pattern;

    /// True if the first `bits` bits of the pattern are set, 1 to 8.
    fn test(self, block: &Block, pattern: Self::Pattern, bits: u8) -> bool;

    /// The same with a pattern that is needed for one block only.
    #[inline(always)]
    fn test_once(self, block: &Block, pattern: u64, bits: u8) -> bool {
        self.test(block, self.prepare(pattern), bits)
    }

    /// Sets the first `bits` bits of the pattern.
    fn set(self, block: &mut Block, pattern: u64, bits: u8);
}

/// Work on blocks that any backend can do.
pub trait Task {
    /// What comes of it.
    type Output;

    /// Does the work.
    ///
    /// Every callee that is generic over the backend must be `inline(always)`: intrinsics are
    /// inlined only into a function that enables the same target features, and closures cannot
    /// carry them.
    fn run<B: Backend>(self, backend: B) -> Self::Output;
}

/// The fastest backend of this processor, with the proof that it is available.
#[derive(Clone, Copy)]
enum Selected {
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    Scalar,
}

impl Selected {
    /// Selects once per process. With the feature `scalar`, the scalar backend on every processor.
    #[inline(always)]
    fn get() -> Self {
        // One load: detection itself asks for half a dozen features.
        static SELECTED: OnceLock<Selected> = OnceLock::new();
        *SELECTED.get_or_init(Self::detect)
    }

    fn detect() -> Self {
        #[cfg(all(target_arch = "x86_64", not(feature = "scalar")))]
        {
            if let Some(backend) = avx512::Avx512::detect() {
                return Self::Avx512(backend);
            }
            if let Some(backend) = avx2::Avx2::detect() {
                return Self::Avx2(backend);
            }
        }
        Self::Scalar
    }
}

/// Does the work with the fastest backend of this processor.
#[inline(always)]
pub fn dispatch<T: Task>(task: T) -> T::Output {
    match Selected::get() {
        #[cfg(target_arch = "x86_64")]
        Selected::Avx512(backend) => backend.perform(task),
        #[cfg(target_arch = "x86_64")]
        Selected::Avx2(backend) => backend.perform(task),
        Selected::Scalar => task.run(Scalar),
    }
}

/// Does the work for a single item: with AVX2 even where AVX-512 is available.
///
/// Between single commands the processor's widest units sleep. Measured in a server on a Zen 4, in
/// turns: BF.ADD of new items takes 0.89 of the time with AVX2, and no single command takes more
/// than 1.01. Scalar code takes 0.93 out of cache, but 1.2 to 1.3 in 14 layers.
#[inline(always)]
pub fn dispatch_single<T: Task>(task: T) -> T::Output {
    match Selected::get() {
        #[cfg(target_arch = "x86_64")]
        Selected::Avx512(backend) => backend.narrow().perform(task),
        #[cfg(target_arch = "x86_64")]
        Selected::Avx2(backend) => backend.perform(task),
        Selected::Scalar => task.run(Scalar),
    }
}

/// Does the work with the scalar backend, and with the multiplications of BMI2 where this
/// processor has them.
#[inline(always)]
pub fn dispatch_scalar<T: Task>(task: T) -> T::Output {
    match Selected::get() {
        #[cfg(target_arch = "x86_64")]
        // Both have found BMI2.
        Selected::Avx512(_) | Selected::Avx2(_) => {
            #[target_feature(enable = "bmi1,bmi2")]
            fn perform<T: Task>(task: T) -> T::Output {
                task.run(Scalar)
            }
            // SAFETY: see above.
            unsafe { perform(task) }
        }
        Selected::Scalar => task.run(Scalar),
    }
}

/// Prefetches the cache line at an address, which need not be valid.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
