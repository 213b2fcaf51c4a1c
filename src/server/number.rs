//! Numbers as clients and other modules write them.
//!
//! The module reads them itself: the functions of the servers differ, and a number that one server
//! accepts must not be an error of the server that replays its file. valkey-bloom replicates the
//! text of its clients, so everything that its parser accepts is a number here, whoever sends it.
//!
//! * An integer is what Rust's `str::parse` accepts, as in valkey-bloom: digits, also with leading
//!   zeros, after an optional sign. Redis accepts fewer of these.
//! * Other numbers are the decimals of C's `strtod` in the locale "C", as Redis reads them: the
//!   whole text, without blanks. Its hexadecimal numbers are none here.

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

/// What Rust's `str::parse` accepts, as in valkey-bloom: also NaN, and numbers that are too large
/// or too small, as infinity and 0.
pub fn float(text: &[u8]) -> Option<f64> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// The nearest number to a decimal, such as `0.01` or `1e-2`; also `inf`. None if it is too large,
/// if it is not 0 and too small, and for NaN.
pub fn number(text: &[u8]) -> Option<f64> {
    let value = float(text)?;
    let is_too_large = value.is_infinite() && text.iter().any(u8::is_ascii_digit);
    let mut digits = text.iter().take_while(|byte| !b"eE".contains(byte));
    let is_zero = digits.all(|byte| matches!(byte, b'0' | b'.' | b'+' | b'-'));
    (!value.is_nan() && !is_too_large && (value != 0.0 || is_zero)).then_some(value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test panics")]
mod tests {
    use std::ffi::{CStr, CString};
    use std::ptr;

    use super::{canonical, float, integer, number, unsigned};

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
            .take_while(|b| !b"eE".contains(b))
            .any(|b| b.is_ascii_digit() && *b != b'0');
        let is_in_range = (value.is_finite() || !bytes.iter().any(u8::is_ascii_digit))
            && (value != 0.0 || is_zero);
        let is_decimal = !text.to_bytes().iter().any(|byte| b"xX".contains(byte));
        (is_whole && is_plain && is_in_range && is_decimal && !value.is_nan()).then_some(value)
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
    fn floats_are_all_that_rust_parses() {
        for (text, expected) in
            [("1e400", f64::INFINITY), ("1e-400", 0.0), ("inf", f64::INFINITY), (".5", 0.5)]
        {
            assert_eq!(float(text.as_bytes()), Some(expected), "{text}");
        }
        assert!(float(b"nan").is_some_and(f64::is_nan));
        assert_eq!((float(b"x"), float(b" 1"), float(b"\xff")), (None, None, None));
    }

    #[test]
    fn numbers_are_those_of_the_c_library() {
        for text in [
            "0x1p-7",
            "+0X1P-7",
            "0x",
            "0x1",
            "1e",
            "+",
            "",
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
            let mut text = String::new();
            for _ in 0..len {
                text.push(char::from(b"0123456789000000.8x"[random(state) as usize % 19]));
            }
            if random(state) & 3 != 0 {
                text.push('e');
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
