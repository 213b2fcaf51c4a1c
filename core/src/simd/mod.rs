//! How a layout maps the hash of an item to bits: one file a layout, and one for each way to look
//! at a line.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod scalar;

use std::sync::OnceLock;

pub use scalar::Scalar;

/// Sectors of a block: 64 bytes, what a processor fetches at once.
pub const BLOCK_SECTORS: usize = 8;

/// A line of 512 bits.
pub type Block = [u64; BLOCK_SECTORS];

/// Bits of a pattern that choose the bit in a word.
pub(crate) const PLACE_BITS: u32 = 6;
/// Bits of a pattern that choose the first word of the window.
pub(crate) const SECTOR_BITS: u32 = 3;
/// Where in a pattern they stand: above the places of all words.
pub(crate) const START_SHIFT: u32 = PLACE_BITS * BLOCK_SECTORS as u32;

/// A way to test and set the bits of a pattern in a line. All ways give the same answers.
///
/// A value of the type is the proof that this processor can do it that way.
pub trait Backend: Copy {
    /// A pattern, prepared for many lines.
    type Pattern: Copy;

    /// Prepares a pattern.
    fn prepare(self, pattern: u64) -> Self::Pattern;

    /// Whether the first `bits` bits of the pattern are set, 1 to 8.
    fn test(self, line: &Block, pattern: Self::Pattern, bits: u8) -> bool;

    /// The same of a pattern that is needed for one line only.
    #[inline(always)]
    fn test_once(self, line: &Block, pattern: u64, bits: u8) -> bool {
        self.test(line, self.prepare(pattern), bits)
    }

    /// Sets the first `bits` bits of the pattern.
    fn set(self, line: &mut Block, pattern: u64, bits: u8);
}

/// Work on lines that can be done in any way to look at them.
pub trait Task {
    /// What comes of it.
    type Output;

    /// Does the work. Must be `#[inline(always)]`, and so must all it calls with `backend`; closures
    /// can't be: the instructions of a backend are inlined only into functions that are allowed
    /// to have them.
    fn run<P: Backend>(self, backend: P) -> Self::Output;
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
            if let Some(backend) = avx512::Avx512::detect() {
                return Way::Avx512(backend);
            }
            if let Some(backend) = avx2::Avx2::detect() {
                return Way::Avx2(backend);
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
        Way::Avx512(backend) => backend.perform(task),
        #[cfg(target_arch = "x86_64")]
        Way::Avx2(backend) => backend.perform(task),
        Way::Scalar => task.run(Scalar),
    }
}

/// Asks the processor to fetch the cache line at an address, which need not be valid.
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
