//! The options of BF.RESERVE and BF.INSERT.

use std::ffi::CStr;
use std::iter;

use super::error::{CANNOT_EXPAND, Failure, unknown_argument};
use super::lifetime::{self, Lifetime};
use crate::policy::origin::Origin;
use crate::policy::script;
use crate::policy::setting::{
    ERROR_RATE, EXPANSION_FACTOR, INITIAL_SIZE, default_layout, layout_by_name,
};
use crate::server::args::{Arg, Args};
use crate::server::context::Context;
use bloomline_core::bloomline::sizing::{MAX_CAPACITY, MAX_ERROR_RATE};
use bloomline_core::{Growth, Layout, MAX_EXPANSION, Spec};

/// The largest capacity of a first layer in RedisBloom's layout, which is RedisBloom's limit.
const MAX_CAPACITY_REDISBLOOM: u64 = 1 << 30;

/// The filter that a call creates.
#[derive(Clone, Copy)]
pub struct FilterOptions {
    /// Capacity, target rate, growth.
    pub spec: Spec,
    /// The expansion that RedisBloom's layout stores even if the filter does not grow.
    pub stored_expansion: u32,
    /// The layout.
    pub layout: Layout,
    /// When the filter forgets and the key expires.
    pub lifetime: Lifetime,
    /// The seed of the hash, if the call chooses it.
    pub seed: Option<u64>,
}

/// Who sends a call. This decides how its arguments are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// A client: option names are matched as a whole, and unknown ones are an error.
    Client,
    /// A primary or a file with RedisBloom. Bloomline replicates no call that creates a filter.
    /// Arguments are read as RedisBloom reads them, and the filter gets RedisBloom's layout.
    RedisBloom,
}

impl Sender {
    /// Who sends the call. The calls of a repeated script were a client's, and are read as such.
    pub fn of_call(context: Context) -> Self {
        if Origin::of_call(context).is_replicated_or_loaded()
            && !script::may_be_replicated_by_text(context)
        {
            Self::RedisBloom
        } else {
            Self::Client
        }
    }
}

/// An EXPANSION value and a NONSCALING option.
#[derive(Clone, Copy, Default)]
struct GrowthOptions {
    is_fixed: bool,
    expansion: Option<i64>,
}

impl FilterOptions {
    /// The options of a call that gives none: those of the settings.
    pub fn default_for(sender: Sender) -> Self {
        let expansion = EXPANSION_FACTOR.integer() as u32;
        let spec = Spec {
            capacity: INITIAL_SIZE.integer(),
            error_rate: ERROR_RATE.number(),
            growth: growth(expansion),
        };
        let layout = match sender {
            Sender::Client => default_layout(),
            Sender::RedisBloom => Layout::RedisBloom,
        };
        let lifetime = Lifetime::default();
        Self { spec, stored_expansion: expansion, layout, lifetime, seed: None }
    }

    fn is_fixed(&self) -> bool {
        self.spec.growth == Growth::Fixed
    }

    /// Sets the layout from the LAYOUT option before ITEMS. True if there is one.
    fn set_layout(&mut self, args: Args) -> Result<bool, Failure> {
        let mut args =
            args.iter().take_while(|arg| !arg.is("ITEMS")).skip_while(|arg| !arg.is("LAYOUT"));
        let Some(_) = args.next() else { return Ok(false) };
        let name = args.next().ok_or(Failure::Arity)?;
        self.layout = layout_by_name(name).ok_or_else(|| unknown_argument(name))?;
        Ok(true)
    }

    /// Sets the seed from the value of SEED.
    fn set_seed(&mut self, value: Arg) -> Result<(), Failure> {
        let seed = value.unsigned();
        self.seed = Some(seed.ok_or(c"ERR seed must be in the range [0, 18446744073709551615]")?);
        Ok(())
    }

    /// Checks the options together. `has_growth` is true if NONSCALING or EXPANSION is given.
    fn check(&self, has_growth: bool) -> Result<(), Failure> {
        if self.seed.is_some() && self.layout != Layout::Bloomline {
            return Err(c"ERR SEED needs LAYOUT BLOOMLINE".into());
        }
        self.lifetime.check(self.spec.capacity, self.layout, has_growth)
    }

    fn capacity(&self, given: i64, sender: Sender) -> Option<u64> {
        let max = match (sender, self.layout) {
            (Sender::Client, Layout::Bloomline) => MAX_CAPACITY,
            (Sender::Client, Layout::RedisBloom) => MAX_CAPACITY_REDISBLOOM,
            // RedisBloom before 8 had no such limit; the memory is the limit.
            (Sender::RedisBloom, _) => u64::MAX,
        };
        u64::try_from(given).ok().filter(|n| (1..=max).contains(n))
    }
}

/// The growth of an expansion as clients write it: 0 stands for a filter that does not grow.
fn growth(expansion: u32) -> Growth {
    match expansion {
        0 => Growth::Fixed,
        expansion => Growth::Scaling { expansion },
    }
}

/// A target rate above 0 and below 1. Above 0.25 it becomes 0.25, as in RedisBloom.
fn error_rate(
    arg: Arg,
    not_a_number: &'static CStr,
    out_of_range: &'static CStr,
) -> Result<f64, Failure> {
    let rate = arg.number().ok_or(not_a_number)?;
    if rate > 0.0 && rate < 1.0 { Ok(rate.min(MAX_ERROR_RATE)) } else { Err(out_of_range.into()) }
}

fn expansion(given: i64, sender: Sender) -> Option<u32> {
    // RedisBloom before 8 had no limit.
    u32::try_from(given).ok().filter(|&n| n <= MAX_EXPANSION || sender == Sender::RedisBloom)
}

/// Parses `error_rate capacity [EXPANSION n] [NONSCALING] [LAYOUT name] [SEED n]` and the options
/// of [`Lifetime`], with the checks in RedisBloom's order.
///
/// # Errors
///
/// The error reply.
pub fn reserve(key: Arg, args: Args, sender: Sender) -> Result<FilterOptions, Failure> {
    let (Some(rate), Some(capacity)) = (args.get(0), args.get(1)) else {
        return Err(Failure::Arity);
    };
    let rest = args.from(2);
    let mut options = FilterOptions::default_for(sender);
    let mut own = 0;
    if sender == Sender::Client {
        let seeds = rest.iter().filter(|arg| arg.is("SEED")).count();
        own = 2 * (usize::from(options.set_layout(rest)?) + seeds) + lifetime::count(rest);
    }
    // RedisBloom's options are at most three arguments.
    if rest.len() > 3 + own {
        return Err(Failure::Arity);
    }
    options.spec.error_rate = error_rate(
        rate,
        c"ERR bad error rate",
        c"ERR error rate must be in the range (0.000000, 1.000000)",
    )?;
    let capacity = capacity.integer().ok_or(c"ERR bad capacity")?;
    options.spec.capacity = options.capacity(capacity, sender).ok_or(match options.layout {
        Layout::Bloomline => c"ERR capacity must be in the range [1, 1099511627776]",
        Layout::RedisBloom => c"ERR capacity must be in the range [1, 1073741824]",
    })?;
    let given = match sender {
        Sender::Client => reserve_options(rest, &mut options)?,
        Sender::RedisBloom => redisbloom_options(key, args)?,
    };
    let mut is_fixed = given.is_fixed || options.is_fixed();
    match given.expansion {
        Some(0) => (is_fixed, options.stored_expansion) = (true, 0),
        Some(_) if is_fixed => return Err(CANNOT_EXPAND.into()),
        Some(n) => {
            options.stored_expansion =
                expansion(n, sender).ok_or(c"ERR expansion must be in the range [0, 32768]")?;
        }
        None => {}
    }
    options.spec.growth = if is_fixed { Growth::Fixed } else { growth(options.stored_expansion) };
    let has_growth = given.is_fixed || given.expansion.is_some();
    options.check(has_growth)?;
    Ok(options)
}

/// The growth options of a client's BF.RESERVE. Sets the seed, and when the filter forgets.
fn reserve_options(args: Args, options: &mut FilterOptions) -> Result<GrowthOptions, Failure> {
    let mut given = GrowthOptions::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg.is("NONSCALING") {
            given.is_fixed = true;
        } else if arg.is("EXPANSION") {
            let value = args.next().ok_or(c"ERR no expansion")?;
            given.expansion = Some(value.integer().ok_or(c"ERR bad expansion")?);
        } else if arg.is("LAYOUT") {
            // `set_layout` has read its value.
            args.next();
        } else if arg.is("SEED") {
            options.set_seed(args.next().ok_or(Failure::Arity)?)?;
        } else if let Some(option) = lifetime::Token::of(arg) {
            options.lifetime.set(option, || args.next().ok_or(Failure::Arity))?;
        } else {
            return Err(unknown_argument(arg));
        }
    }
    Ok(given)
}

/// The growth options of a BF.RESERVE of RedisBloom. RedisBloom finds them anywhere, even in the
/// key and the numbers, and ignores all other arguments.
fn redisbloom_options(key: Arg, args: Args) -> Result<GrowthOptions, Failure> {
    let all = || iter::once(key).chain(args.iter());
    let is_fixed = all().any(|arg| arg.is("NONSCALING"));
    let mut from_expansion = all().skip_while(|arg| !arg.is("EXPANSION"));
    let expansion = match from_expansion.next() {
        None => None,
        Some(_) => {
            let value = from_expansion.next().ok_or(c"ERR no expansion")?;
            Some(value.integer().ok_or(c"ERR bad expansion")?)
        }
    };
    Ok(GrowthOptions { is_fixed, expansion })
}

/// The arguments of BF.INSERT.
pub struct Insert<'a> {
    /// The filter to create if the key is missing; none with NOCREATE.
    pub if_missing: Option<FilterOptions>,
    /// The items, at least one.
    pub items: Args<'a>,
}

/// An option name of BF.INSERT.
#[derive(Clone, Copy)]
enum Token {
    Items,
    Capacity,
    Error,
    Expansion,
    Layout,
    NoCreate,
    NonScaling,
    Seed,
    Lifetime(lifetime::Token),
}

/// The option name that an argument is. A client's must match as a whole; RedisBloom compares only
/// some of the letters.
fn token_of(arg: Arg, sender: Sender) -> Option<Token> {
    const TOKENS: [(&str, Token); 8] = [
        ("ITEMS", Token::Items),
        ("CAPACITY", Token::Capacity),
        ("ERROR", Token::Error),
        ("EXPANSION", Token::Expansion),
        ("LAYOUT", Token::Layout),
        ("NOCREATE", Token::NoCreate),
        ("NONSCALING", Token::NonScaling),
        ("SEED", Token::Seed),
    ];
    if sender == Sender::Client {
        let token = TOKENS.iter().find(|(name, _)| arg.is(name)).map(|&(_, token)| token);
        return token.or_else(|| lifetime::Token::of(arg).map(Token::Lifetime));
    }
    let letter = |index| arg.bytes().get(index).map(u8::to_ascii_lowercase);
    match letter(0)? {
        b'i' => Some(Token::Items),
        b'c' => Some(Token::Capacity),
        b'e' if letter(1) == Some(b'r') => Some(Token::Error),
        b'e' => Some(Token::Expansion),
        b'n' if letter(2) == Some(b'c') => Some(Token::NoCreate),
        b'n' => Some(Token::NonScaling),
        _ => None,
    }
}

/// Parses `[CAPACITY n] [ERROR f] [EXPANSION n] [NOCREATE] [NONSCALING] [LAYOUT name] [SEED n]
/// ITEMS item [item ...]`, and the options of [`Lifetime`] before ITEMS. The last of repeated
/// options counts.
///
/// # Errors
///
/// The error reply.
pub fn insert(args: Args<'_>, sender: Sender) -> Result<Insert<'_>, Failure> {
    let mut options = FilterOptions::default_for(sender);
    if sender == Sender::Client {
        options.set_layout(args)?;
    }
    let mut is_fixed = options.is_fixed();
    let (mut may_create, mut has_growth) = (true, false);
    let mut index = 0;
    while let Some(arg) = args.get(index) {
        let value = args.get(index + 1).ok_or(Failure::Arity);
        index += 2;
        match token_of(arg, sender).ok_or_else(|| unknown_argument(arg))? {
            Token::Items => {
                value?;
                options.spec.growth =
                    if is_fixed { Growth::Fixed } else { growth(options.stored_expansion) };
                options.check(has_growth)?;
                let if_missing = may_create.then_some(options);
                return Ok(Insert { if_missing, items: args.from(index - 1) });
            }
            Token::Capacity => {
                let capacity = value?.integer().and_then(|given| options.capacity(given, sender));
                options.spec.capacity = capacity.ok_or(c"Bad capacity")?;
            }
            Token::Error => {
                options.spec.error_rate = error_rate(value?, c"Bad error rate", c"Bad error rate")?;
            }
            Token::Expansion => {
                options.stored_expansion = value?
                    .integer()
                    .and_then(|given| expansion(given, sender))
                    .ok_or(c"Bad expansion")?;
                is_fixed |= options.stored_expansion == 0;
                has_growth = true;
            }
            // `set_layout` has read its value.
            Token::Layout => drop(value?),
            Token::NoCreate => (may_create, index) = (false, index - 1),
            Token::NonScaling => (is_fixed, has_growth, index) = (true, true, index - 1),
            Token::Seed => options.set_seed(value?)?,
            Token::Lifetime(option) => {
                if !option.has_value() {
                    index -= 1;
                }
                options.lifetime.set(option, || value)?;
            }
        }
    }
    Err(Failure::Arity)
}
