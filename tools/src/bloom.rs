//! The sizes of a Bloom filter with a number of items in it: of one that keeps its items, or of a
//! windowed one that is full.

use bloomline_core::Error;
use bloomline_core::bloom::bloomline::rate::fp_rate;
use bloomline_core::bloom::bloomline::{BlockedPlan, BlockedShape};
use bloomline_core::bloom::layer::Rules;
use bloomline_core::bloom::small::{self, SmallFilter};
use bloomline_core::bloom::window::{self, MAX_OVERFLOW_LAYERS, Window, WindowSpec};
use bloomline_core::host::{Growth, Spec};

use crate::used::{self, Rounding};

/// A filter with a number of items in it, or inside each of its windows.
pub struct Plan {
    spec: Spec,
    window: Option<WindowSpec>,
    items: u64,
    /// The layers, oldest first; of a windowed filter those of each generation, which has the same
    /// number of items as the others: the regular one and the overflow layers.
    layers: Vec<BlockedPlan>,
}

impl Plan {
    /// The layers that a filter has when `items` new items have been added.
    ///
    /// # Errors
    /// A number out of range, and a filter that does not grow with less capacity than items.
    pub fn new(spec: Spec, items: u64) -> Result<Self, Error> {
        let layers = layers_for(items, spec.layers(), u32::MAX)?;
        Ok(Self { spec, window: None, items, layers })
    }

    /// The layers of a windowed filter that gets `items` distinct items inside each window.
    ///
    /// # Errors
    /// A number out of range; more items than the capacity if the filter does not grow; more
    /// overflow layers than a generation may have.
    pub fn windowed(spec: WindowSpec, items: u64) -> Result<Self, Error> {
        // A LAST filter grows whatever its options, as the module creates it.
        let growth = match spec.window {
            Window::Last => Growth::Scaling { expansion: 2 },
            _ => spec.growth,
        };
        let window = WindowSpec { growth, ..spec };
        window.check()?;
        let mut layers = layers_for(0, window.regular().layers_of_part(), 1)?;
        let room = layers.iter().map(BlockedPlan::capacity).sum();
        let needed = items.div_ceil(window.generations.into());
        if needed > room {
            let overflow = window.overflow().ok_or(Error::Full(spec.capacity))?;
            layers.extend(layers_for(
                needed - room,
                overflow.layers_of_part(),
                MAX_OVERFLOW_LAYERS,
            )?);
        }
        let WindowSpec { capacity, error_rate, .. } = window;
        Ok(Self {
            spec: Spec { capacity, error_rate, growth },
            window: Some(window),
            items,
            layers,
        })
    }

    /// The command that makes it.
    pub fn command(&self, key: &str) -> String {
        let Spec { capacity, error_rate, growth } = self.spec;
        let growth = match growth {
            Growth::Fixed => " NONSCALING".to_owned(),
            Growth::Scaling { expansion: 2 } => String::new(),
            Growth::Scaling { expansion } => format!(" EXPANSION {expansion}"),
        };
        let command = format!("BF.RESERVE {key} {error_rate} {capacity}{growth}");
        let Some(WindowSpec { window, generations, refreshes, .. }) = self.window else {
            return command;
        };
        let window = match window {
            Window::Time { millis } => format!(" WINDOW {}", millis / 1000),
            Window::Last => " LAST".to_owned(),
            Window::Manual => String::new(),
        };
        let refresh = if refreshes { "" } else { " NOREFRESH" };
        format!("{command}{window} GENERATIONS {generations}{refresh}")
    }

    /// The items, or those inside each window.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The number of generations of a full filter: the newest and those of the window; 1 of a
    /// filter that keeps its items.
    pub fn generation_count(&self) -> u32 {
        self.window.map_or(1, |window| window.generations + 1)
    }

    /// The number of layers: `BF.INFO key FILTERS`.
    pub fn layer_count(&self) -> usize {
        self.generation_count() as usize * self.layers.len()
    }

    /// Bytes: `BF.INFO key SIZE`.
    pub fn size_bytes(&self) -> u64 {
        let bytes = |layers: &[BlockedPlan]| layers.iter().map(BlockedPlan::bytes).sum();
        if let (Some(_), [regular, overflow @ ..]) = (&self.window, self.layers.as_slice()) {
            let generations = u64::from(self.generation_count());
            let overflow = match overflow.len() as u32 {
                0 => 0,
                layers => BlockedShape::size_bytes(bytes(overflow), layers),
            };
            let regular = generations * regular.bytes();
            return window::size_bytes(regular, generations as usize, generations * overflow);
        }
        if let Some(bytes) = self.listed_bytes() {
            return bytes;
        }
        let (bits, count) = (bytes(&self.layers), self.layers.len() as u32);
        let newest = self.layers.last().map(BlockedPlan::shape);
        newest.map_or(0, |newest| small::planned_bytes(bits, count, newest))
    }

    /// Bytes of the bits of one generation.
    pub fn generation_bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.geometry().bytes()).sum()
    }

    /// Bytes of `used_memory` for the key with this filter.
    pub fn used_bytes(&self, rounding: Rounding) -> u64 {
        let allocations = match (&self.window, self.layers.as_slice(), self.listed_bytes()) {
            (Some(_), [regular, overflow @ ..], _) => {
                used::of_windowed(self.generation_count() as usize, regular, overflow)
            }
            (_, _, Some(bytes)) => vec![bytes],
            (_, layers, None) => used::of_filter(layers),
        };
        used::used_bytes(allocations.into_iter(), rounding)
    }

    /// Bytes of the only allocation, if the filter is the list of its few items.
    fn listed_bytes(&self) -> Option<u64> {
        match (self.window, self.layers.as_slice()) {
            (None, [layer]) => SmallFilter::listed_bytes(layer.shape(), self.items),
            _ => None,
        }
    }

    /// Bytes that `BF.COMPACT key` frees. It refuses windowed filters.
    pub fn freed_bytes(&self) -> u64 {
        let compacted = self.spec.compacted(self.items).filter(|_| self.window.is_none());
        compacted.map_or(0, |(before, after)| before.bytes() - after.bytes())
    }

    /// Bits set per item in the newest layer: `hashes` of `BF.DEBUG key`.
    pub fn hashes(&self) -> u32 {
        self.layers.last().map_or(0, |layer| layer.geometry().hashes())
    }

    /// Bytes of the filter in bits, for each item.
    pub fn bits_per_item(&self) -> f64 {
        self.size_bytes() as f64 * 8.0 / self.items.max(1) as f64
    }

    /// Computed rate of false positives with these items in it.
    pub fn fp_rate(&self) -> f64 {
        self.fp_rate_at(self.items)
    }

    /// The same with fewer items, for a chart.
    pub fn fp_rate_at(&self, items: u64) -> f64 {
        let rates = self.with_items(items).map(|(layer, len)| fp_rate(layer.geometry(), len));
        rates.sum::<f64>() * f64::from(self.generation_count())
    }

    /// Each layer of a generation with the items in it: all but the newest are full.
    pub fn in_layers(&self) -> impl Iterator<Item = (&BlockedPlan, u64)> {
        self.with_items(self.items)
    }

    fn with_items(&self, items: u64) -> impl Iterator<Item = (&BlockedPlan, u64)> {
        let generations = self.window.map_or(1, |window| window.generations);
        self.layers.iter().scan(items.div_ceil(generations.into()), |left, layer| {
            let len = layer.capacity().min(*left);
            *left -= len;
            Some((layer, len))
        })
    }
}

/// The first layers, as many as it takes for these items, and at least one.
fn layers_for(
    items: u64,
    layers: impl Iterator<Item = Result<BlockedPlan, Error>>,
    most: u32,
) -> Result<Vec<BlockedPlan>, Error> {
    let (mut taken, mut room) = (Vec::new(), 0u64);
    for layer in layers {
        if taken.len() == most as usize {
            return Err(Error::TooManyOverflowLayers(most));
        }
        let layer = layer?;
        room = room.saturating_add(layer.capacity());
        taken.push(layer);
        if room >= items {
            break;
        }
    }
    Ok(taken)
}
