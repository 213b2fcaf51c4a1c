//! What a caller specifies of a filter that forgets, and what follows for its generations.

use crate::bloomline::sizing::{MAX_CAPACITY, MAX_ERROR_RATE};
use crate::error::Error;
use crate::spec::{Growth, MAX_EXPANSION, Spec};

/// The fewest older generations beside the newest.
pub const MIN_GENERATIONS: u32 = 2;

/// The most older generations beside the newest.
pub const MAX_GENERATIONS: u32 = 64;

/// Older generations of a filter whose creator specifies none.
///
/// Bits per item are `(1 + 1/g) * 1.44 * log2((g + 1) / rate)`, which differs by less than 1 % for
/// `g` from 5 to 10. More generations forget closer to the window and take longer to test.
pub const DEFAULT_GENERATIONS: u32 = 8;

/// The longest window of time: 2^53 ms, the largest number that every client can represent.
pub const MAX_WINDOW_MILLIS: u64 = 1 << 53;

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

/// What a caller specifies of a filter that forgets.
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
    /// Checks all numbers.
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`], [`Error::ErrorRate`], [`Error::Expansion`], [`Error::Window`] or
    /// [`Error::Generations`] for a number that is out of range.
    pub fn check(&self) -> Result<(), Error> {
        let Self { capacity, error_rate, growth, window, generations, .. } = *self;
        if !(MIN_GENERATIONS..=MAX_GENERATIONS).contains(&generations) {
            return Err(Error::Generations(generations));
        }
        if !(u64::from(generations)..=MAX_CAPACITY).contains(&capacity) {
            return Err(Error::Capacity(capacity));
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
            _ => Ok(()),
        }
    }

    /// Milliseconds of window and slot: for a time of one slot a generation takes items.
    pub fn times(&self) -> Option<(u64, u64)> {
        match self.window {
            Window::Time { millis } => Some((millis, millis.div_ceil(self.generations.into()))),
            Window::Last | Window::Manual => None,
        }
    }

    /// The error budget of one generation.
    fn budget(&self) -> f64 {
        self.error_rate / f64::from(self.generations + 1)
    }

    /// The regular layer of a generation.
    pub fn regular(&self) -> Spec {
        let reserve = if self.may_overflow() { RESERVE } else { 0.0 };
        Spec {
            capacity: self.capacity.div_ceil(self.generations.into()),
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

    /// True if a generation may have more items than its part of the capacity. One that is closed
    /// by count never has, unless refreshed items are counted twice.
    fn may_overflow(&self) -> bool {
        self.growth != Growth::Fixed && (self.window != Window::Last || self.refreshes)
    }
}
