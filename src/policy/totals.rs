//! What filters add to the totals of INFO, when they are created, changed and freed.

use super::counters::{
    BYTES, CAPACITY, FILTERS, FILTERS_BLOOMLINE, FILTERS_WINDOWED, GENERATIONS_DROPPED, ITEMS,
    LAYERS, LAYERS_ADDED, ROTATIONS,
};
use crate::server::background;
use bloomline_core::Layout;
use bloomline_core::host::pages::LARGE;
use bloomline_core::host::{AnyFilter, Generation};

/// Adds a filter.
pub fn add(filter: &AnyFilter) {
    FILTERS.add(1);
    FILTERS_BLOOMLINE.add(u64::from(filter.layout() == Layout::Bloomline));
    FILTERS_WINDOWED.add(u64::from(filter.windowed().is_some()));
    Totals::of(filter).add();
}

/// Subtracts a filter.
pub fn subtract(filter: &AnyFilter) {
    FILTERS.subtract(1);
    FILTERS_BLOOMLINE.subtract(u64::from(filter.layout() == Layout::Bloomline));
    FILTERS_WINDOWED.subtract(u64::from(filter.windowed().is_some()));
    Totals::of(filter).subtract();
}

/// What a filter adds to the totals that change with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    layers: u64,
    items: u64,
    capacity: u64,
    bytes: u64,
}

impl Totals {
    fn of(filter: &AnyFilter) -> Self {
        Self {
            layers: filter.layer_count().into(),
            items: filter.len(),
            capacity: filter.capacity(),
            bytes: filter.size_bytes(),
        }
    }

    fn add(self) {
        LAYERS.add(self.layers);
        ITEMS.add(self.items);
        CAPACITY.add(self.capacity);
        BYTES.add(self.bytes);
    }

    fn subtract(self) {
        LAYERS.subtract(self.layers);
        ITEMS.subtract(self.items);
        CAPACITY.subtract(self.capacity);
        BYTES.subtract(self.bytes);
    }
}

/// A change of a filter: what is known of the filter before it.
pub enum Change {
    /// The filter only grows: its layers, and the items in the newest.
    Growth {
        /// The layers.
        layers: u32,
        /// The items.
        newest_len: u64,
    },
    /// Anything may change: its totals.
    Any(Totals),
    /// The filter is a windowed one.
    OfWindow {
        /// Its totals.
        before: Totals,
        /// The number of its newest generation.
        number: u64,
        /// Its generations.
        generations: u64,
    },
}

impl Change {
    /// A change of a filter begins.
    #[inline]
    pub fn begin(filter: &AnyFilter) -> Self {
        match filter.windowed() {
            None => Self::Growth { layers: filter.layer_count(), newest_len: filter.newest_len() },
            Some(windowed) => Self::OfWindow {
                number: windowed.number(),
                generations: windowed.generation_count() as u64,
                before: Totals::of(filter),
            },
        }
    }

    /// The filter, which is not changed yet, may do more than grow.
    pub fn may_be_any(&mut self, filter: &AnyFilter) {
        if let Self::Growth { .. } = self {
            *self = Self::Any(Totals::of(filter));
        }
    }

    /// Counts the change, and frees elsewhere what a windowed filter has dropped.
    #[inline]
    pub fn end(&self, filter: &mut AnyFilter) {
        match self {
            Self::Growth { layers, newest_len } => count_growth(filter, *layers, *newest_len),
            Self::Any(before) => count_change(filter, *before),
            Self::OfWindow { before, number, generations } => {
                count_change(filter, *before);
                count_rotations(filter, *number, *generations);
            }
        }
    }
}

/// Adds what a filter that only grows has gained.
#[inline]
fn count_growth(filter: &AnyFilter, layers: u32, newest_len: u64) {
    if (filter.layer_count(), filter.newest_len()) == (layers, newest_len) {
        return;
    }
    let Some(added) = filter.added_since(layers, newest_len) else { return };
    ITEMS.add(added.items);
    if added.layers != 0 {
        LAYERS.add(added.layers.into());
        LAYERS_ADDED.add(added.layers.into());
        CAPACITY.add(added.capacity);
        BYTES.add(added.bytes);
    }
}

/// Counts the difference to earlier totals.
#[cold]
fn count_change(filter: &AnyFilter, before: Totals) {
    let now = Totals::of(filter);
    if now != before {
        now.add();
        before.subtract();
    }
}

fn count_rotations(filter: &mut AnyFilter, number: u64, generations: u64) {
    let Some(windowed) = filter.windowed_mut() else { return };
    let opened = windowed.number() - number;
    ROTATIONS.add(opened);
    let present = windowed.generation_count() as u64;
    GENERATIONS_DROPPED.add(generations + opened - present);
    let dropped = windowed.take_dropped();
    let bytes = dropped.iter().map(Generation::size_bytes).sum::<u64>();
    if bytes >= LARGE as u64 {
        background::drop_later(dropped, bytes);
    }
}
