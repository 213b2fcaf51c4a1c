//! The options of CF.RESERVE and CF.INSERT: RedisBloom's, as RedisBloom reads them, and [`OWN`].

use super::error::{BAD_CAPACITY, INSERTED_CAPACITY, RESERVED_CAPACITY, UNKNOWN_ARGUMENT};
use crate::command::error::Failure;
use crate::command::handler::Call;
use crate::command::lifetime::Lifetime;
use crate::command::option::{ERROR, LAYOUT, SEED, TTL, error_rate, layout, seed};
use crate::policy::setting::{
    CF_BUCKET_SIZE, CF_ERROR_RATE, CF_EXPANSION_FACTOR, CF_INITIAL_SIZE, CF_LAYOUT,
    CF_MAX_ITERATIONS, MAX_CF_CAPACITY, max_bucket_size,
};
use crate::policy::source::Source;
use crate::server::args::{Arg, Args};
use crate::server::command_docs::ArgSpec;
use bloomline_core::Layout;
use bloomline_core::host::cuckoo::CuckooOptions;

/// The filter that a call creates.
#[derive(Clone, Copy)]
pub struct NewFilter {
    /// Items of the first table.
    pub capacity: u64,
    /// The parameters that the filter stores.
    pub options: CuckooOptions,
    /// The value of LAYOUT.
    layout: Option<Layout>,
    /// The value of ERROR.
    error_rate: Option<f64>,
    /// The value of SEED.
    pub seed: Option<u64>,
    /// When the key expires.
    pub lifetime: Lifetime,
}

/// An option that RedisBloom does not know. It has a value.
pub struct OwnOption {
    /// Its name as the token.
    pub docs: ArgSpec,
    set: fn(&mut NewFilter, Arg) -> Result<(), Failure>,
}

/// The options that RedisBloom does not know.
pub const OWN: [OwnOption; 4] = [
    OwnOption {
        docs: ERROR,
        set: |new, value| {
            new.error_rate = Some(error_rate(value, c"Bad error rate", c"Bad error rate")?);
            Ok(())
        },
    },
    OwnOption {
        docs: LAYOUT,
        set: |new, value| {
            new.layout = Some(layout(value)?);
            Ok(())
        },
    },
    OwnOption { docs: TTL, set: |new, value| new.lifetime.set_ttl(value) },
    OwnOption {
        docs: SEED,
        set: |new, value| {
            new.seed = Some(seed(value)?);
            Ok(())
        },
    },
];

impl OwnOption {
    fn named(arg: Arg) -> Option<&'static Self> {
        const ALL: &[OwnOption] = &OWN;
        ALL.iter().find(|option| option.docs.has_token(arg))
    }
}

impl NewFilter {
    /// The filter of a call without options: that of the settings.
    pub fn by_default() -> Self {
        Self {
            capacity: CF_INITIAL_SIZE.integer(),
            options: CuckooOptions {
                bucket_size: CF_BUCKET_SIZE.integer() as u8,
                max_iterations: CF_MAX_ITERATIONS.integer() as u16,
                expansion: rounded(CF_EXPANSION_FACTOR.integer() as u16),
            },
            layout: None,
            error_rate: None,
            seed: None,
            lifetime: Lifetime::default(),
        }
    }

    /// The layout: that of the option, or of the setting.
    pub fn layout(&self, source: &Source) -> Layout {
        self.layout.unwrap_or_else(|| match source.is_redisbloom() {
            true => Layout::RedisBloom,
            false => CF_LAYOUT.layout(),
        })
    }

    /// The target rate, in Bloomline's layout.
    pub fn error_rate(&self) -> f64 {
        self.error_rate.unwrap_or_else(|| CF_ERROR_RATE.number())
    }

    /// Checks the options together.
    fn check(&self, source: &Source) -> Result<(), Failure> {
        let refusal = match (self.error_rate, self.seed) {
            (None, None) => return Ok(()),
            (Some(_), _) => c"ERR ERROR needs LAYOUT BLOOMLINE",
            (None, Some(_)) => c"ERR SEED needs LAYOUT BLOOMLINE",
        };
        if self.layout(source) == Layout::Bloomline { Ok(()) } else { Err(refusal.into()) }
    }

    /// The filter of CF.RESERVE, with the checks in RedisBloom's order.
    ///
    /// RedisBloom looks for the names of the options among all arguments, the key included, takes
    /// the first of each, and ignores other words.
    ///
    /// # Errors
    ///
    /// The error reply.
    pub fn reserved(call: Call) -> Result<Self, Failure> {
        let is_redisbloom = call.source.is_redisbloom();
        let mut new = Self::by_default();
        let given = call.rest.get(0).and_then(Arg::integer).ok_or(BAD_CAPACITY)?;
        if let Some(n) = named(call, "MAXITERATIONS", 1, u16::MAX.into())? {
            new.options.max_iterations = n as u16;
        }
        // The settings of the server that replicates a call have allowed it.
        let most = if is_redisbloom { u8::MAX.into() } else { max_bucket_size() };
        if let Some(n) = named(call, "BUCKETSIZE", 1, most)? {
            new.options.bucket_size = n as u8;
        }
        if let Some(n) = named(call, "EXPANSION", 0, 32_768)? {
            new.options.expansion = rounded(n as u16);
        }
        let least = 2 * u64::from(new.options.bucket_size);
        new.capacity = capacity(given, least, is_redisbloom).ok_or(RESERVED_CAPACITY)?;
        // RedisBloom ignores the words.
        if !is_redisbloom {
            let rest = call.rest.from(1);
            let mut index = 0;
            while let Some(arg) = rest.get(index) {
                index += 1;
                if let Some(option) = OwnOption::named(arg) {
                    (option.set)(&mut new, rest.get(index).ok_or(Failure::Arity)?)?;
                    index += 1;
                }
            }
            new.check(call.source)?;
        }
        Ok(new)
    }
}

/// The arguments of CF.INSERT and CF.INSERTNX.
pub struct Insert<'a> {
    /// The filter to create if the key is missing; none with NOCREATE.
    pub if_missing: Option<NewFilter>,
    /// The items, at least one.
    pub items: Args<'a>,
    /// True if there is no option before ITEMS.
    pub is_plain: bool,
}

impl<'a> Insert<'a> {
    /// The arguments of a call that has only items.
    pub fn of_items(call: Call<'a>) -> Self {
        Self { if_missing: Some(NewFilter::by_default()), items: call.rest, is_plain: true }
    }

    /// Parses `[option ...] ITEMS item [item ...]`. RedisBloom reads the first letter of a name.
    ///
    /// # Errors
    ///
    /// The error reply: that of the first argument that is wrong.
    pub fn parse(call: Call<'a>) -> Result<Self, Failure> {
        let (mut new, mut may_create, mut index) = (NewFilter::by_default(), true, 0);
        let is_redisbloom = call.source.is_redisbloom();
        while let Some(name) = call.rest.get(index) {
            let value = || call.rest.get(index + 1).ok_or(Failure::Arity);
            match name.bytes().first().map(u8::to_ascii_lowercase) {
                Some(b'c') => {
                    let given = value()?.integer().ok_or(BAD_CAPACITY)?;
                    let least = 2 * CF_BUCKET_SIZE.integer();
                    new.capacity =
                        capacity(given, least, is_redisbloom).ok_or(INSERTED_CAPACITY)?;
                    index += 2;
                }
                Some(b'n') => {
                    may_create = false;
                    index += 1;
                }
                Some(b'i') => {
                    let items = call.rest.from(index + 1);
                    if items.is_empty() {
                        return Err(Failure::Arity);
                    }
                    new.check(call.source)?;
                    let if_missing = may_create.then_some(new);
                    return Ok(Self { if_missing, items, is_plain: index == 0 });
                }
                _ => {
                    let option = OwnOption::named(name).ok_or(UNKNOWN_ARGUMENT)?;
                    (option.set)(&mut new, value()?)?;
                    index += 2;
                }
            }
        }
        Err(Failure::Arity)
    }
}

/// True if a call has an option before ITEMS that RedisBloom does not know.
pub fn has_own(args: Args) -> bool {
    let mut before_items = args.iter().take_while(|arg| !arg.is("ITEMS"));
    before_items.any(|arg| OwnOption::named(arg).is_some())
}

/// The value of an option of CF.RESERVE; none if the option is not given.
fn named(call: Call, name: &str, least: u64, most: u64) -> Result<Option<u64>, Failure> {
    let mut args = [call.key].into_iter().chain(call.rest.iter()).skip_while(|arg| !arg.is(name));
    if args.next().is_none() {
        return Ok(None);
    }
    let given = args.next().and_then(Arg::integer);
    let given = given.ok_or_else(|| Failure::Formatted(format!("Couldn't parse {name}")))?;
    let value = u64::try_from(given).ok().filter(|n| (least..=most).contains(n));
    value.map(Some).ok_or_else(|| {
        Failure::Formatted(format!("{name}: value must be in the range [{least}, {most}]"))
    })
}

/// A capacity in range. RedisBloom before 8 had no upper limit.
fn capacity(given: i64, least: u64, is_redisbloom: bool) -> Option<u64> {
    let range = if is_redisbloom { 1..=u64::MAX } else { least..=MAX_CF_CAPACITY };
    u64::try_from(given).ok().filter(|n| range.contains(n))
}

/// An expansion as filters store it: 0, or a power of two.
fn rounded(expansion: u16) -> u16 {
    if expansion == 0 { 0 } else { expansion.next_power_of_two() }
}
