//! Testing and setting the bits of an item in one line by two vectors of four words.

use std::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_cmpgt_epi64, _mm256_loadu_si256, _mm256_or_si256,
    _mm256_set1_epi64x, _mm256_sllv_epi64, _mm256_srlv_epi64, _mm256_storeu_si256,
    _mm256_testc_si256,
};

use super::{BLOCK_SECTORS, Backend, Block, PLACE_BITS, START_SHIFT, Task};

/// The proof that this processor has AVX2, and BMI1 and BMI2, which came with it: [`Avx2::detect`]
/// is the only way to get one.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    /// Asks the processor; the answer is remembered.
    #[inline(always)]
    pub fn detect() -> Option<Self> {
        let has_bmi = is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2");
        (has_bmi && is_x86_feature_detected!("avx2")).then_some(Self(()))
    }

    /// Does work on lines where AVX2 may be inlined.
    #[inline(always)]
    pub fn perform<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2")]
        fn perform<T: Task>(task: T, backend: Avx2) -> T::Output {
            task.run(backend)
        }
        // SAFETY: `self` proves that the processor has all of these.
        unsafe { perform(task, self) }
    }
}

/// For each word of a line: the bit that the pattern has there, and how far up in the pattern its
/// place stands, which tells how many bits come before it.
#[derive(Clone, Copy)]
pub struct Pattern {
    bits: [__m256i; 2],
    shifts: [__m256i; 2],
}

impl Backend for Avx2 {
    type Pattern = Pattern;

    #[inline(always)]
    fn prepare(self, pattern: u64) -> Pattern {
        // SAFETY: `self` proves that the processor has AVX2; a line is two vectors.
        unsafe {
            let shifts: *const __m256i = shifts(pattern).as_ptr().cast();
            let all = _mm256_set1_epi64x(pattern as i64);
            let mask = _mm256_set1_epi64x((1 << PLACE_BITS) - 1);
            let one = _mm256_set1_epi64x(1);
            // All shifts are below 64. Masked, they are so for the compiler too, which else adds
            // six instructions for those that are not.
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
    fn test(self, line: &Block, pattern: Pattern, bits: u8) -> bool {
        // SAFETY: as in `prepare`; a line is two vectors.
        unsafe {
            let [low, high] = wanted(pattern, bits);
            let words: *const __m256i = line.0.as_ptr().cast();
            let has_low = _mm256_testc_si256(_mm256_loadu_si256(words), low);
            let has_high = _mm256_testc_si256(_mm256_loadu_si256(words.add(1)), high);
            has_low & has_high == 1
        }
    }

    #[inline(always)]
    fn set(self, line: &mut Block, pattern: u64, bits: u8) {
        let pattern = self.prepare(pattern);
        // SAFETY: as in `test`.
        unsafe {
            let [low, high] = wanted(pattern, bits);
            let words: *mut __m256i = line.0.as_mut_ptr().cast();
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
        let end = _mm256_set1_epi64x((u32::from(bits) * PLACE_BITS).into());
        let Pattern { bits: [low, high], shifts: [low_shifts, high_shifts] } = pattern;
        [
            _mm256_and_si256(low, _mm256_cmpgt_epi64(end, low_shifts)),
            _mm256_and_si256(high, _mm256_cmpgt_epi64(end, high_shifts)),
        ]
    }
}

/// For each word of a line, how far up in the pattern the place of its bit stands: word w has bit
/// (w - start) mod 8 of the pattern.
#[inline(always)]
fn shifts(pattern: u64) -> &'static [u64; BLOCK_SECTORS] {
    let Shifts(of_start) = &SHIFTS;
    #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
    &of_start[(pattern >> START_SHIFT) as usize % BLOCK_SECTORS]
}

/// Aligned so that a row is one cache line.
#[repr(align(64))]
struct Shifts([[u64; BLOCK_SECTORS]; BLOCK_SECTORS]);

/// The shifts for each start of a window.
static SHIFTS: Shifts = Shifts(of_all_starts());

#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const fn of_all_starts() -> [[u64; BLOCK_SECTORS]; BLOCK_SECTORS] {
    let mut shifts = [[0; BLOCK_SECTORS]; BLOCK_SECTORS];
    let mut start = 0;
    while start < BLOCK_SECTORS {
        let mut word = 0;
        while word < BLOCK_SECTORS {
            let index = (word + BLOCK_SECTORS - start) % BLOCK_SECTORS;
            shifts[start][word] = index as u64 * PLACE_BITS as u64;
            word += 1;
        }
        start += 1;
    }
    shifts
}
