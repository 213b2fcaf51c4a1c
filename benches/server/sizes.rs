//! Sizes and capacities of filters, as the user writes them: `1m,100m,1g`, in powers of ten.

use crate::result::Result;

/// Suffix of an argument, unit on the page, bytes.
const UNITS: [(&str, &str, u64); 3] =
    [("g", "GB", 1_000_000_000), ("m", "MB", 1_000_000), ("k", "KB", 1000)];

/// The bytes of each size of a list.
///
/// # Errors
/// A word is no number of at least 1000 bytes.
pub fn parse(list: &str) -> Result<Vec<u64>> {
    let size = |word: &str| {
        let lower = word.trim().to_lowercase();
        let found = UNITS.iter().find_map(|unit| Some((lower.strip_suffix(unit.0)?, unit.2)));
        let (digits, unit) = found.unwrap_or((&lower, 1));
        let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
        bytes.filter(|&bytes| bytes >= 1000).ok_or_else(|| {
            format!("size {word:?}: a number of at least 1000 bytes, with k, m or g: 1m,100m,4g")
                .into()
        })
    };
    list.split(',').map(size).collect()
}

/// A size as the page shows it: `100 MB`.
pub fn show(bytes: u64) -> String {
    let fits = |unit: &&(_, _, u64)| bytes >= unit.2 && bytes.is_multiple_of(unit.2);
    let (_, name, unit) = UNITS.iter().find(fits).copied().unwrap_or(("", "bytes", 1));
    format!("{} {name}", bytes / unit)
}
