//! The size of a table, and what follows from it: how many items it takes, and how often an absent
//! item is found.
//!
//! A table of `m` windows has `m + 1` slots of `w` bits. `F = 2^(w - 2)` fingerprints per window
//! make `V = m F` different prefixes of a hash. An absent item is found only if an entry has its
//! prefix, so `n` entries find it with a probability of at most `n / V` (union bound). At the load
//! limit `a` this is `4 a / 2^w`:
//!
//! | w | rate at a load of 0.902 | bits per item |
//! |---|---|---|
//! | 9 | 0.70 % | 9.98 |
//! | 12 | 0.088 % | 13.30 |
//! | 16 | 0.0055 % | 17.74 |

use crate::error::Error;

/// The fewest windows of a table. From 4 on, twice the windows always take more items.
pub(super) const MIN_WINDOWS: u64 = 4;

/// The least bits of a slot.
pub(super) const MIN_BITS: u8 = 7;

/// The most bits of a slot: two of them and seven bits before them lie in a word of 64 bits.
pub(super) const MAX_BITS: u8 = 28;

/// Doublings of a table before another one is added, at most.
const DOUBLINGS: u8 = 6;

/// The binary logarithm of the windows of a table in the end, divided by those of the one before.
const GROWTH: u8 = 4;

/// Windows up to which a table that does not grow has any number of them. Above, the number is a
/// multiple of a power of two, at most 0.05 % more, so that the table can be halved. That of a
/// smaller table that grows is one of 32 or more, at most 3 % more, so that a quarter exists.
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
    pub(super) fn first(capacity: u64, share: f64, grows: bool) -> Result<Self, Error> {
        if !(1..=MAX_CAPACITY).contains(&capacity) {
            return Err(Error::Capacity(capacity));
        }
        let windows = windows_of(capacity, grows);
        let width = width_of(windows, 0, share).ok_or(Error::CuckooErrorRate(share))?;
        Self { windows, width, spare: 0 }.checked().ok_or(Error::Capacity(capacity))
    }

    /// The table that is added after this one, which may use the rate `share` after its doublings.
    /// It ends with 16 times the windows of this one, and begins with as few as possible.
    pub(super) fn next(&self, share: f64) -> Option<Self> {
        let (windows, last, spare) = (0..=DOUBLINGS).rev().find_map(|spare| {
            let halvings = spare.saturating_sub(GROWTH);
            let windows = self.windows >> halvings;
            let width = width_of(windows, spare, share)?;
            let is_possible = width + spare <= MAX_BITS
                && u32::from(halvings) <= self.windows.trailing_zeros()
                && windows >= MIN_WINDOWS;
            is_possible.then_some((windows, width, spare))
        })?;
        // The prefixes of older tables divide those of newer ones.
        let width = (last + spare).max(self.width + spare.saturating_sub(GROWTH));
        Self { windows, width, spare }.checked()
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

    /// The bits of a fingerprint that are left after all doublings.
    #[inline(always)]
    pub(super) fn kept_bits(&self) -> u32 {
        self.fingerprint_bits() - u32::from(self.spare)
    }

    /// Prefixes, `V`.
    #[inline(always)]
    pub(super) fn prefixes(&self) -> u64 {
        self.windows << self.fingerprint_bits()
    }

    /// Entries at which the table is full.
    pub(super) fn limit(&self) -> u64 {
        let most = if self.spare == 0 { LAST_LOAD } else { PASSING_LOAD };
        limit(self.windows, most)
    }

    /// The rate of the table after all its doublings, when it is full.
    pub(super) fn life_rate(&self) -> f64 {
        limit(self.windows << self.spare, LAST_LOAD) as f64 / self.prefixes() as f64
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

/// The load at which a table is full that is not doubled any more.
///
/// No insertion below it fails: none of 200,000 small tables, and of 24 million insertions into 60
/// million windows, failed below 0.92. Searches take longer the fuller a table is; see
/// docs/explanation/performance.md.
const LAST_LOAD: f64 = 0.902;

/// The load at which a table is doubled: below [`LAST_LOAD`], since each of its doublings pays for
/// the searches up to here.
const PASSING_LOAD: f64 = 0.88;

/// Entries at which a table is full, at least 1: `most` of the windows, and less in small tables.
fn limit(windows: u64, most: f64) -> u64 {
    let windows = windows as f64;
    // Square roots, unlike logarithms, are exact on every machine.
    let load = (0.9645 - 2.0 / windows.sqrt()).min(most);
    ((windows * load).floor() as u64).max(1)
}

/// Windows of an empty table that takes `capacity` items.
fn windows_of(capacity: u64, grows: bool) -> u64 {
    let mut below = MIN_WINDOWS - 1;
    let mut windows = 2 * capacity + 16;
    while windows - below > 1 {
        let middle = below + (windows - below) / 2;
        if limit(middle, LAST_LOAD) >= capacity {
            windows = middle;
        } else {
            below = middle;
        }
    }
    let log2 = windows.ilog2();
    let zeros = match windows {
        ..=ANY_WINDOWS if grows => log2.saturating_sub(5),
        ..=ANY_WINDOWS => 0,
        _ => log2 - 11,
    };
    windows.next_multiple_of(1 << zeros)
}

/// The least bits of a slot that a table of `windows * 2^spare` windows needs for the rate `share`.
fn width_of(windows: u64, spare: u8, share: f64) -> Option<u8> {
    (MIN_BITS..=MAX_BITS).find(|width| life_rate(windows, *width, spare) <= share)
}

/// The rate of a full table of `windows * 2^spare` windows with slots of `width` bits.
fn life_rate(windows: u64, width: u8, spare: u8) -> f64 {
    let windows = windows << spare;
    limit(windows, LAST_LOAD) as f64 / (windows as f64 * (1u64 << (width - 2)) as f64)
}
