//! Everything about a windowed filter but its generations.

use super::spec::{MAX_GENERATIONS, Window, WindowSpec};
use crate::bloom::bloomline::BlockedPlan;
use crate::bloom::bloomline::geometry::Geometry;
use crate::spec::{Growth, MAX_EXPANSION};

/// The numbers in front of the generations of a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RingState {
    /// Items that a regular layer is sized for.
    pub regular_capacity: u64,
    pub error_rate: f64,
    /// The length of a window: milliseconds of time, or with a window of items their number.
    /// Otherwise 0.
    pub extent: u64,
    pub seed: u64,
    /// The number of the newest generation. The first one has number 0.
    pub number: u64,
    /// Bytes of the bits of all generations that were dropped: where the bits of the oldest
    /// generation begin, counted over the life of the filter.
    pub dropped_bytes: u64,
    /// With a window of items, the earliest time of the next rotation. With a window of time, by
    /// how many milliseconds the time of the filter is ahead of the clock;
    /// [`rotation`](super::rotation) has the reason. Otherwise 0.
    pub clock: u64,
    /// Of a regular layer.
    pub geometry: Geometry,
    /// 0 if the filter does not grow.
    pub expansion: u16,
    /// Older generations that were specified.
    pub generations: u8,
    /// Items by which the capacity is below that of `generations` regular layers. With a window of
    /// items 0: there `extent` is the capacity.
    pub capacity_rounding: u8,
    pub kind: WindowKind,
    pub refreshes: bool,
    /// Generations that exist.
    pub count: u8,
}

/// [`Window`] without its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowKind {
    Time,
    Last,
    Manual,
}

const _: () = assert!(MAX_GENERATIONS < u8::MAX as u32 && MAX_EXPANSION <= u16::MAX as u32);

impl RingState {
    /// That of a filter of `count` generations, of which none was dropped.
    pub fn of(spec: &WindowSpec, seed: u64, regular: &BlockedPlan, count: usize) -> Self {
        let all = regular.capacity().saturating_mul(spec.generations.into());
        let rounding = all.saturating_sub(spec.capacity) as u8;
        let (kind, extent, capacity_rounding) = match spec.window {
            Window::Time { millis } => (WindowKind::Time, millis, rounding),
            Window::Last => (WindowKind::Last, spec.capacity, 0),
            Window::Manual => (WindowKind::Manual, 0, rounding),
        };
        Self {
            regular_capacity: regular.capacity(),
            error_rate: spec.error_rate,
            extent,
            seed,
            number: count as u64 - 1,
            dropped_bytes: 0,
            clock: 0,
            geometry: *regular.geometry(),
            expansion: spec.growth.expansion() as u16,
            generations: spec.generations as u8,
            capacity_rounding,
            kind,
            refreshes: spec.refreshes,
            count: count as u8,
        }
    }

    /// What the filter was created with.
    pub fn spec(&self) -> WindowSpec {
        WindowSpec {
            capacity: self.specified_capacity(),
            error_rate: self.error_rate,
            growth: Growth::of(self.expansion.into()),
            window: match self.kind {
                WindowKind::Time => Window::Time { millis: self.extent },
                WindowKind::Last => Window::Last,
                WindowKind::Manual => Window::Manual,
            },
            generations: self.generations.into(),
            refreshes: self.refreshes,
        }
    }

    pub fn specified_capacity(&self) -> u64 {
        if self.kind == WindowKind::Last {
            return self.extent;
        }
        let all = self.regular_capacity.saturating_mul(self.generations.into());
        all - u64::from(self.capacity_rounding)
    }

    /// A regular layer.
    pub fn plan(&self) -> BlockedPlan {
        BlockedPlan::new(self.regular_capacity, self.geometry)
    }

    /// For how long a generation answers, in milliseconds since it was opened.
    #[inline(always)]
    pub fn lifetime(&self) -> u64 {
        self.times().map_or(u64::MAX, |(window, slot)| slot + window)
    }

    /// Milliseconds of window and slot; see [`WindowSpec::times`].
    #[inline(always)]
    pub fn times(&self) -> Option<(u64, u64)> {
        let slot = || self.extent.div_ceil(self.generations.max(1).into());
        (self.kind == WindowKind::Time).then(|| (self.extent, slot()))
    }

    /// True if there are as many older generations as were specified.
    pub fn is_complete(&self) -> bool {
        self.count > self.generations
    }
}
