//! A filter without a window, and the form of its numbers.

use bloomline_core::bloom::bloomline::rate::fp_rate;
use bloomline_core::bloom::bloomline::{BlockedPlan, SparseFilter};
use bloomline_core::bloom::scalable::size_bytes;
use bloomline_core::host::{Growth, Spec};

use crate::used::{self, Rounding};

/// A filter with a number of items in it.
pub struct Plan {
    spec: Spec,
    pub(crate) items: u64,
    layers: Vec<BlockedPlan>,
}

impl Plan {
    /// The layers that a filter has when `items` new items have been added.
    ///
    /// # Errors
    /// A number out of range, and a filter that does not grow with less capacity than items.
    pub fn new(spec: Spec, items: u64) -> Result<Self, bloomline_core::Error> {
        let (mut layers, mut room) = (Vec::new(), 0u64);
        for layer in spec.layers() {
            let layer = layer?;
            room = room.saturating_add(layer.capacity());
            layers.push(layer);
            if room >= items {
                break;
            }
        }
        Ok(Self { spec, items, layers })
    }

    /// The command that makes it.
    pub fn command(&self, key: &str) -> String {
        let Spec { capacity, error_rate, growth } = self.spec;
        let growth = match growth {
            Growth::Fixed => " NONSCALING".to_owned(),
            Growth::Scaling { expansion: 2 } => String::new(),
            Growth::Scaling { expansion } => format!(" EXPANSION {expansion}"),
        };
        format!("BF.RESERVE {key} {error_rate} {capacity}{growth}")
    }

    /// Number of layers: `BF.INFO key FILTERS`.
    pub fn layer_count(&self) -> usize {
        self.layers.len()
    }

    /// Bytes: `BF.INFO key SIZE`.
    pub fn size_bytes(&self) -> u64 {
        if let Some(bytes) = self.sparse_bytes() {
            return bytes;
        }
        let bits = self.layers.iter().map(BlockedPlan::bytes).sum();
        let newest = self.layers.last().map(BlockedPlan::shape);
        newest.map_or(0, |newest| size_bytes(bits, self.layers.len() as u32, newest))
    }

    /// Bytes of `used_memory` for the key with this filter.
    pub fn used_bytes(&self, rounding: Rounding) -> u64 {
        let allocations = match self.sparse_bytes() {
            Some(bytes) => vec![bytes],
            None => used::of_filter(&self.layers),
        };
        used::used_bytes(allocations.into_iter(), rounding)
    }

    /// Bytes of the only allocation, if the filter is the list of its few items.
    fn sparse_bytes(&self) -> Option<u64> {
        let [layer] = self.layers.as_slice() else { return None };
        SparseFilter::planned_bytes(layer.shape(), self.items)
    }

    /// Bytes that `BF.COMPACT key` frees.
    pub fn freed_bytes(&self) -> u64 {
        let compacted = self.spec.compacted(self.items);
        compacted.map_or(0, |(before, after)| before.bytes() - after.bytes())
    }

    /// Bits set per item in the newest layer: `hashes` of `BF.DEBUG key`.
    pub fn hashes(&self) -> u32 {
        self.layers.last().map_or(0, |layer| layer.geometry().hashes())
    }

    /// Bytes of the filter in bits, for each item.
    pub fn bits_an_item(&self) -> f64 {
        self.size_bytes() as f64 * 8.0 / self.items.max(1) as f64
    }

    /// Computed rate of false positives with these items in it.
    pub fn fp_rate(&self) -> f64 {
        self.fp_rate_at(self.items)
    }

    /// Computed rate of false positives when fewer items were added, for a chart.
    pub fn fp_rate_at(&self, items: u64) -> f64 {
        in_layers(self.layers.iter(), items)
            .map(|(layer, len)| fp_rate(layer.geometry(), len))
            .sum()
    }

    /// Each layer with the items in it, oldest first: all but the newest are full.
    pub fn in_layers(&self) -> impl Iterator<Item = (&BlockedPlan, u64)> {
        in_layers(self.layers.iter(), self.items)
    }
}

/// Each layer with the items in it, of all that were added.
pub(crate) fn in_layers<'a>(
    layers: impl Iterator<Item = &'a BlockedPlan>,
    items: u64,
) -> impl Iterator<Item = (&'a BlockedPlan, u64)> {
    layers.scan(items, |left, layer| {
        let len = layer.capacity().min(*left);
        *left -= len;
        Some((layer, len))
    })
}

/// Bytes with a unit, to three digits.
pub(crate) fn human(bytes: u64) -> String {
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
pub(crate) fn rate(rate: f64) -> String {
    if rate >= 1e-4 { format!("{rate:.6}") } else { format!("{rate:.2e}") }
}
