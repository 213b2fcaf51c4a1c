//! BF.ROTATE, and the rotation that an addition causes.
//!
//! Only commands of a primary's clients read a clock. Everywhere else filters rotate by the
//! BF.ROTATE with a time that the primary replicates.

use std::ffi::CStr;

use crate::command::access;
use crate::command::error::{
    self, AT_IN_FUTURE, BAD_TIME, Failure, NO_GENERATIONS, NOT_BY_HAND, unknown_argument,
};
use crate::command::handler::{ArgCount, Call, Handler};
use crate::data_type::handle::Outcome;
use crate::policy::limits::{Limits, ROTATION, is_for_memory};
use crate::policy::replicate;
use crate::server::clock;
use crate::server::key::Key;
use bloomline_core::Error;
use bloomline_core::host::{AnyFilter, Window, WindowedFilter};

/// The keyspace event of a filter that has opened a generation.
pub const ROTATED: &CStr = c"bloom.rotate";

/// BF.ROTATE key [AT milliseconds]
pub struct Rotate;

impl Handler for Rotate {
    const ARGS: ArgCount = 2..=4;

    fn run(call: Call) -> Result<(), Failure> {
        let given = given_time(call)?;
        let mut key = access::write(call);
        let mut filter = access::existing_mut::<AnyFilter>(&mut key)?;
        let windowed = filter.windowed().ok_or(NO_GENERATIONS)?;
        let number = windowed.number();
        let limits = Limits::of(call.source);
        let mut permit = limits.permit();
        let is_manual = windowed.spec().window == Window::Manual;
        if given.is_none() && !is_manual {
            return Err(NOT_BY_HAND.into());
        }
        let at = given.unwrap_or_else(clock::now);
        // A time in the future would drop generations before their window has passed.
        let is_early = || at > clock::now() && !limits.source.is_replicated_or_loaded();
        if given.is_some() && is_early() {
            return Err(AT_IN_FUTURE.into());
        }
        let rotate = |filter: &mut AnyFilter| match filter.windowed_mut() {
            None => Ok(false),
            Some(windowed) if is_manual => windowed.rotate(at, &mut permit).map(|()| true),
            Some(windowed) => windowed.advance(at, &mut permit),
        };
        filter.write(rotate).map_err(|error| failed(call, error, &limits))?;
        let is_opened = filter.windowed().is_some_and(|windowed| windowed.number() != number);
        let changed = filter.close();
        let replicate = |_: &Key| replicate::rotation(call.context, call.key, at);
        call.commit(key, changed, replicate, [(is_opened, ROTATED)]);
        call.context.simple(c"OK");
        Ok(())
    }
}

/// The time after AT, in milliseconds.
fn given_time(call: Call) -> Result<Option<u64>, Failure> {
    let Some(token) = call.rest.get(0) else { return Ok(None) };
    if !token.is("AT") {
        return Err(unknown_argument(token));
    }
    let value = call.rest.get(1).ok_or(Failure::Arity)?;
    let at = value.integer().and_then(|at| u64::try_from(at).ok()).ok_or(BAD_TIME)?;
    Ok(Some(at))
}

/// A rotation that an addition causes: by time before its items are inserted, or by count while
/// they are.
pub struct Rotation {
    /// The number of the newest generation before the call; none if the filter has no window.
    number: Option<u64>,
    /// The time of a rotation by count, and the filter's clock before the call.
    clock: Option<(u64, u64)>,
    /// True if a rotation by time has changed the filter.
    is_advanced: bool,
}

/// What a rotation did.
#[derive(Clone, Copy)]
pub struct Rotated {
    /// True if it has opened a generation.
    pub is_opened: bool,
    /// True if it has changed the filter.
    is_changed: bool,
}

impl Outcome for Rotated {
    fn has_changed(&self) -> bool {
        self.is_changed
    }
}

impl Rotation {
    /// Brings a windowed filter to the present time before a client's items are inserted. Does
    /// nothing with other filters, and for items that are replicated or loaded from a file.
    ///
    /// # Errors
    ///
    /// The next generation cannot be created; the filter is unchanged.
    #[inline]
    pub fn begin(call: Call, filter: &mut AnyFilter, items: usize) -> Result<Self, Failure> {
        match filter.windowed_mut() {
            None => Ok(Self { number: None, clock: None, is_advanced: false }),
            Some(windowed) => Self::begin_windowed(call, windowed, items),
        }
    }

    /// For a client's items in a filter that the call has created. The time of the call is that of
    /// the creation: nothing is due.
    #[inline]
    pub fn of_new(filter: &AnyFilter, items: usize) -> Self {
        let windowed = filter.windowed();
        let by_count = windowed.filter(|filter| filter.may_rotate_by_count(items as u64));
        Self {
            number: windowed.map(WindowedFilter::number),
            clock: by_count.map(|filter| (filter.clock(), filter.clock())),
            is_advanced: false,
        }
    }

    fn begin_windowed(
        call: Call,
        filter: &mut WindowedFilter,
        items: usize,
    ) -> Result<Self, Failure> {
        let number = Some(filter.number());
        let mut rotation = Self { number, clock: None, is_advanced: false };
        let may_rotate_by_count = filter.may_rotate_by_count(items as u64);
        if !may_rotate_by_count && !filter.has_time() {
            return Ok(rotation);
        }
        let now = clock::now();
        if !may_rotate_by_count && !filter.is_due(now) {
            return Ok(rotation);
        }
        let limits = Limits::of(call.source);
        if limits.source.is_replicated_or_loaded() {
            return Ok(rotation);
        }
        let before = filter.clock();
        let advanced = filter.advance(now, &mut limits.permit());
        let is_changed = advanced.map_err(|error| failed(call, error, &limits))?;
        if may_rotate_by_count {
            rotation.clock = Some((now, before));
        } else if is_changed {
            replicate::rotation(call.context, call.key, now);
            rotation.is_advanced = true;
        }
        Ok(rotation)
    }

    /// Replicates a rotation by count, before the items that caused it.
    #[inline]
    pub fn finish(self, call: Call, filter: &mut AnyFilter) -> Rotated {
        let Some(filter) = filter.windowed_mut() else {
            return Rotated { is_opened: false, is_changed: false };
        };
        let is_opened = self.number != Some(filter.number());
        if let Some((now, before)) = self.clock {
            if is_opened {
                replicate::rotation(call.context, call.key, now);
            } else {
                filter.set_clock(before);
            }
        }
        Rotated { is_opened, is_changed: is_opened || self.is_advanced }
    }
}

/// Counts and logs a rotation that was refused by a limit or for lack of memory, and returns the
/// error reply; see [`Limits::refuse`].
fn failed(call: Call, error: Error, limits: &Limits) -> Failure {
    if is_for_memory(error) {
        limits.refuse(&ROTATION, call.key, error);
    }
    error::rotation(error, limits)
}
