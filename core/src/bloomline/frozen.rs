//! `exp` and `log1p` whose last bit never changes: the geometry of small layers depends on it.
//!
//! The algorithms and constants are those of FreeBSD's msun, on the half of the range that
//! [`rate`](super::rate) needs. A mathematics library may round the last bit differently in its next
//! release, and a filter's header does not store the geometry but what it is computed from. So these
//! two functions are a part of the format.
//!
//! ```text
//! Copyright (C) 1993, 2004 by Sun Microsystems, Inc. All rights reserved.
//! Permission to use, copy, modify, and distribute this software is freely granted, provided that
//! this notice is preserved.
//! ```

/// The upper and the lower part of ln 2; multiples of the upper part by exponents are exact.
const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// The upper 32 bits of a number.
fn upper(x: f64) -> u32 {
    (x.to_bits() >> 32) as u32
}

/// `e^x` of `x <= 0`, with an error below one unit in the last place.
///
/// `x = k ln 2 + r` with `|r| <= ln 2 / 2`, and `e^x = 2^k e^r`.
pub(super) fn exp(x: f64) -> f64 {
    const P: [f64; 5] = [
        f64::from_bits(0x3fc5_5555_5555_553e),
        f64::from_bits(0xbf66_c16c_16be_bd93),
        f64::from_bits(0x3f11_566a_af25_de2c),
        f64::from_bits(0xbebb_bd41_c5d2_6bf1),
        f64::from_bits(0x3e66_3769_72be_a4d0),
    ];
    let size = upper(x) & 0x7fff_ffff;
    // The result would be below half of the smallest number.
    if x < -745.133_219_101_941_1 {
        return 0.0;
    }
    // 2^-28 and less
    if size <= 0x3e30_0000 {
        return 1.0 + x;
    }
    let k = match size {
        ..=0x3fd6_2e42 => 0,            // up to ln 2 / 2
        0x3fd6_2e43..0x3ff0_a2b2 => -1, // up to 3/2 ln 2
        _ => (std::f64::consts::LOG2_E * x - 0.5) as i32,
    };
    let (high, low) = (x - f64::from(k) * LN2_HIGH, f64::from(k) * LN2_LOW);
    let r = high - low;
    let square = r * r;
    let [p1, p2, p3, p4, p5] = P;
    let c = r - square * (p1 + square * (p2 + square * (p3 + square * (p4 + square * p5))));
    let y = 1.0 + (r * c / (2.0 - c) - low + high);
    // Powers of two below 2^-1022 are not normal numbers, so they are multiplied in two steps.
    if k >= -1022 { y * power_of_two(k) } else { y * power_of_two(-969) * power_of_two(k + 969) }
}

/// `2^k` for -1022 to 1023.
fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((k + 1023) as u64) << 52)
}

/// `ln(1 + x)` of `-1 < x <= 0`, with an error below one unit in the last place.
///
/// `1 + x = 2^k (1 + f)` with `1 + f` between the square roots of 1/2 and 2.
pub(super) fn log1p(x: f64) -> f64 {
    const LG: [f64; 7] = [
        f64::from_bits(0x3fe5_5555_5555_5593),
        f64::from_bits(0x3fd9_9999_9997_fa04),
        f64::from_bits(0x3fd2_4924_9422_9359),
        f64::from_bits(0x3fcc_71c5_1d8e_78af),
        f64::from_bits(0x3fc7_4664_96cb_03de),
        f64::from_bits(0x3fc3_9a09_d078_c69f),
        f64::from_bits(0x3fc2_f112_df3e_5244),
    ];
    /// The upper bits of the square root of 1/2.
    const ROOT: u32 = 0x3fe6_a09e;
    /// The upper bits of 1.
    const ONE: u32 = 0x3ff0_0000;
    // Below 2^-53
    if upper(x) << 1 < 0x3ca0_0000 << 1 {
        return x;
    }
    // `c` corrects the rounding of the sum.
    let (k, f, c) = if upper(x) <= 0xbfd2_bec4 {
        (0, x, 0.0)
    } else {
        let u = 1.0 + x;
        let shifted = upper(u).wrapping_add(ONE - ROOT);
        let k = (shifted >> 20) as i32 - 1023;
        let c = (x - (u - 1.0)) / u;
        let high = (shifted & 0x000f_ffff) + ROOT;
        let reduced = f64::from_bits(u64::from(high) << 32 | u.to_bits() & 0xffff_ffff);
        (k, reduced - 1.0, c)
    };
    let half_square = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let [lg1, lg2, lg3, lg4, lg5, lg6, lg7] = LG;
    let even = w * (lg2 + w * (lg4 + w * lg6));
    let odd = z * (lg1 + w * (lg3 + w * (lg5 + w * lg7)));
    let k = f64::from(k);
    s * (half_square + (odd + even)) + (k * LN2_LOW + c) - half_square + f + k * LN2_HIGH
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::{exp, log1p};

    /// Arguments of all sizes: each exponent of a double with many mantissas, and equal steps.
    fn arguments() -> impl Iterator<Item = f64> {
        let sizes = (0..1_100u64).flat_map(|exponent| {
            (0..64u64).map(move |step| {
                let mantissa = step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12;
                -f64::from_bits((1032 - exponent.min(1032)) << 52 | mantissa)
            })
        });
        sizes.chain((0..200_000).map(|step| -f64::from(step) / 256.0)).chain([0.0, -0.0])
    }

    fn hash_of(results: impl Iterator<Item = f64>) -> u64 {
        let bytes: Vec<u8> = results.flat_map(|result| result.to_bits().to_le_bytes()).collect();
        xxh3_64(&bytes)
    }

    /// libm 0.2.16, with which the first filters were made, has the same results.
    #[test]
    fn results_never_change() {
        let fractions = || (0..200_000).map(|step| -f64::from(step) / 200_000.0);
        let above = || arguments().filter(|&x| x > -1.0).chain(fractions());
        assert_eq!(hash_of(arguments().map(exp)), 0x96c6_876a_e5f8_2573, "exp");
        assert_eq!(hash_of(above().map(log1p)), 0x8b3c_4386_c69b_f5d4, "log1p");
    }
}
