//! The AVX2 backend: a block is two vectors of four sectors.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_and_si256, _mm256_blendv_epi8, _mm256_cmpgt_epi64,
    _mm256_loadu_si256, _mm256_or_si256, _mm256_set_epi64x, _mm256_set1_epi64x,
    _mm256_shuffle_epi32, _mm256_sllv_epi64, _mm256_srlv_epi64, _mm256_storeu_si256,
    _mm256_testc_si256, _mm256_xor_si256,
};
use std::array;

use super::shifts::shifts;
use super::{Backend, Block, INDEX_BITS, Lanes, MOST_LANES, Task};

/// Proof that this processor has AVX2, BMI1 and BMI2. Only [`Avx2::detect`] creates it.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    /// Detects the features. The standard library caches them.
    #[inline(always)]
    pub fn detect() -> Option<Self> {
        let has_bmi = is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2");
        (has_bmi && is_x86_feature_detected!("avx2")).then_some(Self(()))
    }

    /// Runs a task in a function that enables AVX2, so that intrinsics are inlined into it.
    #[inline(always)]
    pub fn perform<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2")]
        fn perform<T: Task>(task: T, backend: Avx2) -> T::Output {
            task.run(backend)
        }
        // SAFETY: `self` proves that the processor has these features.
        unsafe { perform(task, self) }
    }
}

/// For each sector of a block: the bit of the pattern, and the shift of its bit index in the
/// pattern. The first `n` bits of the pattern are those with a shift below `6 * n`.
#[derive(Clone, Copy)]
pub struct Pattern {
    bits: [__m256i; 2],
    shifts: [__m256i; 2],
}

impl Backend for Avx2 {
    type Pattern = Pattern;
    type Lanes = Lanes256;

    #[inline(always)]
    fn prepare(self, pattern: u64) -> Pattern {
        // SAFETY: `self` proves that the processor has AVX2, and eight shifts are two vectors.
        unsafe {
            let shifts: *const __m256i = shifts(pattern).as_ptr().cast();
            let all = _mm256_set1_epi64x(pattern as i64);
            let mask = _mm256_set1_epi64x((1 << INDEX_BITS) - 1);
            let one = _mm256_set1_epi64x(1);
            // All shifts are below 64. The mask lets the compiler know, which otherwise adds six
            // instructions for larger ones.
            let low_shifts = _mm256_and_si256(_mm256_loadu_si256(shifts), mask);
            let high_shifts = _mm256_and_si256(_mm256_loadu_si256(shifts.add(1)), mask);
            let low = _mm256_and_si256(_mm256_srlv_epi64(all, low_shifts), mask);
            let high = _mm256_and_si256(_mm256_srlv_epi64(all, high_shifts), mask);
            Pattern {
                bits: [_mm256_sllv_epi64(one, low), _mm256_sllv_epi64(one, high)],
                shifts: [low_shifts, high_shifts],
            }
        }
    }

    #[inline(always)]
    fn test(self, block: &Block, pattern: Pattern, bits: u8) -> bool {
        // SAFETY: `self` proves that the processor has AVX2, and a block is two vectors.
        unsafe {
            let [low, high] = first_bits(pattern, bits);
            let sectors: *const __m256i = block.0.as_ptr().cast();
            let has_low = _mm256_testc_si256(_mm256_loadu_si256(sectors), low);
            let has_high = _mm256_testc_si256(_mm256_loadu_si256(sectors.add(1)), high);
            has_low & has_high == 1
        }
    }

    #[inline(always)]
    fn set(self, block: &mut Block, pattern: u64, bits: u8) {
        let pattern = self.prepare(pattern);
        // SAFETY: as in `test`.
        unsafe {
            let [low, high] = first_bits(pattern, bits);
            let sectors: *mut __m256i = block.0.as_mut_ptr().cast();
            _mm256_storeu_si256(sectors, _mm256_or_si256(_mm256_loadu_si256(sectors), low));
            let sectors = sectors.add(1);
            _mm256_storeu_si256(sectors, _mm256_or_si256(_mm256_loadu_si256(sectors), high));
        }
    }

    #[inline(always)]
    fn lanes(self, mut number: impl FnMut(usize) -> u64) -> Lanes256 {
        let [a, b, c, d] = array::from_fn(|lane| number(lane) as i64);
        // SAFETY: `self` proves that the processor has AVX2.
        Lanes256(unsafe { _mm256_set_epi64x(d, c, b, a) })
    }
}

/// Four numbers, and with them the proof that this processor has AVX2.
#[derive(Clone, Copy)]
pub struct Lanes256(__m256i);

impl Lanes for Lanes256 {
    const COUNT: usize = 4;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a value of this type proves that the processor has AVX2.
        Self(unsafe { _mm256_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: as in `add`.
        Self(unsafe { _mm256_xor_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn rotate_left<const BITS: u32>(self) -> Self {
        // SAFETY: as in `add`.
        Self(unsafe {
            if BITS == 32 {
                // The halves of each lane are exchanged.
                return Self(_mm256_shuffle_epi32::<0b10_11_00_01>(self.0));
            }
            let left = _mm256_sllv_epi64(self.0, _mm256_set1_epi64x(BITS.into()));
            let right = _mm256_srlv_epi64(self.0, _mm256_set1_epi64x((64 - BITS).into()));
            _mm256_or_si256(left, right)
        })
    }

    #[inline(always)]
    fn where_below(self, number: u64, limits: Self, other: Self) -> Self {
        // SAFETY: as in `add`.
        Self(unsafe {
            let is_below = _mm256_cmpgt_epi64(limits.0, _mm256_set1_epi64x(number as i64));
            _mm256_blendv_epi8(other.0, self.0, is_below)
        })
    }

    #[inline(always)]
    fn numbers(self) -> [u64; MOST_LANES] {
        let mut numbers = [0; MOST_LANES];
        // SAFETY: as in `add`, and the array has room for the vector.
        unsafe { _mm256_storeu_si256(numbers.as_mut_ptr().cast(), self.0) };
        numbers
    }
}

/// A block with the first `bits` bits of the pattern.
///
/// # Safety
///
/// The processor must have AVX2.
#[inline(always)]
unsafe fn first_bits(pattern: Pattern, bits: u8) -> [__m256i; 2] {
    // SAFETY: the caller guarantees AVX2.
    unsafe {
        let end = _mm256_set1_epi64x((u32::from(bits) * INDEX_BITS).into());
        let Pattern { bits: [low, high], shifts: [low_shifts, high_shifts] } = pattern;
        [
            _mm256_and_si256(low, _mm256_cmpgt_epi64(end, low_shifts)),
            _mm256_and_si256(high, _mm256_cmpgt_epi64(end, high_shifts)),
        ]
    }
}
