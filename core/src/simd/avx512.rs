//! Testing and setting the bits of an item in one line by one vector of eight words.

use std::arch::x86_64::{
    __m512i, _mm512_cmpgt_epi64_mask, _mm512_loadu_si512, _mm512_mask_or_epi64,
    _mm512_mask_testn_epi64_mask, _mm512_multishift_epi64_epi8, _mm512_permutexvar_epi64,
    _mm512_rolv_epi64, _mm512_set_epi64, _mm512_set1_epi64, _mm512_srli_epi64, _mm512_storeu_si512,
    _mm512_sub_epi64,
};

use super::avx2::Avx2;
use super::{Backend, Block, PLACE_BITS, START_SHIFT, Task};

/// The proof that this processor has AVX-512 (F and VBMI) and what AVX2 stands for:
/// [`Avx512::detect`] is the only way to get one.
#[derive(Clone, Copy)]
pub struct Avx512(Avx2);

impl Avx512 {
    /// Asks the processor; the answer is remembered.
    ///
    /// Those without VBMI, the generations before Ice Lake, lower their clock for vectors this
    /// wide.
    #[inline(always)]
    pub fn detect() -> Option<Self> {
        let has_it = is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vbmi");
        Avx2::detect().filter(|_| has_it).map(Self)
    }

    /// The backend with vectors of half the width.
    #[inline(always)]
    pub fn narrow(self) -> Avx2 {
        self.0
    }

    /// Does work on lines where AVX-512 may be inlined.
    #[inline(always)]
    pub fn perform<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx512f,avx512vbmi,avx2,bmi1,bmi2")]
        fn perform<T: Task>(task: T, backend: Avx512) -> T::Output {
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
    bits: __m512i,
    shifts: __m512i,
}

impl Backend for Avx512 {
    type Pattern = Pattern;

    #[inline(always)]
    fn prepare(self, pattern: u64) -> Pattern {
        // SAFETY: `self` proves that the processor has AVX-512; a line is one vector.
        unsafe {
            let pattern = _mm512_set1_epi64(pattern as i64);
            let start = _mm512_srli_epi64::<START_SHIFT>(pattern);
            let words = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
            let in_order = _mm512_set_epi64(42, 36, 30, 24, 18, 12, 6, 0);
            // A permutation takes the low three bits of an index: the remainder by the words of a
            // line.
            let shifts = _mm512_permutexvar_epi64(_mm512_sub_epi64(words, start), in_order);
            // Eight bits from each shift on; a rotation takes the low six of its count, which are
            // the place.
            let places = _mm512_multishift_epi64_epi8(shifts, pattern);
            Pattern { bits: _mm512_rolv_epi64(_mm512_set1_epi64(1), places), shifts }
        }
    }

    #[inline(always)]
    fn test(self, line: &Block, pattern: Pattern, bits: u8) -> bool {
        // SAFETY: as in `prepare`.
        unsafe {
            let words = _mm512_loadu_si512(line.0.as_ptr().cast());
            _mm512_mask_testn_epi64_mask(wanted(pattern, bits), words, pattern.bits) == 0
        }
    }

    #[inline(always)]
    fn set(self, line: &mut Block, pattern: u64, bits: u8) {
        let pattern = self.prepare(pattern);
        // SAFETY: as in `prepare`.
        unsafe {
            let words = _mm512_loadu_si512(line.0.as_ptr().cast());
            let set = _mm512_mask_or_epi64(words, wanted(pattern, bits), words, pattern.bits);
            _mm512_storeu_si512(line.0.as_mut_ptr().cast(), set);
        }
    }
}

/// The words of the first `bits` bits of the pattern.
#[inline(always)]
unsafe fn wanted(pattern: Pattern, bits: u8) -> u8 {
    // SAFETY: the caller promises AVX-512.
    unsafe {
        let end = _mm512_set1_epi64((u32::from(bits) * PLACE_BITS).into());
        _mm512_cmpgt_epi64_mask(end, pattern.shifts)
    }
}
