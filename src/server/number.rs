//! Numbers as clients and other modules write them.
//!
//! The module reads them itself: the functions of the servers differ, and a number that one server
//! accepts must not be an error of the server that replays its file. valkey-bloom replicates the
//! text of its clients, so everything that its parser accepts is a number here, whoever sends it.
//!
//! * An integer is what Rust's `str::parse` accepts, as in valkey-bloom: digits, also with leading
//!   zeros, after an optional sign. Redis accepts fewer of these.
//! * Other numbers are those of C's `strtod` in the locale "C", as Redis reads them: the whole
//!   text, without blanks. Rust accepts fewer of these.

/// Bits of the significand of an `f64`, and the exponents of its smallest and largest bit.
const SIGNIFICAND_BITS: i64 = f64::MANTISSA_DIGITS as i64;
const LEAST_EXPONENT: i64 = (f64::MIN_EXP - f64::MANTISSA_DIGITS as i32) as i64;
const MOST_EXPONENT: i64 = f64::MAX_EXP as i64;

/// A 64-bit integer: digits after an optional sign.
pub fn integer(text: &[u8]) -> Option<i64> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// An unsigned 64-bit integer: digits after an optional `+`.
pub fn unsigned(text: &[u8]) -> Option<u64> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// A 64-bit integer in the form in which servers write it: without `+` and without leading zeros.
pub fn canonical(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_canonical = text == b"0" || !digits.starts_with(b"0") && !text.starts_with(b"+");
    integer(text).filter(|_| is_canonical)
}

/// The nearest number to a decimal, such as `0.01` or `1e-2`, or to a hexadecimal, such as
/// `0x1p-7`; also `inf`. None if it is too large, if it is not 0 and too small, and for NaN.
pub fn number(text: &[u8]) -> Option<f64> {
    let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let value = match unsigned {
        [b'0', b'x' | b'X', digits @ ..] => {
            let value = hexadecimal(digits)?;
            if text.starts_with(b"-") { -value } else { value }
        }
        _ => str::from_utf8(text).ok()?.parse().ok()?,
    };
    let has_digits = unsigned.iter().any(u8::is_ascii_digit);
    let is_too_large = value.is_infinite() && has_digits;
    (!value.is_nan() && !is_too_large && (value != 0.0 || is_zero(unsigned))).then_some(value)
}

/// True if all digits before the exponent are 0.
fn is_zero(unsigned: &[u8]) -> bool {
    // The letters of prefix and exponent end the digits, so a hexadecimal one counts by itself.
    let digits = unsigned.strip_prefix(b"0x").or(unsigned.strip_prefix(b"0X"));
    digits
        .unwrap_or(unsigned)
        .iter()
        .take_while(|byte| !b"eEpP".contains(byte))
        .all(|byte| matches!(byte, b'0' | b'.'))
}

/// The number of hexadecimal digits, with an optional point, and an optional binary exponent.
fn hexadecimal(text: &[u8]) -> Option<f64> {
    let end = text.iter().position(|byte| byte.eq_ignore_ascii_case(&b'p'));
    let (digits, power) = text.split_at(end.unwrap_or(text.len()));
    let mut exponent = if power.is_empty() { 0 } else { power_of_two(power.get(1..)?)? };
    let (mut significand, mut has_point, mut count) = (0u64, false, 0);
    for &byte in digits {
        if byte == b'.' && !has_point {
            has_point = true;
            continue;
        }
        let digit = u64::from(char::from(byte).to_digit(16)?);
        count += 1;
        if significand >> 60 == 0 {
            significand = significand << 4 | digit;
            exponent = exponent.saturating_sub(if has_point { 4 } else { 0 });
        } else {
            // Bits that were dropped only decide about ties.
            significand |= u64::from(digit != 0);
            exponent = exponent.saturating_add(if has_point { 0 } else { 4 });
        }
    }
    (count > 0).then(|| scaled(significand, exponent))
}

/// The digits of an exponent with an optional sign. One of more than 64 bits is as good as the
/// largest: a text that long would have to have as many digits.
fn power_of_two(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let power = str::from_utf8(digits).ok()?.parse().unwrap_or(i64::MAX);
    is_number.then_some(if text.starts_with(b"-") { -power } else { power })
}

/// `significand * 2^exponent`, rounded to the nearest, and to the even one in the middle.
fn scaled(significand: u64, exponent: i64) -> f64 {
    let bits = i64::from(u64::BITS - significand.leading_zeros());
    let top = exponent.saturating_add(bits);
    if significand == 0 || top < LEAST_EXPONENT {
        return 0.0;
    }
    if top > MOST_EXPONENT {
        return f64::INFINITY;
    }
    // Near 0, numbers have fewer bits.
    let dropped = (bits - SIGNIFICAND_BITS).max(LEAST_EXPONENT - exponent).max(0);
    let kept = u128::from(significand) >> dropped;
    let rest = u128::from(significand) - (kept << dropped);
    let half = (1u128 << dropped) >> 1;
    let rounds_up = rest > half || rest == half && dropped > 0 && kept & 1 == 1;
    let rounded = kept + u128::from(rounds_up);
    // Two factors, since one of 2^-1074 times 2^52 is a number, but 2^1076 is none. Both products
    // are exact.
    let exponent = (exponent + dropped) as i32;
    let first = exponent.clamp(-1022, 1023);
    let power = |exponent: i32| f64::from_bits(((exponent + f64::MAX_EXP - 1) as u64) << 52);
    rounded as f64 * power(first) * power(exponent - first)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test panics")]
mod tests {
    use std::ffi::{CStr, CString};
    use std::ptr;

    use super::{canonical, integer, number, unsigned};

    /// What Redis does with C's function, in the locale "C" of this process.
    fn by_c(text: &CStr) -> Option<f64> {
        let mut end = ptr::null_mut();
        // SAFETY: both are pointers to a text that ends with a zero byte, and to a local.
        let value = unsafe { libc::strtod(text.as_ptr(), &mut end) };
        let bytes = text.to_bytes();
        // SAFETY: the end is in the same text.
        let len = unsafe { end.offset_from(text.as_ptr()) } as usize;
        let is_whole = len == bytes.len() && !bytes.is_empty();
        let is_plain = !bytes.first().is_some_and(|b| b.is_ascii_whitespace() || *b == 0x0b);
        let is_zero = !bytes
            .iter()
            .skip_while(|b| b"+-0xX.".contains(b))
            .take_while(|b| !b"eEpP".contains(b))
            .any(|b| b.is_ascii_hexdigit() && *b != b'0');
        let is_in_range = (value.is_finite() || !bytes.iter().any(u8::is_ascii_digit))
            && (value != 0.0 || is_zero);
        (is_whole && is_plain && is_in_range && !value.is_nan()).then_some(value)
    }

    /// Numbers without a pattern: SplitMix64.
    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn check(text: &str) {
        let c = CString::new(text).unwrap();
        assert_eq!(number(text.as_bytes()).map(f64::to_bits), by_c(&c).map(f64::to_bits), "{text}");
    }

    #[test]
    fn numbers_are_those_of_the_c_library() {
        for text in [
            "0x1p-1074",
            "0x1p-1075",
            "0x1.8p-1075",
            "0x1p1023",
            "0x1p1024",
            "0x.8p-3",
            "0x1.p-7",
            "0x1.fffffffffffff7fp0",
            "0x1.fffffffffffff8p0",
            "0x1.fffffffffffff8p1023",
            "0x1.fffffffffffff80000000000000000001p-7",
            "0x0.00000000000000000000000001p90",
            "0x1.00000000000008p-7",
            "0x1.00000000000018p-7",
            "0x0.fffffffffffff8p-1022",
            "0x10000000000000000000000000000p-120",
            "0x0p99999",
            "0x",
            "0x.",
            "0x.p1",
            "0x1p",
            "0x1p+",
            "0x1e-2",
            "-0x1p-7",
            "+0X1P-7",
            "0x1p99999999999999999999",
            "1e",
            "+",
            "",
            "0x1p-99999999999999999999",
            "0x0p-99999999999999999999",
            "1e400",
            "1e-400",
            "0e-999",
            "inf",
            "-Infinity",
            "infinit",
            "nan",
            ".",
            "1.",
            ".5",
            "-0",
            " 1",
            "1 ",
            "1,5",
            "1_0",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "0x-1",
            "x1",
            "0b1",
            "--1",
        ] {
            check(text);
        }
        let state = &mut 1;
        for _ in 0..200_000 {
            let len = random(state) % 24;
            let mut text = if random(state) & 1 == 0 { "0x".to_owned() } else { String::new() };
            for _ in 0..len {
                text.push(char::from(b"0123456789abcdef00.8"[random(state) as usize % 20]));
            }
            if random(state) & 3 != 0 {
                text.push(if text.starts_with("0x") { 'p' } else { 'e' });
                text += &(random(state) as i64 % 1200).to_string();
            }
            check(&text);
        }
    }

    #[test]
    fn integers_are_those_of_valkey_bloom() {
        for (text, expected) in [
            ("0", 0),
            ("10", 10),
            ("+10", 10),
            ("007", 7),
            ("+007", 7),
            ("-10", -10),
            ("-010", -10),
            ("-0", 0),
            ("0000000000000000000000000000000000000000000001", 1),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(integer(text.as_bytes()), Some(expected), "{text}");
            let has_minus = text.starts_with('-');
            let expected = expected.try_into().ok().filter(|_| !has_minus);
            assert_eq!(unsigned(text.as_bytes()), expected, "{text}");
        }
        for text in
            ["", "-", "+", "+-1", "--1", " 1", "1 ", "1.0", "1e2", "0x1", "1\0", "1_0", "\u{661}"]
        {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
            assert_eq!(unsigned(text.as_bytes()), None, "{text}");
        }
        assert_eq!(integer(b"\xff1"), None);
        assert_eq!(integer(b"9223372036854775808"), None);
        assert_eq!(integer(b"-9223372036854775809"), None);
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(unsigned(b"18446744073709551616"), None);
    }

    #[test]
    fn canonical_integers_have_one_form() {
        for text in ["0", "10", "-10", "9223372036854775807", "-9223372036854775808"] {
            assert_eq!(canonical(text.as_bytes()), integer(text.as_bytes()), "{text}");
        }
        for text in ["", "+1", "-0", "00", "01", "-01", "+0", "1.0"] {
            assert_eq!(canonical(text.as_bytes()), None, "{text}");
        }
    }
}
