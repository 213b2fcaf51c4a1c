//! Windowed filters: they remember the items of the last seven days, or the last million items.
//!
//! # The promise
//!
//! After an item was inserted,
//!
//! * it is found for the whole window: for a time ([`Window::Time`]), until a given number of
//!   further distinct items were inserted ([`Window::Last`]), or until a given number of further
//!   rotations ([`Window::Manual`]);
//! * it is forgotten at most one generation later: after `1 + 1 / generations` windows. With
//!   [`Window::Last`] a generation has room for mistakes too, and after up to two windows if most
//!   items are inserted again: these fill generations, and are no further items.
//!
//! The false-positive rate is at most the target rate at every moment, and the memory does not grow
//! with time.
//!
//! # How it works
//!
//! Bits of a Bloom filter cannot be cleared, because they may belong to other items too. So the
//! filter is a ring of *generations*, each a filter of its own. Only the newest takes items. From
//! time to time the ring *rotates*: a new generation is opened, and the oldest is dropped as soon
//! as the window of its last item has passed.
//!
//! ```text
//!            oldest                                       newest
//! ring     | generation 7 | generation 8 | generation 9 | generation 10 |       window of 3 slots
//! slots    |<-- closed -->|<-- closed -->|<-- closed -->|<--- open ---->|
//!                                                        ^ new items are inserted here
//! generation | regular layer, full | overflow layers |            overflow: only after a burst
//! ```
//!
//! With `g` older generations beside the newest, a slot is a window divided by `g`. A generation is
//! kept for one window after its slot, so the last item of the slot is found for a window, and the
//! first one for a window and a slot.
//!
//! **An item that is inserted again lives on.** If only an older generation contains it, it is
//! written to the newest one as well: it is *refreshed*. This is also what keeps the promise for an
//! item that an older generation contains only by chance. Without refreshing
//! ([`WindowSpec::refreshes`]), an item is forgotten a window after it was first inserted, and an
//! item that was reported as present by mistake is not stored.
//!
//! **The error budget.** At most `g + 1` generations exist, and each gets an equal part of the
//! target rate, so the rates of all together are at most the target rate (union bound). A
//! generation spends seven eighths of its part on its regular layer, for `capacity / g` items, with
//! [`Window::Last`] some more. The rest is a reserve for bursts: the layers of a [scalable
//! filter](crate::bloom::scalable::ScalableFilter), whose rates add up to at most the reserve
//! however many there are. `docs/explanation/math.md` has the proof.
//!
//! **Time is an argument.** This module reads no clock. [`WindowedFilter::advance`] and
//! [`WindowedFilter::rotate`] change what exists, and insertions by count, at a time that the host
//! chooses. So two hosts that make the same calls have equal filters, whatever their clocks show.
//! Lookups take the time too, to ignore generations that should be gone.
//!
//! # Literature
//!
//! * F. Chang, W. Feng, K. Li, *Approximate Caches for Packet Classification*, 2004: two filters
//!   that take turns.
//! * A. Shtul, C. Baquero, P. S. Almeida, *Age-Partitioned Bloom Filters*, 2020: other ways to
//!   forget by count, and their bits per item.

mod bits;
mod filter;
pub(crate) mod generation;
pub mod header;
mod layers;
pub(crate) mod ring;
mod rotation;
pub(crate) mod size;
mod spec;
pub(crate) mod state;

pub use filter::MAX_OVERFLOW_LAYERS;
pub use generation::{Generation, GenerationRef};
pub use size::size_bytes;
pub use spec::{
    DEFAULT_GENERATIONS, MAX_GENERATIONS, MAX_WINDOW_MILLIS, MIN_GENERATIONS, Window, WindowSpec,
};

pub use super::word::WindowedFilter;
