//! BF.RESERVE, and the creation of filters by all commands.

use std::ffi::CStr;

use super::access;
use super::error::{self, Failure, NEEDS_EFFECTS};
use super::handler::{ArgCount, Call, Handler};
use super::lifetime::Lifetime;
use super::option;
use super::options::{Dialect, FilterOptions};
use super::parse;
use crate::data_type::handle::{Changed, store};
use crate::policy::limits::{CREATION, Limits, is_for_memory};
use crate::policy::{replicate, seed};
use crate::server::args::Args;
use crate::server::clock;
use crate::server::key::Key;
use bloomline_core::host::{AnyFilter, Filter, WindowedFilter};
use bloomline_core::{Error, Layout};

/// The keyspace event of a filter that was created.
pub const RESERVED: &CStr = c"bloom.reserve";

/// BF.RESERVE key error_rate capacity [EXPANSION n] [NONSCALING] [LAYOUT name] [WINDOW seconds |
/// LAST] [GENERATIONS g] [NOREFRESH] [TTL seconds] [SEED n]
pub struct Reserve;

impl Handler for Reserve {
    const ARGS: ArgCount = 4..=usize::MAX;

    fn is_unknown_to_redisbloom(rest: Args) -> bool {
        option::has_own(rest)
    }

    fn run(call: Call) -> Result<(), Failure> {
        let options = parse::reserve(call.key, call.rest, Dialect::of(call.source))?;
        let mut key = access::write(call);
        access::missing::<AnyFilter>(&key)?;
        let created = create(call, &mut key, options)?;
        call.commit(key, created, |_| {}, [(true, RESERVED)]);
        call.context.simple(c"OK");
        Ok(())
    }
}

/// Creates a filter in a key that holds none, and replicates its header.
///
/// # Errors
///
/// The filter cannot be created; the key stays as it was.
pub fn create(call: Call, key: &mut Key, options: FilterOptions) -> Result<Changed, Failure> {
    let limits = Limits::of(call.source);
    let lifetime = options.lifetime;
    let windowed = lifetime.windowed(options.spec);
    let needs_clock = windowed.is_some() || lifetime.ttl.is_some();
    if needs_clock && call.source.is_script_by_text() {
        return Err(NEEDS_EFFECTS.into());
    }
    let created = match options.layout {
        Layout::Bloomline => {
            let seed = seed(call, options.seed)?;
            let mut permit = limits.permit();
            match windowed {
                None => Filter::new(options.spec, seed, &mut permit).map(AnyFilter::from),
                Some(spec) => {
                    WindowedFilter::new(spec, seed, clock::now(), &mut permit).map(AnyFilter::from)
                }
            }
        }
        Layout::RedisBloom => {
            AnyFilter::redisbloom(options.spec, options.stored_expansion, &mut limits.permit())
        }
    };
    let filter = created.map_err(|error| refused(call, error, &limits))?;
    replicate::chunk::<AnyFilter>(call.context, call.key, 1, &filter.encode_header());
    let created = store(key, filter);
    expire(call, key, lifetime);
    Ok(created)
}

/// The seed of a new filter: that of the option, or one that nobody can predict unless a script is
/// executed again elsewhere.
///
/// # Errors
///
/// The system has no random numbers.
pub fn seed(call: Call, given: Option<u64>) -> Result<u64, Failure> {
    let repeatable = || call.source.repeatable_seed(call.key.bytes());
    match given.or_else(repeatable) {
        Some(seed) => Ok(seed),
        None => seed::random().map_err(|error| error::no_seed(&error)),
    }
}

/// Lets a new key expire if TTL is given, and replicates when.
pub fn expire(call: Call, key: &mut Key, lifetime: Lifetime) {
    if let Some(millis) = lifetime.ttl {
        key.expire_after(millis);
        if let Some(at) = key.expires_at() {
            replicate::expiry(call.context, call.key, at);
        }
    }
}

/// Counts and logs a creation that was refused for lack of memory, and returns the error reply; see
/// [`Limits::refuse`].
pub fn refused(call: Call, error: Error, limits: &Limits) -> Failure {
    if is_for_memory(error) {
        limits.refuse(&CREATION, call.key, error);
    }
    error::creation(error, limits)
}
