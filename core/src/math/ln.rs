//! The natural logarithm, rounded correctly.
//!
//! RedisBloom uses the logarithm of the C library, and the number of bits of a layer depends on its
//! last bit. The common C libraries round correctly in all but one of ten thousand cases, `log` of
//! the module `frozen` in 99 of a hundred. So this file computes the logarithm with twice the
//! digits and rounds it once. The result is the same on every machine.

use std::cell::Cell;

/// A number as the unevaluated sum of two doubles; `low` is at most half a unit in the last place
/// of `high`.
#[derive(Clone, Copy)]
struct Double {
    high: f64,
    low: f64,
}

/// ln 2 to 106 bits.
const LN_2: Double = Double { high: std::f64::consts::LN_2, low: 2.319_046_813_846_3e-17 };

/// Terms of the series of the inverse hyperbolic tangent. Each adds five bits of precision.
const TERMS: u32 = 24;

/// The natural logarithm of a positive, finite number.
///
/// The result of a thread's last call is cached, because a server may have millions of filters with
/// equal parameters.
pub fn ln(x: f64) -> f64 {
    thread_local! {
        static LAST: Cell<(f64, f64)> = const { Cell::new((1.0, 0.0)) };
    }
    let (last, of_last) = LAST.get();
    if last.to_bits() == x.to_bits() {
        return of_last;
    }
    let result = compute(x);
    LAST.set((x, result));
    result
}

fn compute(x: f64) -> f64 {
    // A subnormal number is scaled up first, because it has fewer digits.
    let (x, scaled) =
        if x < f64::MIN_POSITIVE { (x * (1u64 << 54) as f64, 54.0) } else { (x, 0.0) };
    // x = mantissa * 2^exponent with the mantissa in [1/sqrt 2, sqrt 2)
    let bits = x.to_bits();
    let mut exponent = f64::from((bits >> 52) as i32 - 1023) - scaled;
    let mut mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | 1023 << 52);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1.0;
    }
    // ln m = 2 artanh z = 2 (z + z^3/3 + z^5/5 + ...), z = (m - 1) / (m + 1)
    let z = divide(sum(mantissa, -1.0), sum(mantissa, 1.0));
    let square = multiply(z, z);
    let mut series = Double { high: 0.0, low: 0.0 };
    for term in (0..TERMS).rev() {
        let odd = Double { high: f64::from(2 * term + 1), low: 0.0 };
        series = add(multiply(series, square), divide(Double { high: 1.0, low: 0.0 }, odd));
    }
    let of_mantissa = multiply(multiply(series, z), Double { high: 2.0, low: 0.0 });
    let of_exponent = multiply(LN_2, Double { high: exponent, low: 0.0 });
    add(of_exponent, of_mantissa).high
}

/// The exact sum of two numbers (Knuth).
fn sum(a: f64, b: f64) -> Double {
    let high = a + b;
    let of_b = high - a;
    Double { high, low: (a - (high - of_b)) + (b - of_b) }
}

/// The exact product of two numbers (Dekker, Veltkamp), without a fused multiply-add, which not
/// every machine has.
fn product(a: f64, b: f64) -> Double {
    let split = |x: f64| {
        let shifted = x * ((1 << 27) + 1) as f64;
        let high = shifted - (shifted - x);
        (high, x - high)
    };
    let high = a * b;
    let ((a_high, a_low), (b_high, b_low)) = (split(a), split(b));
    let low = ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low;
    Double { high, low }
}

fn add(a: Double, b: Double) -> Double {
    let high = sum(a.high, b.high);
    let low = sum(a.low, b.low);
    let first = sum(high.high, high.low + low.high);
    sum(first.high, first.low + low.low)
}

fn multiply(a: Double, b: Double) -> Double {
    let high = product(a.high, b.high);
    sum(high.high, high.low + (a.high * b.low + a.low * b.high))
}

fn divide(a: Double, b: Double) -> Double {
    let first = a.high / b.high;
    let rest = add(a, multiply(b, Double { high: -first, low: 0.0 }));
    let second = rest.high / b.high;
    let rest = add(rest, multiply(b, Double { high: -second, low: 0.0 }));
    let quotient = sum(first, second);
    sum(quotient.high, quotient.low + rest.high / b.high)
}

#[cfg(test)]
mod tests {
    use super::ln;

    #[test]
    #[expect(clippy::approx_constant, reason = "the logarithm of a half")]
    fn logarithms_are_correctly_rounded() {
        // Computed with 60 digits and rounded.
        let cases = [
            (0.01, -4.605170185988091),
            (0.005, -5.298317366548036),
            (0.25, -1.3862943611198906),
            (0.5, -0.6931471805599453),
            (0.99, -0.01005033585350145),
            (0.75, -0.2876820724517809),
            (1e-9, -20.72326583694641),
            (6.25e-5, -9.680344001221918),
            (1e-300, -690.7755278982137),
            (5e-324, -744.4400719213812),
            (2.2250738585072014e-308, -708.3964185322641),
        ];
        for (x, expected) in cases {
            // The second result is that of the cache.
            assert_eq!([ln(x), ln(x)], [expected; 2], "ln {x}");
        }
    }
}
