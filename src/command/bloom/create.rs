//! BF.RESERVE, and the creation of filters by all commands.

use std::ffi::CStr;

use super::options::{Dialect, FilterOptions};
use super::{parse, valkey};
use crate::command::access::{self, Vacant};
use crate::command::creation::{expire, refused, replicate_expiry, replicate_header, seed};
use crate::command::error::{Failure, ITEM_EXISTS};
use crate::command::handler::{ArgCount, Call, Handler};
use crate::data_type::handle::Changed;
use crate::policy::limits::Limits;
use crate::server::clock;
use crate::server::key::Key;
use bloomline_core::Layout;
use bloomline_core::host::{AnyFilter, WindowedFilter};

/// The keyspace event of a filter that was created.
pub const RESERVED: &CStr = c"bloom.reserve";

/// BF.RESERVE key error_rate capacity [EXPANSION n] [NONSCALING] [LAYOUT name] [WINDOW seconds |
/// LAST] [GENERATIONS g] [NOREFRESH] [TTL seconds] [SEED n]
pub struct Reserve;

impl Handler for Reserve {
    const ARGS: ArgCount = 4..=usize::MAX;

    fn run(call: Call) -> Result<(), Failure> {
        let options = parse::reserve(call.key, call.rest, Dialect::of(call.source))?;
        options.check_reach(call.source)?;
        reserve(call, options)?;
        call.context.simple(c"OK");
        Ok(())
    }
}

/// Creates a filter without items in the key of a call.
///
/// # Errors
///
/// The key exists, or the filter cannot be created; the key stays as it was.
pub fn reserve(call: Call, options: FilterOptions) -> Result<(), Failure> {
    let mut key = access::write(call);
    let vacant = Vacant::of::<AnyFilter>(call, &mut key)?.ok_or(ITEM_EXISTS)?;
    let created = create(call, vacant, options, 0)?;
    call.commit(key, created.changed, |_| {}, [(true, RESERVED)]);
    Ok(())
}

/// A filter that a call has created.
pub struct Created {
    pub changed: Changed,
    /// True if the filter is not replicated yet: [`replicate_items`] does it.
    pub is_pending: bool,
}

/// Creates a filter in a key, and replicates its header: at once, or after the insertion of the
/// `items` items of the call if the header has them.
///
/// # Errors
///
/// The filter cannot be created; the key stays as it was.
pub fn create(
    call: Call,
    vacant: Vacant,
    options: FilterOptions,
    items: usize,
) -> Result<Created, Failure> {
    let limits = Limits::of(call.source);
    let windowed = options.window.windowed(options.spec);
    let created = match options.layout {
        Layout::Bloomline => {
            let seed = seed(options.seed)?;
            let mut permit = limits.permit();
            match windowed {
                None => AnyFilter::bloomline(options.spec, seed, &mut permit),
                Some(spec) => {
                    WindowedFilter::new(spec, seed, clock::now(), &mut permit).map(AnyFilter::from)
                }
            }
        }
        Layout::RedisBloom => {
            AnyFilter::redisbloom(options.spec, options.stored_expansion, &mut limits.permit())
        }
        Layout::ValkeyBloom => {
            let mut permit = limits.permit();
            let created = valkey::create(options.spec, options.valkey, &mut permit)?;
            created.and_then(AnyFilter::in_box)
        }
    };
    let filter = created.map_err(|error| refused(call, error, &limits))?;
    let is_pending = items != 0 && items as u64 <= filter.listed_room();
    let has_header = !is_pending && filter.valkey().is_none();
    let header = has_header.then(|| filter.encode_header());
    let (key, changed) = vacant.store(filter)?;
    expire(key, options.ttl);
    if let Some(header) = header {
        replicate_header::<AnyFilter>(call, key, &header);
    } else if !is_pending
        && let Some(filter) = access::found::<AnyFilter>(key)
        && let Some(filter) = filter.valkey()
    {
        valkey::replicate(call, filter);
        replicate_expiry(call, key);
    }
    Ok(Created { changed, is_pending })
}

/// Replicates a filter that the call has created, with its items.
pub fn replicate_items(call: Call, key: &Key) {
    if let Some(filter) = access::found::<AnyFilter>(key) {
        replicate_header::<AnyFilter>(call, key, &filter.encode_header());
    }
}
