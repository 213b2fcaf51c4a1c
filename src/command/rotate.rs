//! BF.ROTATE, and the rotation that an addition causes.
//!
//! Only commands of a primary's clients read a clock. Everywhere else filters rotate by the
//! BF.ROTATE with a time that the primary replicates.

use std::ffi::CStr;

use super::access;
use super::error::{
    self, AT_IN_FUTURE, BAD_TIME, Failure, NEEDS_EFFECTS, NO_GENERATIONS, NOT_BY_HAND,
    unknown_argument,
};
use super::handler::{ArgCount, Call, Handler};
use crate::policy::limits::{Limits, ROTATION, is_for_memory};
use crate::policy::replicate;
use crate::server::clock;
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
        let windowed = filter.windowed_mut().ok_or(NO_GENERATIONS)?;
        let number = windowed.number();
        let limits = Limits::of(call.source);
        let mut permit = limits.permit();
        let is_manual = windowed.spec().window == Window::Manual;
        if given.is_none() && !is_manual {
            return Err(NOT_BY_HAND.into());
        }
        if call.source.is_script_by_text() {
            return Err(NEEDS_EFFECTS.into());
        }
        let at = given.unwrap_or_else(clock::now);
        // A time in the future would drop generations before their window has passed.
        let is_early = || at > clock::now() && !limits.source.is_replicated_or_loaded();
        if given.is_some() && is_early() {
            return Err(AT_IN_FUTURE.into());
        }
        let rotated = if is_manual {
            windowed.rotate(at, &mut permit)
        } else {
            windowed.advance(at, &mut permit)
        };
        rotated.map_err(|error| failed(call, error, &limits))?;
        replicate::rotation(call.context, call.key, at);
        let is_rotated = windowed.number() != number;
        drop(filter);
        call.signal_each(key, [(is_rotated, ROTATED)]);
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
            None => Ok(Self { number: None, clock: None }),
            Some(windowed) => Self::begin_windowed(call, windowed, items),
        }
    }

    fn begin_windowed(
        call: Call,
        filter: &mut WindowedFilter,
        items: usize,
    ) -> Result<Self, Failure> {
        let mut rotation = Self { number: Some(filter.number()), clock: None };
        let may_rotate_by_count = filter.may_rotate_by_count(items as u64);
        if !may_rotate_by_count && !filter.has_time() {
            return Ok(rotation);
        }
        // Refused whether a rotation is due or not: those that execute the script again cannot know
        // what was due, and must refuse the same calls.
        if call.source.is_script_by_text() {
            return Err(NEEDS_EFFECTS.into());
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
        filter.advance(now, &mut limits.permit()).map_err(|error| failed(call, error, &limits))?;
        if may_rotate_by_count {
            rotation.clock = Some((now, before));
        } else {
            replicate::rotation(call.context, call.key, now);
        }
        Ok(rotation)
    }

    /// Replicates a rotation by count, before the items that caused it. True if a generation was
    /// opened since [`Rotation::begin`].
    #[inline]
    pub fn finish(self, call: Call, filter: &mut AnyFilter) -> bool {
        let Some(filter) = filter.windowed_mut() else { return false };
        let is_rotated = self.number != Some(filter.number());
        if let Some((now, before)) = self.clock {
            if is_rotated {
                replicate::rotation(call.context, call.key, now);
            } else {
                filter.set_clock(before);
            }
        }
        is_rotated
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
