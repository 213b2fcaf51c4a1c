//! The NEON backend of 64-bit ARM: a block is four vectors of two sectors.

use std::arch::aarch64::{
    uint64x2_t, vandq_u64, vbicq_u64, vcgtq_u64, vdupq_n_u64, vld1q_u64, vmaxvq_u32, vnegq_s64,
    vorrq_u64, vreinterpretq_s64_u64, vreinterpretq_u32_u64, vshlq_u64, vst1q_u64,
};
use std::array;

use super::shifts::shifts;
use super::{BLOCK_SECTORS, Backend, Block, INDEX_BITS};

/// Sectors of a vector.
const LANES: usize = 2;
const VECTORS: usize = BLOCK_SECTORS / LANES;

/// The NEON backend. All 64-bit ARM processors that Rust supports with `std` have NEON.
#[derive(Clone, Copy)]
pub struct Neon;

/// For each sector of a block: the bit of the pattern, and the shift of its bit index in the
/// pattern. The first `n` bits of the pattern are those with a shift below `6 * n`.
#[derive(Clone, Copy)]
pub struct Pattern {
    bits: [uint64x2_t; VECTORS],
    shifts: [uint64x2_t; VECTORS],
}

impl Backend for Neon {
    type Pattern = Pattern;
    /// One: a rotation is one instruction of the scalar unit, and two of NEON.
    type Lanes = u64;

    #[inline(always)]
    fn prepare(self, pattern: u64) -> Pattern {
        // SAFETY: the target has NEON, and each of the vectors lies in the row.
        unsafe {
            let row = shifts(pattern).as_ptr();
            let all = vdupq_n_u64(pattern);
            let mask = vdupq_n_u64((1 << INDEX_BITS) - 1);
            let one = vdupq_n_u64(1);
            let shifts: [_; VECTORS] = array::from_fn(|vector| vld1q_u64(row.add(vector * LANES)));
            let bits = shifts.map(|shifts| {
                // A shift by a negative number is one to the right.
                let right = vnegq_s64(vreinterpretq_s64_u64(shifts));
                let index = vandq_u64(vshlq_u64(all, right), mask);
                vshlq_u64(one, vreinterpretq_s64_u64(index))
            });
            Pattern { bits, shifts }
        }
    }

    #[inline(always)]
    fn test(self, block: &Block, pattern: Pattern, bits: u8) -> bool {
        // SAFETY: the target has NEON, and a block is four vectors.
        unsafe {
            let sectors = block.0.as_ptr();
            let [a, b, c, d] = first_bits(pattern, bits);
            let a = vbicq_u64(a, vld1q_u64(sectors));
            let b = vbicq_u64(b, vld1q_u64(sectors.add(LANES)));
            let c = vbicq_u64(c, vld1q_u64(sectors.add(2 * LANES)));
            let d = vbicq_u64(d, vld1q_u64(sectors.add(3 * LANES)));
            let missing = vorrq_u64(vorrq_u64(a, b), vorrq_u64(c, d));
            vmaxvq_u32(vreinterpretq_u32_u64(missing)) == 0
        }
    }

    #[inline(always)]
    fn set(self, block: &mut Block, pattern: u64, bits: u8) {
        let pattern = self.prepare(pattern);
        // SAFETY: as in `test`.
        unsafe {
            let sectors = block.0.as_mut_ptr();
            for (vector, bits) in first_bits(pattern, bits).into_iter().enumerate() {
                let sectors = sectors.add(vector * LANES);
                vst1q_u64(sectors, vorrq_u64(vld1q_u64(sectors), bits));
            }
        }
    }

    #[inline(always)]
    fn lanes(self, mut number: impl FnMut(usize) -> u64) -> u64 {
        number(0)
    }
}

/// A block with the first `bits` bits of the pattern.
#[inline(always)]
fn first_bits(pattern: Pattern, bits: u8) -> [uint64x2_t; VECTORS] {
    let Pattern { bits: [a, b, c, d], shifts: [e, f, g, h] } = pattern;
    // SAFETY: the target has NEON.
    unsafe {
        let end = vdupq_n_u64((u32::from(bits) * INDEX_BITS).into());
        [(a, e), (b, f), (c, g), (d, h)]
            .map(|(bits, shifts)| vandq_u64(bits, vcgtq_u64(end, shifts)))
    }
}
