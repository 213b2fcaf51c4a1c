//! The candidate slots of an item in a table: four of them.
//!
//! A prefix `P` of the item's hash is a window `i = P / F` and a fingerprint `f = P mod F`. Its
//! second window lies at a distance that follows from the fingerprint. So an entry, which has the
//! fingerprint and is in one of the windows, gives its prefix, and can be moved without the item.
//!
//! ```text
//! slots   0   1   2   3  ...                      i, i + 1: first window      j, j + 1: second window
//!         |---|---|---|
//! windows 0: 0, 1     1: 1, 2     2: 2, 3 ...     they overlap, which fills tables to 90 %, not 76 %
//! ```
//!
//! (E. Porat, B. Shalem, *A Cuckoo Hashing Variant with Improved Memory Utilization and Insertion
//! Time*, 2012: overlapping windows.)

use super::shape::TableShape;

/// The factors of the mix from which the distance of the second window follows. Without the second
/// one, distances of near fingerprints are near, and tables are full at a load of 0.88.
const FACTORS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd134_2543_de82_ef95];

/// The low bits of a value, which show in which of its four slots the entry is.
const LABEL_BITS: u32 = 2;

/// The high half of the product.
#[inline(always)]
fn high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// The prefix of a hash: the hash scaled to the prefixes of a table.
#[inline(always)]
pub(super) fn prefix_of(hash: u64, shape: &TableShape) -> u64 {
    high(hash, shape.prefixes())
}

/// The candidate slots of an item or an entry in a table, and its fingerprint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidates {
    /// The first slot of the first and of the second window: different, and below the number of
    /// windows.
    pub(super) windows: [u64; 2],
    pub(super) fingerprint: u64,
}

impl Candidates {
    #[inline(always)]
    pub(super) fn of(prefix: u64, shape: &TableShape) -> Self {
        let window = prefix >> shape.fingerprint_bits();
        let fingerprint = prefix & ((1 << shape.fingerprint_bits()) - 1);
        let second = around(window + distance(fingerprint, shape), shape);
        Self { windows: [window, second], fingerprint }
    }

    /// The candidates of the entry with a value that is not 0, in a slot. `None` if no item has
    /// this value there, which only forged bytes do.
    #[inline(always)]
    pub(super) fn of_entry(slot: u64, value: u64, shape: &TableShape) -> Option<Self> {
        let [own, other] = windows_of_entry(slot, value, shape)?;
        let choice = Label::of(value).choice();
        let windows = [select(choice, own, other), select(choice, other, own)];
        Some(Self { windows, fingerprint: value >> LABEL_BITS })
    }

    /// The candidates in the doubled table of an entry of a table: see [`Candidates::of_entry`].
    #[inline(always)]
    pub(super) fn doubled(
        slot: u64,
        value: u64,
        shape: &TableShape,
        doubled: &TableShape,
    ) -> Option<Self> {
        let label = Label::of(value);
        let own = slot.checked_sub(label.offset()).filter(|window| *window < shape.windows)?;
        let fingerprint = value >> LABEL_BITS;
        let mixed = mixed(fingerprint, shape);
        let back = shape.windows - distance_of(mixed, shape.windows);
        let first = around(own + select(label.choice(), 0, back), shape);
        let window = 2 * first + (fingerprint >> doubled.fingerprint_bits());
        let fingerprint = fingerprint & ((1 << doubled.fingerprint_bits()) - 1);
        let second = around(window + distance_of(mixed, doubled.windows), doubled);
        Some(Self { windows: [window, second], fingerprint })
    }

    #[inline(always)]
    pub(super) fn prefix(&self, shape: &TableShape) -> u64 {
        self.windows[0] << shape.fingerprint_bits() | self.fingerprint
    }

    #[inline(always)]
    pub(super) fn slot(&self, label: Label) -> u64 {
        let [first, second] = self.windows;
        select(label.choice(), first, second) + label.offset()
    }

    /// The value of the entry in the slot of a label; 0 if it cannot be there.
    #[inline(always)]
    pub(super) fn value(&self, label: Label) -> u64 {
        self.fingerprint << LABEL_BITS | u64::from(label.0)
    }
}

/// The first value for 0, the second for 1. Without a branch, which would be mispredicted.
#[inline(always)]
pub(super) fn select(choice: u64, first: u64, second: u64) -> u64 {
    first ^ (first ^ second) & choice.wrapping_neg()
}

/// A window that may be past the end, counted around the table. Without a branch.
#[inline(always)]
fn around(window: u64, shape: &TableShape) -> u64 {
    window.min(window.wrapping_sub(shape.windows))
}

/// The window in which an entry is, and its other one. `None` if no item has this value there.
///
/// There is no branch on the label, which would be mispredicted for every other entry.
#[inline(always)]
fn windows_of_entry(slot: u64, value: u64, shape: &TableShape) -> Option<[u64; 2]> {
    let label = Label::of(value);
    let own = slot.checked_sub(label.offset()).filter(|window| *window < shape.windows)?;
    let distance = distance(value >> LABEL_BITS, shape);
    // From the second window, the first one lies as far ahead as the rest of the table.
    let ahead = select(label.choice(), distance, shape.windows - distance);
    Some([own, around(own + ahead, shape)])
}

/// The slots to which an entry may move, with its labels there: the other window, then the other
/// slot of the same window. `None` if no item has this value there.
#[inline(always)]
pub(super) fn moves(slot: u64, value: u64, shape: &TableShape) -> Option<[(u64, Label); 3]> {
    let [own, other] = windows_of_entry(slot, value, shape)?;
    let label = Label::of(value);
    let [first, second, third] = label.others();
    Some([(other, first), (other + 1, second), (own + (label.offset() ^ 1), third)])
}

/// The distance from the first window of a fingerprint to the second, around the table: 1 to `m -
/// 1`.
///
/// It follows from the bits that the fingerprint keeps in all doublings. So a doubling doubles it,
/// and an entry moves to about twice its slot, whichever window it is in.
#[inline(always)]
fn distance(fingerprint: u64, shape: &TableShape) -> u64 {
    distance_of(mixed(fingerprint, shape), shape.windows)
}

/// A fraction of the windows of a table, which is the same in the doubled table.
#[inline(always)]
fn mixed(fingerprint: u64, shape: &TableShape) -> u64 {
    let kept = fingerprint & ((1 << shape.kept_bits()) - 1);
    let mut mixed = (kept + 1).wrapping_mul(FACTORS[0]);
    mixed ^= mixed >> 29;
    mixed.wrapping_mul(FACTORS[1])
}

#[inline(always)]
fn distance_of(mixed: u64, windows: u64) -> u64 {
    1 + high(mixed, windows - 1)
}

/// One of the four slots of an item: twice the number of the window, plus the offset in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(u8);

impl Label {
    /// All labels, in the order in which slots are filled.
    pub(super) const ALL: [Self; 4] = [Self(0), Self(1), Self(2), Self(3)];

    #[inline(always)]
    pub(super) fn of(value: u64) -> Self {
        Self((value & 3) as u8)
    }

    /// The labels to which an entry may move: the other window, then the other slot of the same
    /// window.
    #[inline(always)]
    pub(super) fn others(self) -> [Self; 3] {
        let other = (self.0 & 2) ^ 2;
        [Self(other), Self(other | 1), Self(self.0 ^ 1)]
    }

    /// The number of the window.
    #[inline(always)]
    pub(super) fn choice(self) -> u64 {
        u64::from(self.0 >> 1)
    }

    #[inline(always)]
    fn offset(self) -> u64 {
        u64::from(self.0 & 1)
    }

    /// The value of an entry after a move to this label; 0 if it cannot be there.
    #[inline(always)]
    pub(super) fn moved(self, value: u64) -> u64 {
        value & !3 | u64::from(self.0)
    }
}

/// A set of slots of an item: bit `k` stands for the slot of label `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Labels(pub(super) u8);

impl Labels {
    #[inline(always)]
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    pub(super) fn count(self) -> u32 {
        self.0.count_ones()
    }

    #[inline(always)]
    pub(super) fn first(self) -> Option<Label> {
        (self.0 != 0).then(|| Label(self.0.trailing_zeros() as u8))
    }
}

/// The empty ones of the slots of an item and of those behind its windows.
///
/// ```text
/// bit   0  1      2      3  4      5      6
/// slot  i  i + 1  i + 2  j  j + 1  j + 2  set if the value of label 0 is that of an empty slot
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room(u8);

/// No label, in [`BEST`].
const NONE: u8 = 4;

/// The label that an entry takes, for each [`Room`].
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
const BEST: [u8; 128] = {
    let mut best = [NONE; 128];
    let mut room = 0;
    while room < 128 {
        let mut label = 4;
        let mut least = u8::MAX;
        while label > 0 {
            label -= 1;
            let cost = cost(room as u8, label);
            if cost <= least {
                least = cost;
                best[room] = if cost == u8::MAX { NONE } else { label };
            }
        }
        room += 1;
    }
    best
};

/// What it costs to fill the slot of a label, in windows that have no empty slot then: about half
/// of one, where nothing is known about the slot before. [`u8::MAX`] if it cannot be filled.
const fn cost(room: u8, label: u8) -> u8 {
    let window = room >> (3 * (label >> 1));
    let [first, second, third] = [window & 1, window >> 1 & 1, window >> 2 & 1];
    match label & 1 {
        0 if first == 1 && !(label == 0 && room >> 6 == 1) => 1 + 2 * (1 - second),
        1 if second == 1 => 2 * (1 - first) + 2 * (1 - third),
        _ => u8::MAX,
    }
}

impl Room {
    /// The room that is left by `occupied`, in the order of the bits.
    #[inline(always)]
    pub(super) fn of(occupied: u64, candidates: &Candidates) -> Self {
        Self(!occupied as u8 & 0b11_1111 | u8::from(candidates.fingerprint == 0) << 6)
    }

    /// The label that an entry takes: one whose slot has the fewest occupied neighbours, so that
    /// the empty slots that are left belong to as many windows as possible.
    #[inline(always)]
    pub(super) fn best(self) -> Option<Label> {
        let label = BEST.get(usize::from(self.0)).copied().unwrap_or(NONE);
        (label < NONE).then_some(Label(label))
    }
}
