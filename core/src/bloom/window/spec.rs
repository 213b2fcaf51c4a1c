//! What a caller specifies of a windowed filter, and what follows for its generations.

use std::cell::Cell;

use super::size::complete_bytes;
use crate::bloom::bloomline::geometry::Geometry;
use crate::bloom::bloomline::sizing::{MAX_CAPACITY, MAX_ERROR_RATE, error_of_bits};
use crate::error::Error;
use crate::spec::{Growth, MAX_EXPANSION, Spec};

/// The fewest older generations beside the newest.
pub const MIN_GENERATIONS: u32 = 2;

/// The most older generations beside the newest.
pub const MAX_GENERATIONS: u32 = 64;

/// The most older generations of a filter whose creator specifies none; see
/// [`WindowSpec::default_generations`].
///
/// Bits per item are `(1 + 1/g) * 1.44 * log2((g + 1) / rate)`, which differs by less than 1 % for
/// `g` from 5 to 10. More generations forget closer to the window and take longer to test.
pub const DEFAULT_GENERATIONS: u32 = 8;

/// The default takes at most this part more memory than the number of generations that takes the
/// least: 1/16. Small filters have whole blocks, and would take up to three times as much.
const DEFAULT_COST: u64 = 16;

/// The longest window of time: 2^53 ms, the largest number that every client can represent.
pub const MAX_WINDOW_MILLIS: u64 = 1 << 53;

/// The growth of filters with [`Window::Last`], whatever is specified: a generation gets overflow
/// layers only while refreshed items keep the oldest generation from being dropped, and must not
/// refuse items then.
const LAST_GROWTH: Growth = Growth::Scaling { expansion: 2 };

/// Standard deviations above the mean for which the generations of a filter with [`Window::Last`]
/// have room: `3 sqrt(mean)` of a Poisson distribution.
const DEVIATIONS: f64 = 3.0;

/// The part of a generation's error budget that is reserved for overflow layers.
///
/// Less than a quarter: regular layers are always there, and one bit more per item of a burst costs
/// less than a quarter of a bit per item all the time.
const RESERVE: f64 = 1.0 / 8.0;

/// When a filter forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// After a time.
    Time {
        /// Milliseconds for which an item is found, 1 to [`MAX_WINDOW_MILLIS`].
        millis: u64,
    },
    /// After [`WindowSpec::capacity`] further distinct items.
    Last,
    /// After [`WindowSpec::generations`] further rotations, which the host requests.
    Manual,
}

/// What a caller specifies of a windowed filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSpec {
    /// Distinct items inside one window, `generations` to 2^40.
    pub capacity: u64,
    /// The target rate of the whole filter: above 0, at most 0.25.
    pub error_rate: f64,
    /// What happens when a generation has more items than its part of the capacity: overflow layers
    /// are added, the first `expansion` times as large, or new items are refused.
    pub growth: Growth,
    /// When items are forgotten.
    pub window: Window,
    /// Older generations beside the newest, [`MIN_GENERATIONS`] to [`MAX_GENERATIONS`].
    pub generations: u32,
    /// True if an item that is inserted again is found for another window.
    pub refreshes: bool,
}

impl WindowSpec {
    /// The window of a filter with this capacity, rate and growth. Filters with [`Window::Last`]
    /// grow in their own way, whatever `spec` says.
    pub fn new(spec: Spec, window: Window, generations: u32, refreshes: bool) -> Self {
        let Spec { capacity, error_rate, growth } = spec;
        let growth = if window == Window::Last { LAST_GROWTH } else { growth };
        Self { capacity, error_rate, growth, window, generations, refreshes }
    }

    /// Older generations of such a filter if its creator specifies none: the most, from
    /// [`MIN_GENERATIONS`] to [`DEFAULT_GENERATIONS`], with which the complete ring takes at most
    /// 1/16 more bytes than with the best of these numbers. Large filters get
    /// [`DEFAULT_GENERATIONS`]; filters whose generations have few blocks each get fewer.
    ///
    /// Cost: that of seven geometries; the result of a thread's last call is cached.
    pub fn default_generations(&self) -> u32 {
        thread_local! {
            static LAST: Cell<Option<(WindowSpec, u32)>> = const { Cell::new(None) };
        }
        let spec = Self { generations: 0, ..*self };
        if let Some((last, generations)) = LAST.get()
            && last == spec
        {
            return generations;
        }
        let most = u32::try_from(spec.capacity).unwrap_or(u32::MAX).min(DEFAULT_GENERATIONS);
        let numbers = MIN_GENERATIONS..=most.max(MIN_GENERATIONS);
        let bytes = |generations: u32| Self { generations, ..spec }.complete_bytes();
        let least = numbers.clone().filter_map(bytes).min().unwrap_or(u64::MAX);
        let enough = least.saturating_add(least / DEFAULT_COST);
        let is_enough = |generations: &u32| bytes(*generations).is_some_and(|it| it <= enough);
        let generations = numbers.rev().find(is_enough).unwrap_or(most.max(MIN_GENERATIONS));
        LAST.set(Some((spec, generations)));
        generations
    }

    /// Bytes of the filter with all generations, without overflow layers. `None` for numbers that
    /// are out of range.
    pub fn complete_bytes(&self) -> Option<u64> {
        let regular = self.regular();
        let geometry = Geometry::new(regular.capacity, regular.error_rate).ok()?;
        Some(complete_bytes(geometry.bytes(), self.generations))
    }

    /// Checks all numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`], [`Error::TooFewItems`], [`Error::ErrorRate`], [`Error::Expansion`],
    /// [`Error::Window`] or [`Error::Generations`] for a number that is out of range;
    /// [`Error::ErrorRateTooSmall`] if a generation, which may get all items of a window, would
    /// need a layer of such a rate.
    pub fn check(&self) -> Result<(), Error> {
        let Self { capacity, error_rate, growth, window, generations, .. } = *self;
        if !(MIN_GENERATIONS..=MAX_GENERATIONS).contains(&generations) {
            return Err(Error::Generations(generations));
        }
        if !(1..=MAX_CAPACITY).contains(&capacity) {
            return Err(Error::Capacity(capacity));
        }
        if capacity < generations.into() {
            return Err(Error::TooFewItems { capacity, generations });
        }
        // The condition is written so that NaN fails.
        if !(error_rate > 0.0 && error_rate <= MAX_ERROR_RATE) {
            return Err(Error::ErrorRate(error_rate));
        }
        match window {
            Window::Time { millis } if !(1..=MAX_WINDOW_MILLIS).contains(&millis) => {
                return Err(Error::Window(millis));
            }
            _ => {}
        }
        match growth {
            Growth::Scaling { expansion } if !(1..=MAX_EXPANSION).contains(&expansion) => {
                Err(Error::Expansion(expansion))
            }
            _ => self.check_layers(),
        }
    }

    /// Checks that a generation can have its regular layer, and that it can take the items of a
    /// whole window: with [`Window::Last`], items that are inserted again and again are all in the
    /// newest generation, and it takes items until `capacity` of them count. At most one in four
    /// does not, by mistake, at the largest target rate. So such a filter never refuses an item for
    /// its number.
    fn check_layers(&self) -> Result<(), Error> {
        let Spec { capacity, error_rate, .. } = self.regular();
        error_of_bits(capacity, error_rate)?;
        let (Some(overflow), Growth::Scaling { expansion }) = (self.overflow(), self.growth) else {
            return Ok(());
        };
        let most = if self.window == Window::Last { 2 * self.capacity } else { self.capacity };
        let mut room = self.regular().capacity;
        let mut capacity = overflow.capacity;
        for index in 0.. {
            if room >= most || capacity > MAX_CAPACITY {
                break;
            }
            // The least target rate that a layer can get, whatever the older ones leave.
            let error = overflow.error_rate / (f64::from(index + 1) * f64::from(index + 2));
            error_of_bits(capacity, error)?;
            room += capacity;
            capacity = capacity.saturating_mul(expansion.into());
        }
        Ok(())
    }

    /// Milliseconds of window and slot: for a time of one slot a generation takes items.
    pub fn times(&self) -> Option<(u64, u64)> {
        match self.window {
            Window::Time { millis } => Some((millis, millis.div_ceil(self.generations.into()))),
            Window::Last | Window::Manual => None,
        }
    }

    fn budget(&self) -> f64 {
        self.error_rate / f64::from(self.generations + 1)
    }

    /// Items that the regular layers of `generations` generations take together: the capacity, and
    /// with [`Window::Last`] as many more as are likely to be counted as refreshed by mistake,
    /// because an older generation seems to contain them. The oldest generation is dropped when
    /// `capacity` distinct items are *counted* in the newer ones.
    ///
    /// An item is tested in all generations before its own, of which half as many are among these
    /// as there are in all. So the mean is less than half of the target rate per item.
    fn items_of_window(&self) -> u64 {
        if self.window != Window::Last || !self.refreshes {
            return self.capacity;
        }
        let mistakes = self.error_rate * self.capacity as f64 / 2.0;
        self.capacity.saturating_add((mistakes + DEVIATIONS * mistakes.sqrt()) as u64)
    }

    /// The regular layer of a generation.
    pub fn regular(&self) -> Spec {
        let reserve = if self.may_overflow() { RESERVE } else { 0.0 };
        Spec {
            capacity: self.items_of_window().div_ceil(self.generations.into()),
            error_rate: self.budget() * (1.0 - reserve),
            growth: Growth::Fixed,
        }
    }

    /// The overflow layers of a generation; none if it has none.
    pub fn overflow(&self) -> Option<Spec> {
        let Growth::Scaling { expansion } = self.growth else { return None };
        self.may_overflow().then(|| Spec {
            capacity: self.regular().capacity.saturating_mul(expansion.into()),
            error_rate: self.budget() * RESERVE,
            growth: self.growth,
        })
    }

    /// True if a generation may have more items than its regular layer. One that is closed by count
    /// never has, unless refreshed items keep the oldest generation from being dropped.
    pub fn may_overflow(&self) -> bool {
        self.growth != Growth::Fixed && (self.window != Window::Last || self.refreshes)
    }
}
