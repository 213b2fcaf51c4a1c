//! The sizes of a windowed filter, when it is full.

use std::fmt::Write;

use bloomline_core::Error;
use bloomline_core::bloom::bloomline::rate::fp_rate;
use bloomline_core::bloom::bloomline::{BlockedPlan, BlockedShape};
use bloomline_core::bloom::layer::Rules;
use bloomline_core::bloom::window::{MAX_OVERFLOW_LAYERS, Window, WindowSpec, size_bytes};
use bloomline_core::host::Growth;

use crate::growing::{human, in_layers, rate};
use crate::used::{self, Rounding};

/// The options of a command line about forgetting.
#[derive(Default)]
pub struct Lifetime {
    /// Seconds of `--window`.
    pub seconds: Option<u64>,
    /// True with `--last`.
    pub is_last: bool,
    /// The number of `--generations`.
    pub generations: Option<u32>,
    /// True with `--norefresh`.
    pub no_refresh: bool,
}

impl Lifetime {
    /// When the filter forgets; none if it never does.
    ///
    /// # Errors
    ///
    /// Options that exclude each other, or that need another one.
    pub fn window(&self) -> Result<Option<Window>, String> {
        match (self.seconds, self.is_last, self.generations) {
            (Some(_), true, _) => Err("--window and --last exclude each other".to_owned()),
            (Some(seconds), ..) => Ok(Some(Window::Time { millis: seconds.saturating_mul(1000) })),
            (None, true, _) => Ok(Some(Window::Last)),
            (None, false, Some(_)) => Ok(Some(Window::Manual)),
            (None, false, None) if self.no_refresh => {
                Err("--norefresh needs --window, --last or --generations".to_owned())
            }
            (None, false, None) => Ok(None),
        }
    }

    /// True if an item that is added again is found longer.
    pub fn refreshes(&self) -> bool {
        !self.no_refresh
    }
}

/// A windowed filter, with the same number of items in each of its generations.
pub struct WindowedPlan {
    spec: WindowSpec,
    items: u64,
    regular: BlockedPlan,
    overflow: Vec<BlockedPlan>,
}

impl WindowedPlan {
    /// The layers of a filter that gets so many distinct items inside each window.
    ///
    /// # Errors
    ///
    /// A number out of range; more items than the capacity if the filter does not grow; more
    /// overflow layers than a generation may have.
    pub fn new(spec: WindowSpec, items: u64) -> Result<Self, Error> {
        // A LAST filter grows whatever its options, as the module creates it.
        let growth = match spec.window {
            Window::Last => Growth::Scaling { expansion: 2 },
            _ => spec.growth,
        };
        let spec = WindowSpec { growth, ..spec };
        spec.check()?;
        let full = || Error::Full(spec.capacity);
        let regular = spec.regular().layers().next().ok_or_else(full)??;
        let mut plan = Self { spec, items, regular, overflow: Vec::new() };
        let mut room = plan.regular.capacity();
        if room < plan.items_per_generation() {
            let layers = spec.overflow().ok_or_else(full)?;
            for layer in layers.layers() {
                if plan.overflow.len() == MAX_OVERFLOW_LAYERS as usize {
                    return Err(Error::TooManyLayers(MAX_OVERFLOW_LAYERS));
                }
                let layer = layer?;
                room = room.saturating_add(layer.capacity());
                plan.overflow.push(layer);
                if room >= plan.items_per_generation() {
                    break;
                }
            }
        }
        Ok(plan)
    }

    /// The command that creates the filter.
    pub fn command(&self, key: &str) -> String {
        let WindowSpec { capacity, error_rate, growth, window, generations, refreshes } = self.spec;
        let growth = match growth {
            Growth::Fixed => " NONSCALING".to_owned(),
            Growth::Scaling { expansion: 2 } => String::new(),
            Growth::Scaling { expansion } => format!(" EXPANSION {expansion}"),
        };
        let window = match window {
            Window::Time { millis } => format!(" WINDOW {}", millis / 1000),
            Window::Last => " LAST".to_owned(),
            Window::Manual => String::new(),
        };
        let generations = format!(" GENERATIONS {generations}");
        let refresh = if refreshes { "" } else { " NOREFRESH" };
        format!("BF.RESERVE {key} {error_rate} {capacity}{growth}{window}{generations}{refresh}")
    }

    /// The number of generations of a full filter: the newest and those of the window.
    pub fn generation_count(&self) -> u32 {
        self.spec.generations + 1
    }

    /// The number of layers: `BF.INFO key FILTERS`.
    pub fn layer_count(&self) -> usize {
        self.generation_count() as usize * (1 + self.overflow.len())
    }

    /// Bytes: `BF.INFO key SIZE`.
    pub fn size_bytes(&self) -> u64 {
        let generations = self.generation_count();
        let overflow = match self.overflow.len() as u32 {
            0 => 0,
            layers => BlockedShape::size_bytes(bytes(&self.overflow), layers),
        };
        let generations = u64::from(generations);
        size_bytes(generations * self.regular.bytes(), generations as usize, generations * overflow)
    }

    /// Bytes of `used_memory` for the key with this filter.
    pub fn used_bytes(&self, rounding: Rounding) -> u64 {
        let generations = self.generation_count() as usize;
        let allocations = used::of_windowed(generations, &self.regular, &self.overflow);
        used::used_bytes(allocations.into_iter(), rounding)
    }

    /// Bytes of the layers of one generation.
    pub fn generation_bytes(&self) -> u64 {
        self.regular.geometry().bytes() + bytes(&self.overflow)
    }

    /// Bytes of the filter in bits, per item inside one window.
    pub fn bits_per_item(&self) -> f64 {
        self.size_bytes() as f64 * 8.0 / self.items.max(1) as f64
    }

    /// The computed false-positive rate when all generations are full.
    pub fn fp_rate(&self) -> f64 {
        self.fp_rate_at(self.items)
    }

    /// The same with fewer items inside each window, for a chart.
    pub fn fp_rate_at(&self, items: u64) -> f64 {
        let rates = self.with_items(items).map(|(layer, len)| fp_rate(layer.geometry(), len));
        rates.sum::<f64>() * f64::from(self.generation_count())
    }

    fn items_per_generation(&self) -> u64 {
        self.items.div_ceil(self.spec.generations.into())
    }

    /// The layers of one generation with the items in each.
    pub fn in_layers(&self) -> impl Iterator<Item = (&BlockedPlan, u64)> {
        self.with_items(self.items)
    }

    /// The same with so many items inside each window.
    fn with_items(&self, items: u64) -> impl Iterator<Item = (&BlockedPlan, u64)> {
        let all = std::iter::once(&self.regular).chain(&self.overflow);
        in_layers(all, items.div_ceil(self.spec.generations.into()))
    }

    /// A line for each layer of one generation.
    ///
    /// # Errors
    ///
    /// None: a `String` takes all text.
    pub fn layers(&self) -> Result<String, std::fmt::Error> {
        let mut text = format!(
            "each of {} generations: {} bytes\n\
             layer            capacity          items  hashes          bytes  rate\n",
            self.generation_count(),
            self.generation_bytes(),
        );
        for (index, (layer, len)) in self.in_layers().enumerate() {
            let geometry = layer.geometry();
            let name = if index == 0 { "regular".to_owned() } else { format!("overflow {index}") };
            writeln!(
                text,
                "{name:10}  {:>13}  {len:>13}  {:>6}  {:>13}  {}",
                layer.capacity(),
                geometry.hashes(),
                geometry.bytes(),
                rate(fp_rate(geometry, len)),
            )?;
        }
        Ok(text)
    }
}

/// Bytes of the bits of layers.
fn bytes(layers: &[BlockedPlan]) -> u64 {
    layers.iter().map(|layer| layer.geometry().bytes()).sum()
}

/// A line for each plan.
///
/// # Errors
///
/// None: a `String` takes all text.
pub fn table(plans: &[WindowedPlan]) -> Result<String, std::fmt::Error> {
    let width = plans.iter().map(|plan| plan.command("key").len()).max().unwrap_or(0);
    let mut text = String::new();
    if let Some(plan) = plans.first() {
        writeln!(text, "{} items inside one window", plan.items)?;
    }
    writeln!(
        text,
        "{:width$}  layers          bytes             used_memory  bits per item  rate      found for, windows",
        ""
    )?;
    for plan in plans {
        writeln!(
            text,
            "{:width$}  {:>6}  {:>13}  {:>10}  {:>11}  {:>13.2}  {}  1 to {:.3}",
            plan.command("key"),
            plan.layer_count(),
            plan.size_bytes(),
            human(plan.size_bytes()),
            human(plan.used_bytes(Rounding::Classes)),
            plan.bits_per_item(),
            rate(plan.fp_rate()),
            1.0 + 1.0 / f64::from(plan.spec.generations),
        )?;
    }
    Ok(text)
}
