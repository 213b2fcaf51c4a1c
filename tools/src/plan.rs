//! The sizes of a filter from its parameters, by the module's own rule; nothing is allocated.

use std::error::Error;
use std::fmt::Write;

use bloomline_core::bloom::bloomline::rate::fp_rate;
use bloomline_core::bloom::window::{DEFAULT_GENERATIONS, Window, WindowSpec};
use bloomline_core::host::{Growth, Spec};
use lexopt::prelude::*;

use crate::bloom::Plan;
use crate::deletable::DeletablePlan;
use crate::used::Rounding;

/// How the program is called.
pub const HELP: &str = "\
make plan ARGS=\"--items 1e6 --error 0.001\", or: bloomline plan --items 1e6 --error 0.001
  --items N       items that will be added; 1e6 is a million
  --error RATE    highest share of absent items reported as present (default: 0.01, of
                  bloomline plan 0.001)
  --capacity N    items the first layer is sized for: shows every layer (default: compares several)
  --expansion N   how many times as large each further layer is; 0: NONSCALING (default: 2)
  --compact       also show what BF.COMPACT saves then; not for a windowed filter
a filter from which items can be deleted, beside one from which they cannot
  --deletable     a cuckoo filter for --items; takes --error only
a windowed filter, when it is full: --items are distinct items inside one window
  --window N      seconds for which items are found
  --last          items are found until --items further ones were added
  --generations N older generations: shows the layers of one (default: compares several);
                  without --window and --last, a filter that is rotated by hand
  --norefresh     an item that is added again is not found longer
used_memory is what the server counts: the filter in size classes of jemalloc, and 80 bytes per key
";

/// Capacity of a filter that nobody reserved, unless `bf-initial-size` says otherwise.
const UNRESERVED: u64 = 100;

/// The options of a command line about forgetting.
#[derive(Default)]
struct Lifetime {
    /// Seconds of `--window`.
    seconds: Option<u64>,
    /// True with `--last`.
    is_last: bool,
    /// The number of `--generations`.
    generations: Option<u32>,
    /// True with `--norefresh`.
    no_refresh: bool,
}

impl Lifetime {
    /// When the filter forgets; none if it never does.
    fn window(&self) -> Result<Option<Window>, &'static str> {
        match (self.seconds, self.is_last, self.generations) {
            (Some(_), true, _) => Err("--window and --last exclude each other"),
            (Some(seconds), ..) => Ok(Some(Window::Time { millis: seconds.saturating_mul(1000) })),
            (None, true, _) => Ok(Some(Window::Last)),
            (None, false, Some(_)) => Ok(Some(Window::Manual)),
            (None, false, None) if self.no_refresh => {
                Err("--norefresh needs --window, --last or --generations")
            }
            (None, false, None) => Ok(None),
        }
    }
}

/// A line for each filter: its command, its bytes, and the bytes that BF.COMPACT frees.
fn compacted(filters: impl Iterator<Item = (String, u64, u64)>) -> Result<String, Box<dyn Error>> {
    let filters: Vec<_> = filters.collect();
    let width = filters.iter().map(|(command, ..)| command.len()).max().unwrap_or(0);
    let mut text = format!("\n{:width$}  bytes after BF.COMPACT          freed\n", "");
    for (command, before, freed) in filters {
        let after = before - freed;
        let (human, part) = (human(after), freed as f64 * 100.0 / before as f64);
        writeln!(text, "{command:width$}  {after:>13}  {human:>10}  {freed:>13}  {part:>4.1} %")?;
    }
    Ok(text)
}

/// Answers a command line.
///
/// # Errors
/// What is wrong with it.
pub fn answer(mut words: lexopt::Parser) -> Result<String, Box<dyn Error>> {
    let (mut items, mut capacity, mut error_rate, mut expansion) = (None, None, 0.01, None);
    let (mut lifetime, mut shows_compacted) = (Lifetime::default(), false);
    let mut is_deletable = false;
    while let Some(word) = words.next()? {
        match word {
            Long("items") => items = Some(count(&words.value()?.string()?)?),
            Long("capacity") => capacity = Some(count(&words.value()?.string()?)?),
            Long("error") => error_rate = words.value()?.parse()?,
            Long("expansion") => expansion = Some(words.value()?.parse()?),
            Long("window") => lifetime.seconds = Some(words.value()?.parse()?),
            Long("last") => lifetime.is_last = true,
            Long("generations") => lifetime.generations = Some(words.value()?.parse()?),
            Long("norefresh") => lifetime.no_refresh = true,
            Long("compact") => shows_compacted = true,
            Long("deletable") => is_deletable = true,
            Short('h') | Long("help") => return Ok(HELP.to_owned()),
            other => return Err(other.unexpected().into()),
        }
    }
    let items = items.ok_or("--items is needed")?;
    if is_deletable {
        let is_alone = capacity.is_none() && expansion.is_none() && !shows_compacted;
        return match lifetime.window()? {
            None if is_alone => deletable(items, error_rate),
            _ => Err("--deletable takes --items and --error only".into()),
        };
    }
    let growth = match expansion {
        Some(0) => Growth::Fixed,
        other => Growth::Scaling { expansion: other.unwrap_or(2) },
    };
    if let Some(window) = lifetime.window()? {
        if shows_compacted {
            return Err("--compact is not for a windowed filter, which BF.COMPACT refuses".into());
        }
        let (generations, refreshes) = (DEFAULT_GENERATIONS, !lifetime.no_refresh);
        let capacity = capacity.unwrap_or(items);
        let spec = WindowSpec { capacity, error_rate, growth, window, generations, refreshes };
        return windowed(spec, items, lifetime.generations);
    }
    let asked = |capacity, growth| Plan::new(Spec { capacity, error_rate, growth }, items);
    let mut plans = vec![asked(capacity.unwrap_or(items), growth)?];
    if capacity.is_none() && growth != Growth::Fixed {
        plans.insert(0, asked(items, Growth::Fixed)?);
        if items > UNRESERVED {
            plans.push(asked(UNRESERVED, Growth::Scaling { expansion: 2 })?);
        }
    }
    let line = |plan: &Plan| {
        let before = format!("{:>6}  {:>6}  ", plan.layer_count(), plan.hashes());
        Line { before, ..Line::of(plan) }
    };
    let lines = plans.iter().map(line).collect();
    let mut text = table(&format!("{items} items"), ["layers  hashes  ", "  rate"], lines)?;
    if let (Some(_), [plan]) = (capacity, plans.as_slice()) {
        let names = |index| format!("{:>5}", index + 1);
        text += "\n";
        text += &layers(plan, names)?;
    }
    if shows_compacted {
        let rows = plans.iter().map(|it| (it.command("key"), it.size_bytes(), it.freed_bytes()));
        text += &compacted(rows)?;
    }
    Ok(text)
}

/// The plans of a windowed filter: one with its layers, or several to compare.
fn windowed(
    spec: WindowSpec,
    items: u64,
    generations: Option<u32>,
) -> Result<String, Box<dyn Error>> {
    const COMPARED: [u32; 6] = [2, 4, 8, 16, 32, 64];
    let numbers = generations.as_ref().map_or(COMPARED.as_slice(), std::slice::from_ref);
    let fits = |number: &&u32| generations.is_some() || u64::from(**number) <= items;
    let plan = |&generations: &u32| Plan::windowed(WindowSpec { generations, ..spec }, items);
    let plans = numbers.iter().filter(fits).map(plan).collect::<Result<Vec<_>, _>>()?;
    let line = |plan: &Plan| {
        let Line { after, .. } = Line::of(plan);
        let found_for = 1.0 + 1.0 / f64::from(plan.generation_count() - 1);
        let before = format!("{:>6}  ", plan.layer_count());
        Line { before, after: format!("{after}  1 to {found_for:.3}"), ..Line::of(plan) }
    };
    let heads = ["layers  ", "  rate      found for, windows"];
    let lines = plans.iter().map(line).collect();
    let mut text = table(&format!("{items} items inside one window"), heads, lines)?;
    if let (Some(_), [plan]) = (generations, plans.as_slice()) {
        let (count, bytes) = (plan.generation_count(), plan.generation_bytes());
        let names = |index| match index {
            0 => format!("{:10}", "regular"),
            index => format!("{:10}", format!("overflow {index}")),
        };
        write!(text, "\neach of {count} generations: {bytes} bytes\n")?;
        text += &layers(plan, names)?;
    }
    Ok(text)
}

/// Cuckoo filters, and a Bloom filter to compare them with.
fn deletable(items: u64, error_rate: f64) -> Result<String, Box<dyn Error>> {
    let mut lines = Vec::new();
    for is_fixed in [true, false] {
        let plan = DeletablePlan::new(items, error_rate, is_fixed)?;
        lines.push(Line {
            command: plan.command("key"),
            before: String::new(),
            bytes: plan.size_bytes(),
            used_bytes: plan.used_bytes(Rounding::Classes),
            bits_per_item: plan.size_bytes() as f64 * 8.0 / items as f64,
            after: String::new(),
        });
    }
    let spec = Spec { capacity: items, error_rate, growth: Growth::Fixed };
    // A Bloom filter has a smaller range of rates.
    if let Ok(bloom) = Plan::new(spec, items) {
        lines.push(Line { after: String::new(), ..Line::of(&bloom) });
    }
    Ok(table(&format!("{items} items"), [""; 2], lines)?)
}

/// A number of items, which people write as `1e9` too.
fn count(text: &str) -> Result<u64, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text} is no number"))?;
    whole(number).ok_or_else(|| format!("{text} is no number of items"))
}

/// A number of items that was written with a point or an exponent: whole, 1 to 1e18.
pub fn whole(number: f64) -> Option<u64> {
    let is_count = number.fract() == 0.0 && (1.0..=1e18).contains(&number);
    is_count.then_some(number as u64)
}

/// A filter in a table.
struct Line {
    command: String,
    /// The columns that stand before and after those of all tables.
    before: String,
    bytes: u64,
    used_bytes: u64,
    bits_per_item: f64,
    after: String,
}

impl Line {
    fn of(plan: &Plan) -> Self {
        Self {
            command: plan.command("key"),
            before: String::new(),
            bytes: plan.size_bytes(),
            used_bytes: plan.used_bytes(Rounding::Classes),
            bits_per_item: plan.bits_per_item(),
            after: format!("  {}", rate(plan.fp_rate())),
        }
    }
}

/// A line for each filter, below the heads of its columns.
fn table(
    title: &str,
    [before, after]: [&str; 2],
    lines: Vec<Line>,
) -> Result<String, std::fmt::Error> {
    let width = lines.iter().map(|line| line.command.len()).max().unwrap_or(0);
    let heads = "        bytes             used_memory  bits per item";
    let mut text = format!("{title}\n{:width$}  {before}{heads}{after}\n", "");
    for Line { command, before, bytes, used_bytes, bits_per_item, after } in lines {
        let (human, used) = (human(bytes), human(used_bytes));
        writeln!(
            text,
            "{command:width$}  {before}{bytes:>13}  {human:>10}  {used:>11}  \
             {bits_per_item:>13.2}{after}",
        )?;
    }
    Ok(text)
}

/// A line for each layer of a generation, whose names have one width.
fn layers(plan: &Plan, name: impl Fn(usize) -> String) -> Result<String, std::fmt::Error> {
    let mut text = format!(
        "{:width$}  {:>13}  {:>13}  hashes  {:>13}  rate\n",
        "layer",
        "capacity",
        "items",
        "bytes",
        width = name(0).len(),
    );
    for (index, (layer, len)) in plan.in_layers().enumerate() {
        let geometry = layer.geometry();
        writeln!(
            text,
            "{}  {:>13}  {len:>13}  {:>6}  {:>13}  {}",
            name(index),
            layer.capacity(),
            geometry.hashes(),
            geometry.bytes(),
            rate(fp_rate(geometry, len)),
        )?;
    }
    Ok(text)
}

/// Bytes with a unit, to three digits.
fn human(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {}", units.get(unit).unwrap_or(&"B"))
}

/// A rate to three digits, as a share.
fn rate(rate: f64) -> String {
    if rate >= 1e-4 { format!("{rate:.6}") } else { format!("{rate:.2e}") }
}
