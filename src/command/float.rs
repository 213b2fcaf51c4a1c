//! Numbers in the form of C's `%g`, as BF.DEBUG and BF.INFO show them.
//!
//! Not `snprintf`: its decimal point depends on the locale of the process.

/// Significant digits.
const DIGITS: i32 = 6;

/// A number with at most six significant digits, without trailing zeros: in decimal notation for
/// exponents from -4 to 5, otherwise in scientific notation.
pub fn format_g(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let scientific = format!("{value:.*e}", DIGITS as usize - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..DIGITS).contains(&exponent) {
        return without_trailing_zeros(&format!("{value:.*}", (DIGITS - 1 - exponent) as usize))
            .to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_trailing_zeros(mantissa), exponent.abs())
}

fn without_trailing_zeros(decimal: &str) -> &str {
    if decimal.contains('.') {
        decimal.trim_end_matches('0').trim_end_matches('.')
    } else {
        decimal
    }
}

#[cfg(test)]
mod tests {
    use super::format_g;

    #[test]
    fn numbers_are_formatted_as_by_c() {
        let cases = [
            (0.01, "0.01"),
            (0.005, "0.005"),
            (6.25e-5, "6.25e-05"),
            (1e-4, "0.0001"),
            (4.94066e-324, "4.94066e-324"),
            (0.25, "0.25"),
            (1.0 / 3.0, "0.333333"),
            (0.9999996, "1"),
            (123456.7, "123457"),
            (1234567.0, "1.23457e+06"),
            (0.0, "0"),
        ];
        for (value, expected) in cases {
            assert_eq!(format_g(value), expected);
        }
    }
}
