//! The sizes to measure, as the user writes them: `1m,100m,1g`, in powers of ten.

use std::fmt;
use std::str::FromStr;

use crate::scale::Scale;

/// Approximate bytes of the bits of a filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size(u64);

/// The value of `--sizes`; empty: the default of the scale.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sizes(Vec<Size>);

impl Size {
    pub fn of_bytes(bytes: u64) -> Size {
        Size(bytes)
    }

    /// The size in bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }
}

impl Sizes {
    /// The sizes that the user named, or the default.
    pub fn or_default(&self, scale: Scale) -> Vec<Size> {
        const SMOKE: &[u64] = &[64_000, 1_000_000];
        const TABLE: &[u64] =
            &[1_000_000, 100_000_000, 1_000_000_000, 4_000_000_000, 10_000_000_000];
        match (self.0.is_empty(), scale) {
            (false, _) => self.0.clone(),
            (true, Scale::Smoke) => SMOKE.iter().copied().map(Size).collect(),
            (true, Scale::Quick | Scale::Full) => TABLE.iter().copied().map(Size).collect(),
        }
    }

    /// The sizes as the user writes them; empty if the user named none.
    pub fn argument(&self) -> String {
        let texts: Vec<String> = self.0.iter().map(|size| size.argument()).collect();
        texts.join(",")
    }
}

/// Suffix of an argument, unit on the page, bytes.
const UNITS: [(&str, &str, u64); 3] =
    [("g", "GB", 1_000_000_000), ("m", "MB", 1_000_000), ("k", "KB", 1000)];

impl Size {
    fn argument(self) -> String {
        let (number, suffix, _) = self.parts();
        format!("{number}{suffix}")
    }

    fn parts(self) -> (u64, &'static str, &'static str) {
        let fitting = UNITS
            .into_iter()
            .find(|&(_, _, bytes)| self.0 >= bytes && self.0.is_multiple_of(bytes));
        fitting
            .map_or((self.0, "", "bytes"), |(suffix, unit, bytes)| (self.0 / bytes, suffix, unit))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (number, _, unit) = self.parts();
        write!(f, "{number} {unit}")
    }
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Sizes, String> {
        let size = |word: &str| {
            let lower = word.trim().to_lowercase();
            let unit = UNITS
                .into_iter()
                .find_map(|(suffix, _, bytes)| Some((lower.strip_suffix(suffix)?, bytes)));
            let (digits, unit) = unit.unwrap_or((&lower, 1));
            let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
            bytes.filter(|&bytes| bytes >= 1000).map(Size).ok_or_else(|| {
                format!(
                    "size {word:?}: a number of at least 1000 bytes, with k, m or g: 1m,100m,4g"
                )
            })
        };
        text.split(',').map(size).collect::<Result<_, _>>().map(Sizes)
    }
}
