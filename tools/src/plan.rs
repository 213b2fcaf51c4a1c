//! The sizes of a filter from its parameters, by the module's own rule; nothing is allocated.

use std::error::Error;
use std::fmt::Write;

use bloomline_core::bloom::bloomline::rate::fp_rate;
use bloomline_core::bloom::window::{DEFAULT_GENERATIONS, WindowSpec};
use bloomline_core::host::{Growth, Spec};
use lexopt::prelude::*;

use crate::deletable;
use crate::growing::{Plan, human, rate};
use crate::used::Rounding;
use crate::windowed::{Lifetime, WindowedPlan};

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
            None if is_alone => deletable::table(items, error_rate),
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
        let (generations, refreshes) = (DEFAULT_GENERATIONS, lifetime.refreshes());
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
    let mut text = table(&plans)?;
    if let (Some(_), [plan]) = (capacity, plans.as_slice()) {
        text += "\n";
        text += &layers(plan)?;
    }
    if shows_compacted {
        let rows = plans.iter().map(|it| (it.command("key"), it.size_bytes(), it.freed_bytes()));
        text += &compacted(rows)?;
    }
    Ok(text)
}

/// The plans of a filter that forgets: one with its layers, or several to compare.
fn windowed(
    spec: WindowSpec,
    items: u64,
    generations: Option<u32>,
) -> Result<String, Box<dyn Error>> {
    const COMPARED: [u32; 6] = [2, 4, 8, 16, 32, 64];
    let numbers = generations.as_ref().map_or(COMPARED.as_slice(), std::slice::from_ref);
    let fits = |number: &&u32| generations.is_some() || u64::from(**number) <= items;
    let plan = |&generations: &u32| WindowedPlan::new(WindowSpec { generations, ..spec }, items);
    let plans = numbers.iter().filter(fits).map(plan).collect::<Result<Vec<_>, _>>()?;
    let mut text = crate::windowed::table(&plans)?;
    if let (Some(_), [plan]) = (generations, plans.as_slice()) {
        text += "\n";
        text += &plan.layers()?;
    }
    Ok(text)
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

/// A line for each plan.
fn table(plans: &[Plan]) -> Result<String, std::fmt::Error> {
    let width = plans.iter().map(|plan| plan.command("key").len()).max().unwrap_or(0);
    let mut text = String::new();
    if let Some(plan) = plans.first() {
        writeln!(text, "{} items", plan.items)?;
    }
    writeln!(
        text,
        "{:width$}  layers  hashes          bytes             used_memory  bits per item  rate",
        ""
    )?;
    for plan in plans {
        writeln!(
            text,
            "{:width$}  {:>6}  {:>6}  {:>13}  {:>10}  {:>11}  {:>13.2}  {}",
            plan.command("key"),
            plan.layer_count(),
            plan.hashes(),
            plan.size_bytes(),
            human(plan.size_bytes()),
            human(plan.used_bytes(Rounding::Classes)),
            plan.bits_an_item(),
            rate(plan.fp_rate()),
        )?;
    }
    Ok(text)
}

/// A line for each layer.
fn layers(plan: &Plan) -> Result<String, std::fmt::Error> {
    let mut text =
        String::from("layer       capacity          items  hashes          bytes  rate\n");
    for (number, (layer, len)) in plan.in_layers().enumerate() {
        let geometry = layer.geometry();
        writeln!(
            text,
            "{:>5}  {:>13}  {len:>13}  {:>6}  {:>13}  {}",
            number + 1,
            layer.capacity(),
            geometry.hashes(),
            geometry.bytes(),
            rate(fp_rate(geometry, len)),
        )?;
    }
    Ok(text)
}
