//! The settings: their names, defaults, ranges and current values.

use std::borrow::Cow;
use std::ffi::CStr;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::layout::{self, LayoutRow};
use crate::server::args::Arg;
use crate::server::log;
use bloomline_core::Layout;
use bloomline_core::host::MAX_ERROR_RATE;

/// A setting. Any thread may read its value at any time.
pub struct Setting {
    /// The name in the server's configuration and in the load arguments.
    pub name: &'static CStr,
    /// The default value as text.
    pub default: &'static CStr,
    /// The value: an integer, or the bits of an `f64`.
    value: AtomicU64,
    /// The value as text, as it was given; none while it is the default.
    text: Mutex<Option<String>>,
    parse: fn(Arg) -> Result<Parsed, Problem>,
    /// The range that the values of other settings leave; see [`Setting::check`].
    beside_others: fn() -> RangeInclusive<u64>,
}

struct Parsed {
    value: u64,
    /// The text that CONFIG GET shows; none for the text that was given.
    text: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The text is not of the setting's type.
    Unreadable,
    /// The value is outside of this range.
    OutOfRange(Cow<'static, str>),
}

/// The target rate of filters that are created without one: above 0 and below 1. A rate above 0.25
/// is stored as 0.25.
pub static ERROR_RATE: Setting = Setting::of_fraction(c"bf-error-rate", c"0.01", rate);

/// The capacity of filters that are created without one, in items: 1 to 2^30.
pub static INITIAL_SIZE: Setting =
    Setting::of_integer(c"bf-initial-size", c"100", |arg| integer(arg, 1, 1 << 30));

/// The expansion of filters that are created without one: 0 to 32768. With 0, filters do not scale.
pub static EXPANSION_FACTOR: Setting =
    Setting::of_integer(c"bf-expansion-factor", c"2", |arg| integer(arg, 0, 32_768));

/// The most bytes of one filter; 0 stands for the machine's memory.
pub static MAX_FILTER_BYTES: Setting = Setting::of_integer(c"bf-max-filter-bytes", c"0", |arg| {
    let value = bytes(arg.bytes()).ok_or(Problem::Unreadable)?;
    Ok(Parsed { value, text: None })
});

/// The layout of Bloom filters that are created without one, as an index of the table of layouts.
/// Read by [`Setting::layout`].
pub static LAYOUT: Setting =
    Setting::new(c"bf-layout", c"bloomline", 0, |arg| layout(arg, |_| true));

/// The layout of cuckoo filters that are created without one, as [`LAYOUT`].
pub static CF_LAYOUT: Setting =
    Setting::new(c"cf-layout", c"bloomline", 0, |arg| layout(arg, |row| row.has_cuckoo));

/// The target rate of cuckoo filters that are created without one, in Bloomline's layout: above 0
/// and below 1. A rate above 0.25 is stored as 0.25.
pub static CF_ERROR_RATE: Setting = Setting::of_fraction(c"cf-error-rate", c"0.01", rate);

/// The capacity of cuckoo filters that are created without one, in items: 2 to 2^30, and at least
/// twice `cf-bucket-size`.
pub static CF_INITIAL_SIZE: Setting =
    Setting::of_integer(c"cf-initial-size", c"1024", |arg| integer(arg, 2, MAX_CF_CAPACITY))
        .within(|| 2 * CF_BUCKET_SIZE.integer()..=MAX_CF_CAPACITY);

/// The entries of a bucket of cuckoo filters that are created without a number: 1 to 255, and at
/// most half of `cf-initial-size`.
pub static CF_BUCKET_SIZE: Setting =
    Setting::of_integer(c"cf-bucket-size", c"2", |arg| integer(arg, 1, u8::MAX.into()))
        .within(|| 1..=max_bucket_size());

/// Entries that an insertion into a cuckoo filter may move: 1 to 65535.
pub static CF_MAX_ITERATIONS: Setting =
    Setting::of_integer(c"cf-max-iterations", c"20", |arg| integer(arg, 1, u16::MAX.into()));

/// The expansion of cuckoo filters that are created without one: 0 to 32768. With 0, filters do not
/// grow.
pub static CF_EXPANSION_FACTOR: Setting =
    Setting::of_integer(c"cf-expansion-factor", c"1", |arg| integer(arg, 0, 32_768));

/// A cuckoo filter with this many tables takes no more items: 1 to 65536.
pub static CF_MAX_EXPANSIONS: Setting =
    Setting::of_integer(c"cf-max-expansions", c"32", |arg| integer(arg, 1, 65_536));

/// The tightening ratio of filters in valkey-bloom's layout that are created without one: above 0
/// and below 1.
pub static TIGHTENING_RATIO: Setting =
    Setting::of_fraction(c"bloom-tightening-ratio", c"0.5", |arg| {
        fraction(arg).map(|ratio| Parsed { value: ratio.to_bits(), text: None })
    });

/// `yes` if filters in valkey-bloom's layout get a random seed; the fixed one otherwise.
pub static USE_RANDOM_SEED: Setting = Setting::new(c"bloom-use-random-seed", c"yes", 1, switch);

/// `yes` if active defragmentation moves filters.
pub static DEFRAG_ENABLED: Setting = Setting::new(c"bloom-defrag-enabled", c"yes", 1, switch);

/// The largest capacity of a first table of a cuckoo filter, in items: RedisBloom's limit.
pub const MAX_CF_CAPACITY: u64 = 1 << 30;

/// The most entries of a bucket. RedisBloom's limit follows the setting of the capacity.
pub fn max_bucket_size() -> u64 {
    (CF_INITIAL_SIZE.integer() / 2).min(u8::MAX.into())
}

pub static ALL: [&Setting; 15] = [
    &ERROR_RATE,
    &INITIAL_SIZE,
    &EXPANSION_FACTOR,
    &MAX_FILTER_BYTES,
    &LAYOUT,
    &CF_LAYOUT,
    &CF_ERROR_RATE,
    &CF_INITIAL_SIZE,
    &CF_BUCKET_SIZE,
    &CF_MAX_ITERATIONS,
    &CF_EXPANSION_FACTOR,
    &CF_MAX_EXPANSIONS,
    &TIGHTENING_RATIO,
    &USE_RANDOM_SEED,
    &DEFRAG_ENABLED,
];

/// Load arguments of RedisBloom before Redis 8, and what they set.
pub static LEGACY: [(&str, &Setting); 3] = [
    ("ERROR_RATE", &ERROR_RATE),
    ("INITIAL_SIZE", &INITIAL_SIZE),
    ("CF_MAX_EXPANSIONS", &CF_MAX_EXPANSIONS),
];

impl Setting {
    /// A setting whose default is a word, which has the value `value`.
    const fn new(
        name: &'static CStr,
        default: &'static CStr,
        value: u64,
        parse: fn(Arg) -> Result<Parsed, Problem>,
    ) -> Self {
        Self {
            name,
            default,
            value: AtomicU64::new(value),
            text: Mutex::new(None),
            parse,
            beside_others: || 0..=u64::MAX,
        }
    }

    /// The same setting within a range that follows from other settings.
    const fn within(mut self, beside_others: fn() -> RangeInclusive<u64>) -> Self {
        self.beside_others = beside_others;
        self
    }

    /// A setting whose default is an integer.
    const fn of_integer(
        name: &'static CStr,
        default: &'static CStr,
        parse: fn(Arg) -> Result<Parsed, Problem>,
    ) -> Self {
        Self::new(name, default, digits(default).0, parse)
    }

    /// A setting whose default is a decimal fraction.
    const fn of_fraction(
        name: &'static CStr,
        default: &'static CStr,
        parse: fn(Arg) -> Result<Parsed, Problem>,
    ) -> Self {
        let (number, scale) = digits(default);
        // Both are exact, so this is the number that a parser returns.
        Self::new(name, default, (number as f64 / scale as f64).to_bits(), parse)
    }

    pub fn integer(&self) -> u64 {
        self.value.load(Ordering::Relaxed)
    }

    /// The value of a `yes`/`no` setting: true for `yes`.
    pub fn is_on(&self) -> bool {
        self.integer() != 0
    }

    pub fn number(&self) -> f64 {
        f64::from_bits(self.integer())
    }

    /// The value of a setting that is the layout of filters which clients create without naming
    /// one.
    pub fn layout(&self) -> Layout {
        layout::ALL.get(self.integer() as usize).map_or(Layout::Bloomline, |row| row.layout)
    }

    pub fn text(&self) -> String {
        let text = self.text.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        text.clone().unwrap_or_else(|| self.default.to_string_lossy().into_owned())
    }

    /// Sets the value, if it is valid whatever the other settings are: a call or a file sets
    /// several in any order, and a server undoes a refused call one by one.
    ///
    /// # Errors
    ///
    /// Why the value is refused. The old value stays.
    pub fn set(&self, arg: Arg) -> Result<(), Problem> {
        let Parsed { value, text } = (self.parse)(arg)?;
        if let Some(text) = text.filter(|text| !arg.is(text)) {
            let name = self.name.to_string_lossy();
            log::notice(&format!("{name} is capped at {text}, '{}' was given", arg.shown()));
        }
        let given = || String::from_utf8_lossy(arg.bytes()).into_owned();
        let mut current = self.text.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *current = Some(text.map_or_else(given, str::to_owned));
        self.value.store(value, Ordering::Relaxed);
        Ok(())
    }

    /// Checks the value beside those of the other settings, when all of them are set.
    ///
    /// # Errors
    ///
    /// [`Problem::OutOfRange`].
    pub fn check(&self) -> Result<(), Problem> {
        in_range(Some(self.integer()), (self.beside_others)()).map(drop)
    }
}

/// The digits of a decimal number, and the power of ten that they are divided by.
const fn digits(text: &CStr) -> (u64, u64) {
    let (mut rest, mut number, mut scale, mut is_fraction) = (text.to_bytes(), 0, 1, false);
    while let [byte, others @ ..] = rest {
        match *byte {
            b'.' => is_fraction = true,
            digit => {
                number = 10 * number + (digit - b'0') as u64;
                scale *= if is_fraction { 10 } else { 1 };
            }
        }
        rest = others;
    }
    (number, scale)
}

/// A layout of those that `is_possible`, as its index in the table.
fn layout(arg: Arg, is_possible: fn(&LayoutRow) -> bool) -> Result<Parsed, Problem> {
    let rows = (0..).zip(&layout::ALL).filter(|(_, row)| is_possible(row));
    let Some((value, row)) = rows.clone().find(|(_, row)| row.docs.has_token(arg)) else {
        let names: Vec<&str> = rows.map(|(_, row)| row.name()).collect();
        return Err(Problem::OutOfRange(format!("{{{}}}", names.join(", ")).into()));
    };
    Ok(Parsed { value, text: Some(row.name()) })
}

fn switch(arg: Arg) -> Result<Parsed, Problem> {
    let mut names = (0..).zip(["no", "yes"]);
    let found = names.find(|(_, name)| arg.is(name));
    let (value, name) = found.ok_or(Problem::OutOfRange("{no, yes}".into()))?;
    Ok(Parsed { value, text: Some(name) })
}

fn rate(arg: Arg) -> Result<Parsed, Problem> {
    let rate = fraction(arg)?;
    let text = (rate > MAX_ERROR_RATE).then_some("0.25");
    Ok(Parsed { value: rate.min(MAX_ERROR_RATE).to_bits(), text })
}

/// A number above 0 and below 1.
fn fraction(arg: Arg) -> Result<f64, Problem> {
    let number = arg.number().ok_or(Problem::Unreadable)?;
    if number > 0.0 && number < 1.0 {
        return Ok(number);
    }
    Err(Problem::OutOfRange("(0.000000, 1.000000)".into()))
}

fn integer(arg: Arg, least: u64, most: u64) -> Result<Parsed, Problem> {
    let given = arg.integer().ok_or(Problem::Unreadable)?;
    let value = in_range(u64::try_from(given).ok(), least..=most)?;
    Ok(Parsed { value, text: None })
}

/// The value; an error if there is none, which is a negative one, or it is outside of the range.
fn in_range(value: Option<u64>, range: RangeInclusive<u64>) -> Result<u64, Problem> {
    let out_of_range =
        || Problem::OutOfRange(format!("[{}, {}]", range.start(), range.end()).into());
    value.filter(|value| range.contains(value)).ok_or_else(out_of_range)
}

/// Parses a number of bytes with an optional unit, as in the server's own settings: `1k` is 1,000
/// bytes, `1kb` is 1,024 bytes.
fn bytes(text: &[u8]) -> Option<u64> {
    let text = str::from_utf8(text).ok()?;
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at_checked(digits)?;
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1_000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        "t" => 1_000_000_000_000,
        "tb" => 1 << 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn bytes_take_the_units_of_the_server() {
        let cases: [(&str, Option<u64>); 12] = [
            ("0", Some(0)),
            ("17", Some(17)),
            ("1b", Some(1)),
            ("1k", Some(1000)),
            ("1KB", Some(1024)),
            ("3Mb", Some(3 << 20)),
            ("25gb", Some(25 << 30)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("gb", None),
            ("-1", None),
            ("1 gb", None),
        ];
        for (text, expected) in cases {
            assert_eq!(bytes(text.as_bytes()), expected, "{text:?}");
        }
    }
}
