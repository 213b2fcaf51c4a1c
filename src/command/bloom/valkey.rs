//! Filters in valkey-bloom's layout: the options that only valkey-bloom has, creation, and how it
//! is replicated.

use std::mem;

use crate::command::creation;
use crate::command::error::Failure;
use crate::command::handler::Call;
use crate::policy::limits::max_filter_bytes;
use crate::policy::setting::{TIGHTENING_RATIO, USE_RANDOM_SEED};
use crate::server::args::{Arg, Args};
use bloomline_core::Error;
use bloomline_core::host::valkey::{FIXED_SEED, Seed, ValkeyFilter};
use bloomline_core::host::{Permit, Spec, valkey};

/// The options of BF.RESERVE and BF.INSERT that valkey-bloom has and RedisBloom does not. A call
/// with one of them creates a filter in valkey-bloom's layout.
#[derive(Clone, Copy, Default)]
pub struct ValkeyOptions {
    /// TIGHTENING: the rate of a layer, divided by that of the layer before it.
    pub tightening: Option<f64>,
    /// SEED with 32 bytes.
    pub seed: Option<Seed>,
    /// VALIDATESCALETO: the number of items that the filter must be able to grow to.
    pub scale_to: Option<u64>,
}

impl ValkeyOptions {
    pub fn are_given(&self) -> bool {
        self.tightening.is_some() || self.seed.is_some() || self.scale_to.is_some()
    }

    /// True if those are given with which valkey-bloom replicates each creation.
    pub fn are_of_creation(&self) -> bool {
        self.tightening.is_some() && self.seed.is_some()
    }

    /// TIGHTENING
    ///
    /// # Errors
    ///
    /// The error reply.
    pub fn set_tightening(&mut self, value: Arg) -> Result<(), Failure> {
        let ratio = value.float().ok_or(c"ERR bad tightening ratio")?;
        if !(ratio > 0.0 && ratio < 1.0) {
            return Err(c"ERR (0 < tightening ratio range < 1)".into());
        }
        self.tightening = Some(ratio);
        Ok(())
    }

    /// SEED
    ///
    /// # Errors
    ///
    /// The error reply.
    pub fn set_seed(&mut self, value: Arg) -> Result<(), Failure> {
        self.seed = Some(seed(value).ok_or(c"ERR invalid seed")?);
        Ok(())
    }

    /// VALIDATESCALETO
    ///
    /// # Errors
    ///
    /// The error reply.
    pub fn set_scale_to(&mut self, value: Arg) -> Result<(), Failure> {
        let items = value.integer().and_then(|items| u64::try_from(items).ok());
        let items = items.ok_or(c"ERR bad capacity")?;
        if items == 0 {
            return Err(c"ERR (capacity should be larger than 0)".into());
        }
        self.scale_to = Some(items);
        Ok(())
    }
}

/// True if there is an option before ITEMS that only valkey-bloom has.
pub fn is_named_in(args: Args) -> bool {
    has_own_option(args, Arg::is)
}

/// True if valkey-bloom reads the arguments of BF.INSERT, and RedisBloom does not: an option is one
/// that only valkey-bloom has, or the name ITEMS has letters that only valkey-bloom takes for it.
pub fn is_only_reader_of(args: Args) -> bool {
    let items = args.iter().find(|arg| arg.is_in_upper_case("ITEMS"));
    items.is_some_and(|arg| !arg.is("ITEMS")) || has_own_option(args, Arg::is_in_upper_case)
}

/// True if there is an option before ITEMS that only valkey-bloom has. `is` compares names.
fn has_own_option<'a>(args: Args<'a>, is: fn(Arg<'a>, &str) -> bool) -> bool {
    let mut before_items = args.iter().take_while(|&arg| !is(arg, "ITEMS"));
    let names = ["TIGHTENING", "VALIDATESCALETO"];
    let mut is_seed = false;
    before_items.any(|arg| {
        let is_value = mem::replace(&mut is_seed, is(arg, "SEED"));
        is_value && seed(arg).is_some() || names.iter().any(|name| is(arg, name))
    })
}

/// The seed in 32 bytes; none if they are not as many.
fn seed(value: Arg) -> Option<Seed> {
    value.bytes().try_into().ok()
}

/// Creates a filter.
///
/// # Errors
///
/// The error reply.
pub fn create(
    spec: Spec,
    options: ValkeyOptions,
    permit: Permit,
) -> Result<Result<ValkeyFilter, Error>, Failure> {
    let params = params(spec, options, new_seed(options.seed)?);
    Ok(ValkeyFilter::new(spec.capacity, params, permit))
}

/// What the layers of a new filter have in common.
fn params(spec: Spec, options: ValkeyOptions, seed: Seed) -> valkey::ValkeyParams {
    valkey::ValkeyParams {
        expansion: spec.growth.expansion(),
        error_rate: spec.error_rate,
        tightening: options.tightening.unwrap_or_else(|| TIGHTENING_RATIO.number()),
        seed,
        is_random: seed != FIXED_SEED,
    }
}

/// Checks that a new filter can grow to a number of items.
///
/// # Errors
///
/// The error reply.
pub fn check_reach(spec: Spec, options: ValkeyOptions, items: u64) -> Result<(), Failure> {
    // No size depends on the seed.
    let params = params(spec, options, FIXED_SEED);
    if params.expansion == 0 {
        return Err(c"ERR cannot use NONSCALING and VALIDATESCALETO options together".into());
    }
    let end = match ValkeyFilter::reach(spec.capacity, &params, max_filter_bytes()) {
        Ok(reach) if reach.capacity >= items => return Ok(()),
        Ok(reach) => reach.end,
        Err(error) => error,
    };
    Err(match end {
        Error::ErrorRateTooSmall(_) => {
            c"ERR provided VALIDATESCALETO causes false positive to degrade to 0".into()
        }
        // valkey-bloom has no such limit.
        Error::TooManyLayers(layers) => Failure::Formatted(format!(
            "ERR provided VALIDATESCALETO needs more than {layers} layers: use a larger capacity \
             or a larger expansion"
        )),
        _ => c"ERR provided VALIDATESCALETO causes bloom object to exceed memory limit".into(),
    })
}

/// The seed of a new filter: the given one, the fixed one, or one that nobody can predict.
fn new_seed(given: Option<Seed>) -> Result<Seed, Failure> {
    if let Some(seed) = given {
        return Ok(seed);
    }
    if !USE_RANDOM_SEED.is_on() {
        return Ok(FIXED_SEED);
    }
    let mut seed = Seed::default();
    for part in seed.as_chunks_mut().0 {
        *part = creation::seed(None)?.to_le_bytes();
    }
    Ok(seed)
}

/// Replicates the creation of a filter as valkey-bloom does, so that its replicas understand it.
pub fn replicate(call: Call, filter: &ValkeyFilter) {
    let (spec, params) = (filter.spec(), filter.params());
    // Without an exponent, as valkey-bloom writes numbers.
    let [rate, tightening] = [params.error_rate, params.tightening].map(|it| it.to_string());
    let (capacity, expansion) = (spec.capacity.to_string(), params.expansion.to_string());
    let words: [&[u8]; 10] = [
        b"CAPACITY",
        capacity.as_bytes(),
        b"ERROR",
        rate.as_bytes(),
        b"TIGHTENING",
        tightening.as_bytes(),
        b"SEED",
        &params.seed,
        if params.expansion == 0 { b"NONSCALING" } else { b"EXPANSION" },
        expansion.as_bytes(),
    ];
    let used = words.len() - usize::from(params.expansion == 0);
    let words = words.get(..used).unwrap_or(&words);
    call.context.replicate_strings::<10>(c"BF.INSERT", call.key, words.iter().copied());
}
