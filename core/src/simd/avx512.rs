//! The AVX-512 backend: a block is one vector of eight sectors.

use std::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_cmpgt_epi64_mask, _mm512_loadu_si512, _mm512_mask_mov_epi64,
    _mm512_mask_or_epi64, _mm512_mask_testn_epi64_mask, _mm512_multishift_epi64_epi8,
    _mm512_permutexvar_epi64, _mm512_rolv_epi64, _mm512_set_epi64, _mm512_set1_epi64,
    _mm512_srli_epi64, _mm512_storeu_si512, _mm512_sub_epi64, _mm512_xor_si512,
};
use std::array;

use super::avx2::Avx2;
use super::{Backend, Block, INDEX_BITS, Lanes, MOST_LANES, START_SHIFT, Task};

/// Proof that this processor has AVX-512 (F and VBMI) and everything that [`Avx2`] proves. Only
/// [`Avx512::detect`] creates it.
#[derive(Clone, Copy)]
pub struct Avx512(Avx2);

impl Avx512 {
    /// Detects the features. The standard library caches them.
    ///
    /// Processors without VBMI, the generations before Ice Lake, lower their clock for vectors of
    /// this width, so they use AVX2.
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

    /// Runs a task in a function that enables AVX-512, so that intrinsics are inlined into it.
    #[inline(always)]
    pub fn perform<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx512f,avx512vbmi,avx2,bmi1,bmi2")]
        fn perform<T: Task>(task: T, backend: Avx512) -> T::Output {
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
    bits: __m512i,
    shifts: __m512i,
}

impl Backend for Avx512 {
    type Pattern = Pattern;
    type Lanes = Lanes512;

    #[inline(always)]
    fn prepare(self, pattern: u64) -> Pattern {
        // SAFETY: `self` proves that the processor has AVX-512.
        unsafe {
            let pattern = _mm512_set1_epi64(pattern as i64);
            let start = _mm512_srli_epi64::<START_SHIFT>(pattern);
            let sectors = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
            let in_order = _mm512_set_epi64(42, 36, 30, 24, 18, 12, 6, 0);
            // A permutation uses the low three bits of an index: `(sector - start) mod 8`.
            let shifts = _mm512_permutexvar_epi64(_mm512_sub_epi64(sectors, start), in_order);
            // Eight bits from each shift on. A rotation uses the low six bits of its count: the bit
            // index.
            let indexes = _mm512_multishift_epi64_epi8(shifts, pattern);
            Pattern { bits: _mm512_rolv_epi64(_mm512_set1_epi64(1), indexes), shifts }
        }
    }

    #[inline(always)]
    fn test(self, block: &Block, pattern: Pattern, bits: u8) -> bool {
        // SAFETY: `self` proves that the processor has AVX-512, and a block is one vector.
        unsafe {
            let sectors = _mm512_loadu_si512(block.0.as_ptr().cast());
            _mm512_mask_testn_epi64_mask(first_bits(pattern, bits), sectors, pattern.bits) == 0
        }
    }

    #[inline(always)]
    fn set(self, block: &mut Block, pattern: u64, bits: u8) {
        let pattern = self.prepare(pattern);
        // SAFETY: as in `test`.
        unsafe {
            let sectors = _mm512_loadu_si512(block.0.as_ptr().cast());
            let mask = first_bits(pattern, bits);
            let set = _mm512_mask_or_epi64(sectors, mask, sectors, pattern.bits);
            _mm512_storeu_si512(block.0.as_mut_ptr().cast(), set);
        }
    }

    #[inline(always)]
    fn lanes(self, mut number: impl FnMut(usize) -> u64) -> Lanes512 {
        let [a, b, c, d, e, f, g, h] = array::from_fn(|lane| number(lane) as i64);
        // SAFETY: `self` proves that the processor has AVX-512.
        Lanes512(unsafe { _mm512_set_epi64(h, g, f, e, d, c, b, a) })
    }
}

/// Eight numbers, and with them the proof that this processor has AVX-512.
#[derive(Clone, Copy)]
pub struct Lanes512(__m512i);

impl Lanes for Lanes512 {
    const COUNT: usize = 8;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: a value of this type proves that the processor has AVX-512.
        Self(unsafe { _mm512_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: as in `add`.
        Self(unsafe { _mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn rotate_left<const BITS: u32>(self) -> Self {
        // SAFETY: as in `add`.
        Self(unsafe { _mm512_rolv_epi64(self.0, _mm512_set1_epi64(BITS.into())) })
    }

    #[inline(always)]
    fn where_below(self, number: u64, limits: Self, other: Self) -> Self {
        // SAFETY: as in `add`.
        Self(unsafe {
            let is_below = _mm512_cmpgt_epi64_mask(limits.0, _mm512_set1_epi64(number as i64));
            _mm512_mask_mov_epi64(other.0, is_below, self.0)
        })
    }

    #[inline(always)]
    fn numbers(self) -> [u64; MOST_LANES] {
        let mut numbers = [0; MOST_LANES];
        // SAFETY: as in `add`, and the array has room for the vector.
        unsafe { _mm512_storeu_si512(numbers.as_mut_ptr().cast(), self.0) };
        numbers
    }
}

/// A mask of the sectors that have the first `bits` bits of the pattern.
///
/// # Safety
///
/// The processor must have AVX-512.
#[inline(always)]
unsafe fn first_bits(pattern: Pattern, bits: u8) -> u8 {
    // SAFETY: the caller guarantees AVX-512.
    unsafe {
        let end = _mm512_set1_epi64((u32::from(bits) * INDEX_BITS).into());
        _mm512_cmpgt_epi64_mask(end, pattern.shifts)
    }
}
