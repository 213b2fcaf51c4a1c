//! The options of BF.RESERVE and BF.INSERT.

use std::ffi::CStr;

use super::text::{CANNOT_EXPAND, Failure, unknown_word};
use crate::bloom::sizing::{MAX_CAPACITY, MAX_ERROR_RATE};
use crate::bloom::{Growth, MAX_EXPANSION, Spec};
use crate::server::args::{Arg, Args};
use crate::server::setting::{ERROR_RATE, EXPANSION_FACTOR, INITIAL_SIZE};

/// The filter that is created where a call says nothing of it.
pub fn default_spec() -> Spec {
    let growth = growth(EXPANSION_FACTOR.integer() as u32);
    Spec { capacity: INITIAL_SIZE.integer(), error_rate: ERROR_RATE.number(), growth }
}

/// An expansion as clients write it: 0 stands for a filter that does not grow.
fn growth(expansion: u32) -> Growth {
    match expansion {
        0 => Growth::Fixed,
        expansion => Growth::Scaling { expansion },
    }
}

/// An error rate above 0 and below 1; above 0.25 it is taken for 0.25, as RedisBloom does.
fn error_rate(arg: Arg, unreadable: &'static CStr, out_of_range: &'static CStr) -> Result<f64, Failure> {
    let rate = arg.number().ok_or(unreadable)?;
    if rate > 0.0 && rate < 1.0 { Ok(rate.min(MAX_ERROR_RATE)) } else { Err(out_of_range.into()) }
}

fn capacity(arg: Arg, unreadable: &'static CStr, out_of_range: &'static CStr) -> Result<u64, Failure> {
    let capacity = u64::try_from(arg.integer().ok_or(unreadable)?);
    capacity.ok().filter(|n| (1..=MAX_CAPACITY).contains(n)).ok_or(out_of_range.into())
}

fn expansion(given: i64) -> Option<u32> {
    u32::try_from(given).ok().filter(|&n| n <= MAX_EXPANSION)
}

/// `error_rate capacity [EXPANSION n] [NONSCALING]`, the checks in RedisBloom's order.
pub fn reserve(words: Args) -> Result<Spec, Failure> {
    let mut words = words.iter();
    let (Some(rate), Some(size)) = (words.next(), words.next()) else { return Err(Failure::Arity) };
    let error_rate =
        error_rate(rate, c"ERR bad error rate", c"ERR error rate must be in the range (0.000000, 1.000000)")?;
    let capacity =
        capacity(size, c"ERR bad capacity", c"ERR capacity must be in the range [1, 1099511627776]")?;

    let mut grows = default_spec().growth;
    let mut is_fixed = grows == Growth::Fixed;
    let mut given = None;
    while let Some(word) = words.next() {
        if word.is("NONSCALING") {
            is_fixed = true;
        } else if word.is("EXPANSION") {
            let value = words.next().ok_or(c"ERR no expansion")?;
            given = Some(value.integer().ok_or(c"ERR bad expansion")?);
        } else {
            return Err(unknown_word(word.bytes()));
        }
    }
    match given {
        Some(0) => is_fixed = true,
        Some(_) if is_fixed => return Err(CANNOT_EXPAND.into()),
        Some(n) => grows = growth(expansion(n).ok_or(c"ERR expansion must be in the range [0, 32768]")?),
        None => {}
    }
    let growth = if is_fixed { Growth::Fixed } else { grows };
    Ok(Spec { capacity, error_rate, growth })
}

/// What BF.INSERT was asked.
pub struct Insert<'a> {
    /// The filter to be made if there is none.
    pub spec: Spec,
    /// Whether one may be made.
    pub may_create: bool,
    /// The items, at least one.
    pub items: Args<'a>,
}

/// `[CAPACITY n] [ERROR f] [EXPANSION n] [NOCREATE] [NONSCALING] ITEMS item [item ...]`; of repeated words the last counts.
pub fn insert(words: Args<'_>) -> Result<Insert<'_>, Failure> {
    let mut spec = default_spec();
    let mut is_fixed = spec.growth == Growth::Fixed;
    let mut may_create = true;
    let mut index = 0;
    while let Some(word) = words.get(index) {
        let value = words.get(index + 1).ok_or(Failure::Arity);
        index += 2;
        if word.is("ITEMS") {
            value?;
            spec.growth = if is_fixed { Growth::Fixed } else { spec.growth };
            return Ok(Insert { spec, may_create, items: words.from(index - 1) });
        } else if word.is("CAPACITY") {
            spec.capacity = capacity(value?, c"Bad capacity", c"Bad capacity")?;
        } else if word.is("ERROR") {
            spec.error_rate = error_rate(value?, c"Bad error rate", c"Bad error rate")?;
        } else if word.is("EXPANSION") {
            let given = value?.integer().and_then(expansion).ok_or(c"Bad expansion")?;
            is_fixed |= given == 0;
            spec.growth = growth(given);
        } else {
            index -= 1;
            if word.is("NOCREATE") {
                may_create = false;
            } else if word.is("NONSCALING") {
                is_fixed = true;
            } else {
                return Err(unknown_word(word.bytes()));
            }
        }
    }
    Err(Failure::Arity)
}
