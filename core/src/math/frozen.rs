//! `exp`, `expm1`, `log`, `log1p` and `pow` whose last bit never changes.
//!
//! A mathematics library may round the last bit differently in its next release. But a filter's
//! header does not store the geometry of a layer, only what it is computed from; and merges and
//! compactions are replicated as commands, so that a replica computes their results again. So these
//! functions are a part of the format. Besides them, everything that decides about bytes uses
//! only operations that IEEE 754 rounds correctly: `+ - * /`, the square root, and rounding to
//! integers.
//!
//! The algorithms and constants are those of FreeBSD's msun, on the ranges that are needed. Each
//! error is below one unit in the last place.
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

/// A number without its lower 32 bits: products of two such numbers are exact.
fn without_lower(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !0xffff_ffff)
}

/// `e^x` of `x <= 0`.
///
/// `x = k ln 2 + r` with `|r| <= ln 2 / 2`, and `e^x = 2^k e^r`.
pub(crate) fn exp(x: f64) -> f64 {
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
    scaled(y, k)
}

/// `y 2^k` of a `y` between 1/2 and 2, for `k` from -1991 to 1023.
///
/// Powers of two below 2^-1022 are not normal numbers, so they are multiplied in two steps.
fn scaled(y: f64, k: i32) -> f64 {
    if k >= -1022 { y * power_of_two(k) } else { y * power_of_two(-969) * power_of_two(k + 969) }
}

/// `2^k` for -1022 to 1023.
fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((k + 1023) as u64) << 52)
}

/// `e^x - 1` of `x <= 709`.
///
/// The reduction is that of [`exp`]. For the reduced `r` it computes `e^r - 1`, and the correction
/// `c` of the rounding of `r`.
pub(crate) fn expm1(x: f64) -> f64 {
    const Q: [f64; 5] = [
        f64::from_bits(0xbfa1_1111_1111_10f4),
        f64::from_bits(0x3f5a_01a0_19fe_5585),
        f64::from_bits(0xbf14_ce19_9eaa_dbb7),
        f64::from_bits(0x3ed0_cfca_86e6_5239),
        f64::from_bits(0xbe8a_fdb7_6e09_c32d),
    ];
    let size = upper(x) & 0x7fff_ffff;
    // From 56 ln 2 on, `e^x` is below half a unit in the last place of 1.
    if size >= 0x4043_687a && x < 0.0 {
        return -1.0;
    }
    // Below 2^-54
    if size < 0x3c90_0000 {
        return x;
    }
    let k = match size {
        ..=0x3fd6_2e42 => 0,                       // up to ln 2 / 2
        0x3fd6_2e43..0x3ff0_a2b2 if x < 0.0 => -1, // up to 3/2 ln 2
        0x3fd6_2e43..0x3ff0_a2b2 => 1,
        _ => (std::f64::consts::LOG2_E * x + 0.5f64.copysign(x)) as i32,
    };
    let (high, low) = (x - f64::from(k) * LN2_HIGH, f64::from(k) * LN2_LOW);
    let r = high - low;
    let c = (high - r) - low;
    let half = 0.5 * r;
    let half_square = r * half;
    let [q1, q2, q3, q4, q5] = Q;
    let r1 = half_square * (q3 + half_square * (q4 + half_square * q5));
    let r1 = 1.0 + half_square * (q1 + half_square * (q2 + r1));
    let t = 3.0 - r1 * half;
    let e = half_square * ((r1 - t) / (6.0 - r * t));
    if k == 0 {
        return r - (r * e - half_square);
    }
    let e = r * (e - c) - c - half_square;
    match k {
        -1 => 0.5 * (r - e) - 0.5,
        1 if r < -0.25 => -2.0 * (e - (r + 0.5)),
        1 => 1.0 + 2.0 * (r - e),
        2..20 => (r - e + (1.0 - power_of_two(-k))) * power_of_two(k),
        20..=56 => (r - (e + power_of_two(-k)) + 1.0) * power_of_two(k),
        _ => (r - e + 1.0) * power_of_two(k) - 1.0,
    }
}

/// `ln x` of a normal `x > 0`.
pub(crate) fn log(x: f64) -> f64 {
    if x == 1.0 {
        return 0.0;
    }
    let (k, f) = reduced(x);
    log_of_reduced(k, f, 0.0)
}

/// `ln(1 + x)` of `-1 < x <= 0`.
pub(crate) fn log1p(x: f64) -> f64 {
    // Below 2^-53
    if upper(x) << 1 < 0x3ca0_0000 << 1 {
        return x;
    }
    if upper(x) <= 0xbfd2_bec4 {
        return log_of_reduced(0, x, 0.0);
    }
    let u = 1.0 + x;
    let (k, f) = reduced(u);
    log_of_reduced(k, f, (x - (u - 1.0)) / u)
}

/// `k` and `f` with `x = 2^k (1 + f)` and `1 + f` between the square roots of 1/2 and 2.
fn reduced(x: f64) -> (i32, f64) {
    /// The upper bits of the square root of 1/2.
    const ROOT: u32 = 0x3fe6_a09e;
    /// The upper bits of 1.
    const ONE: u32 = 0x3ff0_0000;
    let shifted = upper(x).wrapping_add(ONE - ROOT);
    let high = (shifted & 0x000f_ffff) + ROOT;
    let reduced = f64::from_bits(u64::from(high) << 32 | x.to_bits() & 0xffff_ffff);
    ((shifted >> 20) as i32 - 1023, reduced - 1.0)
}

/// `ln(2^k (1 + f)) + c`, where `c` corrects the rounding of the sum that was reduced.
fn log_of_reduced(k: i32, f: f64, c: f64) -> f64 {
    const LG: [f64; 7] = [
        f64::from_bits(0x3fe5_5555_5555_5593),
        f64::from_bits(0x3fd9_9999_9997_fa04),
        f64::from_bits(0x3fd2_4924_9422_9359),
        f64::from_bits(0x3fcc_71c5_1d8e_78af),
        f64::from_bits(0x3fc7_4664_96cb_03de),
        f64::from_bits(0x3fc3_9a09_d078_c69f),
        f64::from_bits(0x3fc2_f112_df3e_5244),
    ];
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

/// `x^y` of `0 <= x <= 1` and `0 < y <= 2^31`, with an error below 0.7 units in the last place.
///
/// `log2 x` is computed as a sum of two numbers, and multiplied by `y` to an integer `n` and a rest
/// of at most 1/2.
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    const P: [f64; 5] = [
        f64::from_bits(0x3fc5_5555_5555_553e),
        f64::from_bits(0xbf66_c16c_16be_bd93),
        f64::from_bits(0x3f11_566a_af25_de2c),
        f64::from_bits(0xbebb_bd41_c5d2_6bf1),
        f64::from_bits(0x3e66_3769_72be_a4d0),
    ];
    /// ln 2, and its upper and lower part.
    const LN2: f64 = std::f64::consts::LN_2;
    const LN2_UPPER: f64 = f64::from_bits(0x3fe6_2e43_0000_0000);
    const LN2_LOWER: f64 = f64::from_bits(0xbe20_5c61_0ca8_6c39);
    if x == 0.0 || x == 1.0 {
        return x;
    }
    // What is rounded correctly without the logarithm.
    if y == 1.0 {
        return x;
    }
    if y == 2.0 {
        return x * x;
    }
    if y == 0.5 {
        return x.sqrt();
    }
    let [log_high, log_low] = log2(x);
    let y_high = without_lower(y);
    let low = (y - y_high) * log_high + y * log_low;
    let high = y_high * log_high;
    let z = low + high;
    // The result would be at most half of the smallest number.
    if z < -1075.0 || (z == -1075.0 && low <= z - high) {
        return 0.0;
    }
    // Above 1/2, by the upper bits
    let n = if upper(z) & 0x7fff_ffff > 0x3fe0_0000 { -((0.5 - z) as i32) } else { 0 };
    let high = high - f64::from(n);
    let t = without_lower(low + high);
    let u = t * LN2_UPPER;
    let v = (low - (t - high)) * LN2 + t * LN2_LOWER;
    let z = u + v;
    let w = v - (z - u);
    let t = z * z;
    let [p1, p2, p3, p4, p5] = P;
    let t = z - t * (p1 + t * (p2 + t * (p3 + t * (p4 + t * p5))));
    let r = (z * t) / (t - 2.0) - (w + z * w);
    scaled(1.0 - (r - z), n)
}

/// `log2 x` of `0 < x < 1` as a sum of two numbers, of which the first has at most 21 bits of
/// fraction.
///
/// `x = 2^n a` with `a` near `b`, 1 or 3/2, and `s = (a - b) / (a + b)`.
fn log2(x: f64) -> [f64; 2] {
    const L: [f64; 6] = [
        f64::from_bits(0x3fe3_3333_3333_3303),
        f64::from_bits(0x3fdb_6db6_db6f_abff),
        f64::from_bits(0x3fd5_5555_518f_264d),
        f64::from_bits(0x3fd1_7460_a91d_4101),
        f64::from_bits(0x3fcd_864a_93c9_db65),
        f64::from_bits(0x3fca_7e28_4a45_4eef),
    ];
    /// log2 of 3/2.
    const LOG2_HIGH: f64 = f64::from_bits(0x3fe2_b803_4000_0000);
    const LOG2_LOW: f64 = f64::from_bits(0x3e4c_fdeb_43cf_d006);
    /// 2 / (3 ln 2), and its upper and lower part.
    const C: f64 = f64::from_bits(0x3fee_c709_dc3a_03fd);
    const C_HIGH: f64 = f64::from_bits(0x3fee_c709_e000_0000);
    const C_LOW: f64 = f64::from_bits(0xbe3e_2fe0_145b_01f5);
    // A number that is not normal is scaled up first.
    let (x, scaled) = if x < f64::MIN_POSITIVE { (x * power_of_two(53), 53) } else { (x, 0) };
    let fraction = upper(x) & 0x000f_ffff;
    let exponent = (upper(x) >> 20) as i32 - 1023 - scaled;
    // Up to the square root of 3/2, up to that of 3, and above.
    let (n, b, log2_high, log2_low) = match fraction {
        ..=0x3_988e => (exponent, 1.0, 0.0, 0.0),
        0x3_988f..0xb_b67a => (exponent, 1.5, LOG2_HIGH, LOG2_LOW),
        _ => (exponent + 1, 1.0, 0.0, 0.0),
    };
    let n = f64::from(n);
    let a = f64::from_bits(x.to_bits() & ((1 << 52) - 1) | 1023 << 52);
    let a = if fraction >= 0xb_b67a { a / 2.0 } else { a };
    // s in two parts
    let u = a - b;
    let v = 1.0 / (a + b);
    let s = u * v;
    let s_high = without_lower(s);
    // a + b, with few bits
    let sum = f64::from_bits(u64::from((upper(a) >> 1 | 0x2000_0000) + 0x8_0000) << 32);
    let sum = if b > 1.0 { sum + 0.5 } else { sum };
    let s_low = v * ((u - s_high * sum) - s_high * (a - (sum - b)));
    // ln a
    let square = s * s;
    let [l1, l2, l3, l4, l5, l6] = L;
    let series = l2 + square * (l3 + square * (l4 + square * (l5 + square * l6)));
    let series = square * square * (l1 + square * series) + s_low * (s_high + s);
    let square = s_high * s_high;
    let t_high = without_lower(3.0 + square + series);
    let t_low = series - ((t_high - 3.0) - square);
    let u = s_high * t_high;
    let v = s_low * t_high + t_low * s;
    let high = without_lower(u + v);
    let low = v - (high - u);
    // log2 of a / b
    let z_high = C_HIGH * high;
    let z_low = C_LOW * high + low * C + log2_low;
    let log2 = without_lower(((z_high + z_low) + log2_high) + n);
    [log2, z_low - (((log2 - n) - log2_high) - z_high)]
}

#[cfg(test)]
mod tests {
    use xxhash_rust::xxh3::xxh3_64;

    use super::{exp, expm1, log, log1p, pow};

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

    /// Bases of powers: steps to 1, and each size down to the smallest number.
    fn bases() -> impl Iterator<Item = f64> {
        let sizes = (0..1_075)
            .map(|exponent| 0.7 * 0.5f64.powi(exponent / 2) * 0.5f64.powi((exponent + 1) / 2));
        sizes.chain((0..=2_000).map(|step| f64::from(step) / 2_000.0))
    }

    /// The results are those of libm 0.2.16, to which the sizes of filters are bound.
    #[test]
    fn results_never_change() {
        let fractions = || (0..200_000).map(|step| -f64::from(step) / 200_000.0);
        let above = || arguments().filter(|&x| x > -1.0).chain(fractions());
        let both_signs = || arguments().chain(arguments().map(|x| -x).filter(|&x| x <= 709.0));
        let positive = || arguments().map(|x| -x).filter(|x| x.is_normal());
        let exponents = || (1..=120).map(f64::from).flat_map(|k| [k, 1.0 / k, k * 8.9, k + 0.3]);
        let powers = || bases().flat_map(|x| exponents().map(move |y| (x, y)));
        assert_eq!(hash_of(arguments().map(exp)), 0x96c6_876a_e5f8_2573, "exp");
        assert_eq!(hash_of(above().map(log1p)), 0x8b3c_4386_c69b_f5d4, "log1p");
        assert_eq!(hash_of(both_signs().map(expm1)), 0x40f9_3522_af5f_4609, "expm1");
        assert_eq!(hash_of(positive().map(log)), 0x8964_e5ec_6860_00a2, "log");
        assert_eq!(hash_of(powers().map(|(x, y)| pow(x, y))), 0x5b88_3896_8055_f411, "pow");
    }
}
