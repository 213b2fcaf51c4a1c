//! Rotation: when generations are opened and dropped.
//!
//! | window | opens a generation | drops the oldest |
//! |---|---|---|
//! | time | an addition after the slot of the newest | when its own slot and one window have passed |
//! | last | an addition when the newest is full | when `capacity` distinct items are in newer ones |
//! | manual | the host | when there are more than `generations` older ones |
//!
//! This is the only file that adds and removes generations. It reads no clock: what the clock shows
//! is an argument.
//!
//! # A clock that is set back
//!
//! The time of a filter never runs backwards, although the clock may: it was ahead when the newest
//! generation was opened, or it is behind now. Nothing shows which. So the time of the filter goes
//! on from the opening of the newest generation as fast as the clock does, `clock` milliseconds
//! ahead of it, until the clock itself has reached that opening.
//!
//! * **No item is forgotten early**: between two calls the time of the filter advances by at most
//!   what the clock advances. With the same lead it advances by just that. A lead that grows leaves
//!   it where it was, or earlier. Without the lead, it is what the clock shows, and was at least
//!   that before.
//! * **All items are forgotten**, later by at most what the clock was set back: the time of the
//!   filter is never behind the clock. While there are additions, it is at most two slots and twice
//!   the time between two of them: the time of the filter goes back to the opening of the newest
//!   generation, and later it may lose a lead of less than a slot. With a larger one, the next
//!   generation is opened before the clock has reached that opening.
//!
//! A clock that was behind and is set right in one step counts once: the step brings it to the
//! opening or beyond it. A step that leaves it behind counts as time that has passed.

use super::filter::{MAX_TIME, beside};
use super::generation::Generation;
use super::ring::{LargeRing, in_ring, no_memory};
use super::size::size_with;
use super::state::{RingState, WindowKind};
use crate::bloom::small::ring::SmallRing;
use crate::bloom::word::{RingMut, RingRef, WindowedFilter};
use crate::error::Error;
use crate::permit::{Demand, Permit, request};
use crate::spec::Layout;

/// What is due in a filter with a window of time.
struct Due {
    /// The time of the filter, in milliseconds, and by how many it is ahead of the clock.
    time: u64,
    lead: u64,
    /// True if the newest generation has been open for a slot.
    is_slot_over: bool,
    /// The number of generations whose window has passed. They are the oldest ones.
    expired: usize,
}

impl WindowedFilter {
    /// Brings the filter to the time at which the clock shows `now`, in milliseconds, before items
    /// are inserted.
    ///
    /// With a window of time, drops the generations whose window has passed, and opens a new one if
    /// the slot of the newest has passed. However long the filter was idle, this is one step. With
    /// a window of items, sets the clock: the time of the next rotation if insertions give no later
    /// one, as on a replica. True if the filter was changed.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] by `permit`, [`Error::OutOfMemory`]. The filter is unchanged then.
    pub fn advance(&mut self, now: u64, permit: Permit) -> Result<bool, Error> {
        let state = self.state();
        match state.kind {
            WindowKind::Time => {
                let due = self.due(now);
                let is_changed = self.is_changed_by(&due);
                if due.is_slot_over {
                    // Slots that have passed leave room for a generation. Generations that were
                    // opened by hand, or by a forged header, may not.
                    self.open(due.time, due.expired.max(state.is_complete().into()), permit)?;
                } else if due.expired > 0 {
                    // The newest generation is not among them: its slot has not passed.
                    self.shift(due.expired, None)?;
                }
                if is_changed {
                    self.set_clock(due.lead);
                }
                Ok(is_changed)
            }
            WindowKind::Last => {
                let is_changed = now > state.clock;
                if is_changed {
                    self.set_clock(now);
                }
                Ok(is_changed)
            }
            WindowKind::Manual => Ok(false),
        }
    }

    /// Opens a generation at the time `now`, and drops the oldest if there are more than
    /// [`WindowSpec::generations`](super::WindowSpec::generations) older ones.
    ///
    /// For filters with [`Window::Manual`](super::Window::Manual): with other windows this may
    /// forget items too early.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] by `permit`, [`Error::OutOfMemory`]. The filter is unchanged then.
    pub fn rotate(&mut self, now: u64, permit: Permit) -> Result<(), Error> {
        let now = self.not_before_newest(now);
        self.open(now, usize::from(self.state().is_complete()), permit)
    }

    fn set_clock(&mut self, clock: u64) {
        self.set_state(&RingState { clock, ..self.state() });
    }

    /// Opens a generation at the time `now` if the filter remembers by count, the newest one is
    /// full, and the oldest may be forgotten. True if it did.
    #[inline]
    pub(crate) fn rotate_by_count(&mut self, now: u64, permit: Permit) -> Result<bool, Error> {
        let RingState { kind, regular_capacity, .. } = self.state();
        if kind != WindowKind::Last || self.newest().regular_len < regular_capacity {
            return Ok(false);
        }
        self.rotate_full(now, permit)
    }

    /// Rotates a filter that remembers by count, whose newest generation is full.
    #[cold]
    fn rotate_full(&mut self, now: u64, permit: Permit) -> Result<bool, Error> {
        let state = self.state();
        let is_complete = state.is_complete();
        if is_complete && !self.may_forget_oldest() {
            return Ok(false);
        }
        let clock = state.clock.max(now);
        self.open(self.not_before_newest(clock), usize::from(is_complete), permit)?;
        self.set_clock(clock);
        Ok(true)
    }

    /// True if the newer generations hold as many distinct items as the window.
    ///
    /// An item that was refreshed is in several generations, but live in one of them only. So the
    /// live items are distinct. One that an older generation contains by mistake counts as
    /// refreshed, so there may be more distinct items than live ones, and never fewer.
    fn may_forget_oldest(&self) -> bool {
        let newer = self.all().skip(1).map(|one| one.live());
        newer.fold(0, u64::saturating_add) >= self.state().extent
    }

    /// True if [`WindowedFilter::advance`] would change a filter with a window of time.
    pub fn is_due(&self, now: u64) -> bool {
        self.has_time() && self.is_changed_by(&self.due(now))
    }

    fn is_changed_by(&self, due: &Due) -> bool {
        due.is_slot_over || due.expired > 0 || due.lead != self.state().clock
    }

    /// What is due in a filter with a window of time when the clock shows `now`.
    #[inline(always)]
    fn due(&self, now: u64) -> Due {
        let time = self.time_at(now);
        Due {
            time,
            lead: time - now.min(MAX_TIME),
            is_slot_over: self.slot_has_passed(time),
            expired: self.expired(time),
        }
    }

    /// True if an insertion of `items` items may rotate a filter with a window of items.
    pub fn may_rotate(&self, items: usize) -> bool {
        let RingState { kind, regular_capacity, .. } = self.state();
        let room = regular_capacity - self.newest().regular_len;
        kind == WindowKind::Last && items as u64 > room
    }

    /// The time of a filter with a window of time when the clock shows `now`, in milliseconds. It
    /// never goes back beyond the opening of the newest generation.
    #[inline(always)]
    pub fn time_at(&self, now: u64) -> u64 {
        let (now, newest) = (now.min(MAX_TIME), self.opened());
        if now >= newest {
            return now;
        }
        now.saturating_add(self.state().clock).min(MAX_TIME).max(newest)
    }

    /// By how many milliseconds the time of a filter with a window of time is ahead of the clock.
    pub fn lead(&self) -> u64 {
        if self.has_time() { self.state().clock } else { 0 }
    }

    fn not_before_newest(&self, now: u64) -> u64 {
        now.min(MAX_TIME).max(self.opened())
    }

    /// True if the newest generation has been open for a slot.
    fn slot_has_passed(&self, now: u64) -> bool {
        self.state().times().is_some_and(|(_, slot)| now - self.opened() >= slot)
    }

    /// The number of generations whose window has passed. They are the oldest ones.
    fn expired(&self, now: u64) -> usize {
        let lifetime = self.state().lifetime();
        in_ring!(self, all => all.take_while(|one| one.opened.saturating_add(lifetime) <= now).count())
    }

    /// Opens a generation, and drops the `dropped` oldest ones. `permit` is asked if the filter
    /// becomes larger.
    fn open(&mut self, now: u64, dropped: usize, permit: Permit) -> Result<(), Error> {
        let state = self.state();
        let plan = state.plan();
        let kept = || self.all().skip(dropped);
        let span = now - kept().next().map_or(now, |oldest| oldest.opened);
        let is_small_ring = SmallRing::fits(&plan, state.extent, state.number + 1, span)
            && kept().all(|one| one.overflow.is_none());
        let regular = kept().map(|one| one.regular.bytes()).fold(plan.bytes(), u64::saturating_add);
        let overflow = kept().map(|one| one.overflow_bytes()).fold(0, u64::saturating_add);
        let filter_bytes = size_with(is_small_ring, regular, kept().count() + 1, overflow);
        // A filter at a limit goes on if its new generation takes no more than the dropped ones.
        let is_larger = filter_bytes > self.size_bytes();
        let mut granted = |demand: Demand| !is_larger || permit(demand);
        let mut permit = beside(0, self.end(), &mut granted);
        request(&mut permit, Layout::Bloomline, [plan.bytes()], |_| filter_bytes)?;
        if !is_small_ring {
            self.make_large()?;
        }
        self.shift(dropped, Some(now))
    }

    /// Opens a generation if there is a time for it, and drops the `dropped` oldest of the others.
    /// Nothing changes after an error.
    fn shift(&mut self, dropped: usize, opened: Option<u64>) -> Result<(), Error> {
        let bytes = self.all().take(dropped).map(|one| one.bits_bytes()).sum::<u64>();
        let state = self.state();
        let state = RingState {
            dropped_bytes: state.dropped_bytes + bytes,
            number: state.number + u64::from(opened.is_some()),
            count: state.count + u8::from(opened.is_some()) - dropped as u8,
            ..state
        };
        match self.ring_mut() {
            RingMut::Small(ring) => {
                let shifted = SmallRing::new(&state, ring.all().skip(dropped), opened)?;
                *self = shifted.into();
            }
            RingMut::Large(ring) => {
                let new = |opened| Generation::new(&state.plan(), opened);
                ring.shift(dropped, opened.map(new).transpose()?)?;
                ring.state = state;
            }
        }
        Ok(())
    }
}

impl LargeRing {
    /// Makes `newest` the newest generation if there is one, and drops the `dropped` oldest of the
    /// others. Nothing changes after an error.
    fn shift(&mut self, dropped: usize, newest: Option<Generation>) -> Result<(), Error> {
        let left = (self.older.len() + usize::from(newest.is_some())).saturating_sub(dropped);
        // The list has exactly this capacity, so that the table of it is not allocated again.
        let mut kept = Vec::new();
        kept.try_reserve_exact(left).map_err(no_memory(size_of::<Generation>() * left))?;
        self.dropped.clear();
        let reserved = self.dropped.try_reserve_exact(dropped);
        reserved.map_err(no_memory(size_of::<Generation>() * dropped))?;

        let older = std::mem::take(&mut self.older).into_vec();
        let closed = newest.map(|newest| std::mem::replace(&mut self.newest, newest));
        for (index, generation) in older.into_iter().chain(closed).enumerate() {
            if index < dropped { &mut self.dropped } else { &mut kept }.push(generation);
        }
        self.older = kept.into_boxed_slice();
        Ok(())
    }
}
