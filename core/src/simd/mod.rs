//! Blocks, and the backends that test and set bits in them: scalar, AVX2, AVX-512, NEON.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod block;
pub mod lanes;
#[cfg(target_arch = "aarch64")]
pub mod neon;
pub mod scalar;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod shifts;

use std::sync::OnceLock;

pub use block::{BLOCK_SECTORS, Block};
pub use lanes::{Lanes, MOST_LANES};
pub use scalar::Scalar;

/// Bits of a pattern that select the bit in one sector: a bit index from 0 to 63.
pub(crate) const INDEX_BITS: u32 = 6;
/// Bits of a pattern that select the start: the first of the consecutive sectors.
pub(crate) const SECTOR_BITS: u32 = 3;
/// Position of the start in a pattern: above the eight bit indexes.
pub(crate) const START_SHIFT: u32 = INDEX_BITS * BLOCK_SECTORS as u32;

/// Tests and sets the bits of a pattern in a block. All backends give the same answers.
///
/// A value of the type proves that this processor has the instructions.
pub trait Backend: Copy {
    /// A pattern that is prepared to be tested in many blocks.
    type Pattern: Copy;
    /// Numbers side by side.
    type Lanes: Lanes;

    fn prepare(self, pattern: u64) -> Self::Pattern;

    /// True if the first `bits` bits of the pattern, 1 to 8, are set in the block.
    fn test(self, block: &Block, pattern: Self::Pattern, bits: u8) -> bool;

    /// Like [`Backend::test`], for a pattern that is tested in one block only.
    #[inline(always)]
    fn test_once(self, block: &Block, pattern: u64, bits: u8) -> bool {
        self.test(block, self.prepare(pattern), bits)
    }

    /// Sets the first `bits` bits of the pattern, 1 to 8, in the block.
    fn set(self, block: &mut Block, pattern: u64, bits: u8);

    fn lanes(self, number: impl FnMut(usize) -> u64) -> Self::Lanes;
}

/// Work on blocks that any backend can do.
pub trait Task {
    type Output;

    /// Does the work with a backend.
    ///
    /// Every callee that is generic over the backend must be `inline(always)`: intrinsics are
    /// inlined only into a function that enables the same target features, and closures cannot
    /// carry them.
    fn run<B: Backend>(self, backend: B) -> Self::Output;
}

/// The fastest backend of this processor, with the proof that the processor has it.
#[derive(Clone, Copy)]
enum Selected {
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "aarch64")]
    Neon(neon::Neon),
    Scalar,
}

impl Selected {
    /// Selects the backend once per process. With the feature `scalar` it is the scalar backend on
    /// every processor.
    #[inline(always)]
    fn get() -> Self {
        // One load instead of tests of half a dozen processor features.
        static SELECTED: OnceLock<Selected> = OnceLock::new();
        *SELECTED.get_or_init(Self::detect)
    }

    fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if !cfg!(feature = "scalar") {
            if let Some(backend) = avx512::Avx512::detect() {
                return Self::Avx512(backend);
            }
            if let Some(backend) = avx2::Avx2::detect() {
                return Self::Avx2(backend);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if !cfg!(feature = "scalar") {
            return Self::Neon(neon::Neon);
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
        #[cfg(target_arch = "aarch64")]
        Selected::Neon(backend) => task.run(backend),
        Selected::Scalar => task.run(Scalar),
    }
}

/// Does the work for a single item: with AVX2 even where AVX-512 is available.
///
/// The 512-bit units power down between isolated commands. Scalar code would take longer in filters
/// of many layers. See docs/explanation/performance.md.
#[inline(always)]
pub fn dispatch_single<T: Task>(task: T) -> T::Output {
    match Selected::get() {
        #[cfg(target_arch = "x86_64")]
        Selected::Avx512(backend) => backend.narrow().perform(task),
        #[cfg(target_arch = "x86_64")]
        Selected::Avx2(backend) => backend.perform(task),
        #[cfg(target_arch = "aarch64")]
        Selected::Neon(backend) => task.run(backend),
        Selected::Scalar => task.run(Scalar),
    }
}

/// Does the work with the scalar backend, and with the multiplications of BMI2 where this
/// processor has them.
#[inline(always)]
pub fn dispatch_scalar<T: Task>(task: T) -> T::Output {
    match Selected::get() {
        #[cfg(target_arch = "x86_64")]
        // Both backends require BMI1 and BMI2.
        Selected::Avx512(_) | Selected::Avx2(_) => {
            #[target_feature(enable = "bmi1,bmi2")]
            fn perform<T: Task>(task: T) -> T::Output {
                task.run(Scalar)
            }
            // SAFETY: the value in `Selected` proves that the processor has BMI1 and BMI2.
            unsafe { perform(task) }
        }
        #[cfg(target_arch = "aarch64")]
        Selected::Neon(_) => task.run(Scalar),
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
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above. `PRFM` is an instruction of every processor of this architecture.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{address}]",
            address = in(reg) address,
            options(nostack, readonly, preserves_flags),
        );
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}
