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
use crate::server::log;
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
        let mut at = given.unwrap_or_else(clock::now);
        if given.is_some() && !limits.source.is_replicated_or_loaded() {
            let now = clock::now();
            // A time in the future would drop generations before their window has passed.
            if at > now {
                return Err(AT_IN_FUTURE.into());
            }
            // Only the clock itself shows that it was set back.
            at = at.max(now.min(windowed.opened()));
        }
        let rotate = |filter: &mut AnyFilter| match filter.windowed_mut() {
            None => Ok(false),
            Some(windowed) if is_manual => windowed.rotate(at, &mut permit).map(|()| true),
            Some(windowed) => windowed.advance(at, &mut permit),
        };
        filter.change(rotate).map_err(|error| failed(call, error, &limits))?;
        let is_new = |windowed: &WindowedFilter| windowed.number() != number;
        let is_opened = filter.windowed().is_some_and(is_new);
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

/// The rotations that a call causes which adds items: by time before its items are inserted, or by
/// count while they are.
pub struct Rotation {
    /// The time of the call, in milliseconds; 0 if it is replicated or loaded from a file, or if
    /// nothing may rotate.
    pub now: u64,
    /// The number of the newest generation before the call.
    number: u64,
    /// True if a rotation by time has changed the filter.
    is_advanced: bool,
}

/// What a rotation did.
#[derive(Clone, Copy)]
pub struct RotationOutcome {
    pub is_opened: bool,
    is_changed: bool,
}

impl Outcome for RotationOutcome {
    #[inline]
    fn has_changed(&self) -> bool {
        self.is_changed
    }
}

impl Rotation {
    /// Brings a windowed filter to the present time before a client's items are inserted, of which
    /// there are `items`. Does nothing with other filters, and for items that are replicated or
    /// loaded from a file.
    ///
    /// # Errors
    ///
    /// The next generation cannot be created; the filter is unchanged.
    #[inline(always)]
    pub fn begin(call: Call, filter: &mut AnyFilter, items: usize) -> Result<Self, Failure> {
        match filter.windowed_mut() {
            None => Ok(Self::NONE),
            Some(windowed) => Self::begin_windowed(call, windowed, items),
        }
    }

    /// For items in a filter that the call has created: nothing is due before them.
    #[inline(always)]
    pub fn of_new(call: Call, filter: &AnyFilter, items: usize) -> Self {
        match filter.windowed() {
            None => Self::NONE,
            Some(windowed) => Self::of_windowed(call, windowed, windowed.may_rotate(items)),
        }
    }

    /// Without a window there is no rotation.
    const NONE: Self = Self { now: 0, number: 0, is_advanced: false };

    /// Who sends the call, and the time, are found out only if the filter `may_rotate`: each takes
    /// the server as long as testing some generations.
    fn of_windowed(call: Call, windowed: &WindowedFilter, may_rotate: bool) -> Self {
        let is_timed = may_rotate && !call.source.is_replicated_or_loaded();
        let now = if is_timed { clock::now() } else { 0 };
        Self { now, number: windowed.number(), is_advanced: false }
    }

    #[inline(never)]
    fn begin_windowed(
        call: Call,
        windowed: &mut WindowedFilter,
        items: usize,
    ) -> Result<Self, Failure> {
        let is_due = windowed.has_time() && windowed.is_due(clock::now());
        let mut rotation = Self::of_windowed(call, windowed, is_due || windowed.may_rotate(items));
        if is_due && rotation.now != 0 {
            let (limits, lead) = (Limits::of(call.source), windowed.lead());
            let advanced = windowed.advance(rotation.now, &mut limits.permit());
            rotation.is_advanced = advanced.map_err(|error| failed(call, error, &limits))?;
            if windowed.lead() > lead {
                log_clock(call, windowed);
            }
        }
        Ok(rotation)
    }

    /// Replicates the rotations, before the items that caused them.
    #[inline(always)]
    pub fn finish(self, call: Call, filter: &AnyFilter) -> RotationOutcome {
        let Some(filter) = filter.windowed() else {
            return RotationOutcome { is_opened: false, is_changed: false };
        };
        let is_opened = self.number != filter.number();
        let is_changed = is_opened || self.is_advanced;
        // Items that are replicated cause the rotations by count of the primary, whose time was
        // replicated before them.
        if is_changed && self.now != 0 {
            replicate::rotation(call.context, call.key, self.now);
        }
        RotationOutcome { is_opened, is_changed }
    }
}

/// Logs that the clock was set back.
#[cold]
fn log_clock(call: Call, windowed: &WindowedFilter) {
    log::CLOCK.write(format_args!(
        "filter '{}': the clock is {} ms behind the opening of the newest generation. The window \
         goes on from there; check the clock of this server, and of the primary before it",
        call.key.shown(),
        windowed.lead()
    ));
}

/// Counts and logs a rotation that was refused by a limit or for lack of memory, and returns the
/// error reply; see [`Limits::refuse`].
fn failed(call: Call, error: Error, limits: &Limits) -> Failure {
    if is_for_memory(error) {
        limits.refuse(&ROTATION, call.key, error);
    }
    error::rotation(error, limits)
}
