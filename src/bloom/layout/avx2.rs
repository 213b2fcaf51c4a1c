//! Testing and setting the bits of an item in one line by two vectors of four words.

use std::arch::x86_64::{
    __m256i, _mm256_add_epi64, _mm256_and_si256, _mm256_cmpgt_epi64, _mm256_loadu_si256, _mm256_mul_epu32,
    _mm256_or_si256, _mm256_set1_epi64x, _mm256_setr_epi64x, _mm256_sllv_epi64, _mm256_srlv_epi64,
    _mm256_storeu_si256, _mm256_testc_si256,
};

use super::Task;
use super::probe::{Line, PLACE_BITS, Probe, START_SHIFT};

/// The proof that this processor has AVX2: [`Avx2::detect`] is the only way to get one.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    /// Asks the processor; the answer is remembered.
    #[inline(always)]
    pub fn detect() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }

    /// Does work on lines where AVX2 may be inlined.
    #[inline(always)]
    pub fn perform<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx2")]
        fn perform<T: Task>(task: T, probe: Avx2) -> T::Output {
            task.run(probe)
        }
        // SAFETY: `self` proves that the processor has AVX2.
        unsafe { perform(task, self) }
    }
}

/// For each word of a line: the bit that the pattern has there, and which of the pattern's bits that is.
#[derive(Clone, Copy)]
pub struct Pattern {
    bits: [__m256i; 2],
    index: [__m256i; 2],
}

impl Probe for Avx2 {
    type Pattern = Pattern;

    #[inline(always)]
    fn prepare(self, pattern: u64) -> Pattern {
        // SAFETY: `self` proves that the processor has AVX2.
        unsafe {
            let all = _mm256_set1_epi64x(pattern as i64);
            let (one, last) = (_mm256_set1_epi64x(1), _mm256_set1_epi64x(7));
            let place_bits = _mm256_set1_epi64x(PLACE_BITS.into());
            let place_mask = _mm256_set1_epi64x((1 << PLACE_BITS) - 1);
            // Word w has bit (w - start) mod 8 of the pattern. The bits above the start's do not reach the last three.
            let back = _mm256_set1_epi64x((pattern >> START_SHIFT).wrapping_neg() as i64);
            let low = _mm256_and_si256(_mm256_add_epi64(_mm256_setr_epi64x(0, 1, 2, 3), back), last);
            let high = _mm256_and_si256(_mm256_add_epi64(_mm256_setr_epi64x(4, 5, 6, 7), back), last);
            let low_place = _mm256_srlv_epi64(all, _mm256_mul_epu32(low, place_bits));
            let high_place = _mm256_srlv_epi64(all, _mm256_mul_epu32(high, place_bits));
            let low_bit = _mm256_sllv_epi64(one, _mm256_and_si256(low_place, place_mask));
            let high_bit = _mm256_sllv_epi64(one, _mm256_and_si256(high_place, place_mask));
            Pattern { bits: [low_bit, high_bit], index: [low, high] }
        }
    }

    #[inline(always)]
    fn test(self, line: &Line, pattern: Pattern, bits: u8) -> bool {
        // SAFETY: as in `prepare`; a line is two vectors.
        unsafe {
            let [low, high] = wanted(pattern, bits);
            let words: *const __m256i = line.as_ptr().cast();
            let has_low = _mm256_testc_si256(_mm256_loadu_si256(words), low);
            let has_high = _mm256_testc_si256(_mm256_loadu_si256(words.add(1)), high);
            has_low & has_high == 1
        }
    }

    #[inline(always)]
    fn set(self, line: &mut Line, pattern: Pattern, bits: u8) {
        // SAFETY: as in `test`.
        unsafe {
            let [low, high] = wanted(pattern, bits);
            let words: *mut __m256i = line.as_mut_ptr().cast();
            _mm256_storeu_si256(words, _mm256_or_si256(_mm256_loadu_si256(words), low));
            let words = words.add(1);
            _mm256_storeu_si256(words, _mm256_or_si256(_mm256_loadu_si256(words), high));
        }
    }
}

/// The first `bits` bits of the pattern.
#[inline(always)]
unsafe fn wanted(pattern: Pattern, bits: u8) -> [__m256i; 2] {
    // SAFETY: the caller promises AVX2.
    unsafe {
        let count = _mm256_set1_epi64x(bits.into());
        let Pattern { bits: [low, high], index: [low_index, high_index] } = pattern;
        [
            _mm256_and_si256(low, _mm256_cmpgt_epi64(count, low_index)),
            _mm256_and_si256(high, _mm256_cmpgt_epi64(count, high_index)),
        ]
    }
}
