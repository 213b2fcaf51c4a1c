//! The size of a table, and what follows from it: how many items it takes, and how often an absent
//! item is found.
//!
//! A table of `m` windows has `m + 1` slots of `w` bits. `F = 2^(w - 2)` fingerprints per window
//! make `V = m F` different prefixes of a hash. An absent item is found only if an entry has its
//! prefix, so `n` entries find it with a probability of at most `n / V` (union bound). At the load
//! limit `a` this is `4 a / 2^w`:
//!
//! | w | rate at a load of 0.92 | bits per item |
//! |---|---|---|
//! | 9 | 0.72 % | 9.78 |
//! | 12 | 0.090 % | 13.04 |
//! | 16 | 0.0056 % | 17.39 |

use crate::error::Error;

/// The fewest windows of a table. From 4 on, twice the windows always take more items.
pub(super) const MIN_WINDOWS: u64 = 4;

/// The least bits of a slot.
pub(super) const MIN_BITS: u8 = 7;

/// The most bits of a slot: two of them and seven bits before them lie in a word of 64 bits.
pub(super) const MAX_BITS: u8 = 28;

/// Doublings of a table before another one is added.
const DOUBLINGS: u8 = 4;

/// Windows up to which a table of any number of them is created. Above, the number is a multiple of
/// a power of two, at most 0.05 % more, so that the table can be halved.
const ANY_WINDOWS: u64 = 4_096;

/// The largest capacity, in items.
const MAX_CAPACITY: u64 = 1 << 40;

/// The smallest target rate of a filter: a filter that grows can have five tables then, each with
/// half of the error budget that those before it left.
pub const MIN_ERROR_RATE: f64 = 5e-7;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableShape {
    /// Windows, `m`.
    pub(super) windows: u64,
    /// Bits of a slot, `w`.
    pub(super) width: u8,
    /// Doublings left.
    pub(super) spare: u8,
}

impl TableShape {
    /// True if a table can have this size. All other methods need that.
    pub(super) fn is_valid(&self) -> bool {
        self.windows >= MIN_WINDOWS
            && (MIN_BITS..=MAX_BITS).contains(&self.width)
            && self.spare <= self.width - MIN_BITS
            && u128::from(self.windows) << (self.width - 2) < 1 << 63
    }

    fn checked(self) -> Option<Self> {
        self.is_valid().then_some(self)
    }

    /// The first table of a filter. `share` is the rate that it may use.
    ///
    /// # Errors
    ///
    /// [`Error::Capacity`], [`Error::CuckooErrorRate`].
    pub(super) fn first(capacity: u64, share: f64) -> Result<Self, Error> {
        if !(1..=MAX_CAPACITY).contains(&capacity) {
            return Err(Error::Capacity(capacity));
        }
        let windows = windows_of(capacity);
        let width = width_of(windows, 0, share).ok_or(Error::CuckooErrorRate(share))?;
        Self { windows, width, spare: 0 }.checked().ok_or(Error::Capacity(capacity))
    }

    /// A table of as many windows as this one, which may use the rate `share` after its doublings.
    pub(super) fn next(&self, share: f64) -> Option<Self> {
        let (last, spare) = (0..=DOUBLINGS).rev().find_map(|spare| {
            let width = width_of(self.windows, spare, share)?;
            (width + spare <= MAX_BITS).then_some((width, spare))
        })?;
        // The prefixes of older tables divide those of newer ones.
        let width = (last + spare).max(self.width);
        Self { windows: self.windows, width, spare }.checked()
    }

    /// Twice the windows and as many prefixes, if a doubling is left.
    pub(super) fn doubled(&self) -> Option<Self> {
        let spare = self.spare.checked_sub(1)?;
        Self { windows: self.windows.checked_mul(2)?, width: self.width - 1, spare }.checked()
    }

    /// A `2^halvings`th of the windows and as many prefixes, if there is such a size.
    pub(super) fn halved(&self, halvings: u8) -> Option<Self> {
        if u32::from(halvings) > self.windows.trailing_zeros() {
            return None;
        }
        let windows = self.windows >> halvings;
        Self { windows, width: self.width + halvings, spare: self.spare + halvings }.checked()
    }

    /// Slots, `m + 1`.
    #[inline(always)]
    pub(super) fn slots(&self) -> u64 {
        self.windows + 1
    }

    /// The binary logarithm of the fingerprints per window.
    #[inline(always)]
    pub(super) fn fingerprint_bits(&self) -> u32 {
        u32::from(self.width) - 2
    }

    /// Prefixes, `V`.
    #[inline(always)]
    pub(super) fn prefixes(&self) -> u64 {
        self.windows << self.fingerprint_bits()
    }

    /// Entries at which the table is full.
    pub(super) fn limit(&self) -> u64 {
        limit(self.windows)
    }

    /// The rate of the table after all its doublings, when it is full.
    pub(super) fn life_rate(&self) -> f64 {
        limit(self.windows << self.spare) as f64 / self.prefixes() as f64
    }

    /// Words of the memory: the slots, and 8 bytes behind them at least, so that each slot can be
    /// read as a word.
    pub(super) fn words(&self) -> u64 {
        (self.slots() * u64::from(self.width)).div_ceil(64) + 1
    }

    /// Bytes of the memory.
    pub(super) fn bytes(&self) -> u64 {
        self.words() * 8
    }
}

/// Entries at which a table is full, at least 1: 92 % of the windows, and less in small tables.
///
/// Measured over 200,000 small tables, and 24 million insertions into 60 million windows: no
/// insertion below the limit failed.
fn limit(windows: u64) -> u64 {
    let windows = windows as f64;
    // Square roots, unlike logarithms, are exact on every machine.
    let load = (0.9645 - 2.0 / windows.sqrt()).min(0.92);
    ((windows * load).floor() as u64).max(1)
}

/// Windows of an empty table that takes `capacity` items.
fn windows_of(capacity: u64) -> u64 {
    let mut below = MIN_WINDOWS - 1;
    let mut windows = 2 * capacity + 16;
    while windows - below > 1 {
        let middle = below + (windows - below) / 2;
        if limit(middle) >= capacity {
            windows = middle;
        } else {
            below = middle;
        }
    }
    match windows.ilog2() {
        log2 if windows > ANY_WINDOWS => windows.next_multiple_of(1 << (log2 - 11)),
        _ => windows,
    }
}

/// The least bits of a slot that a table of `windows * 2^spare` windows needs for the rate `share`.
fn width_of(windows: u64, spare: u8, share: f64) -> Option<u8> {
    (MIN_BITS..=MAX_BITS).find(|width| life_rate(windows, *width, spare) <= share)
}

/// The rate of a full table of `windows * 2^spare` windows with slots of `width` bits.
fn life_rate(windows: u64, width: u8, spare: u8) -> f64 {
    let windows = windows << spare;
    limit(windows) as f64 / (windows as f64 * (1u64 << (width - 2)) as f64)
}
