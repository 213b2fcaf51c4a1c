//! The options of CF.RESERVE and CF.INSERT. RedisBloom's are read as RedisBloom reads them.

use std::ffi::CStr;

use super::error::{BAD_CAPACITY, INSERTED_CAPACITY, RESERVED_CAPACITY, UNKNOWN_ARGUMENT};
use crate::command::error::{Failure, unknown_argument};
use crate::command::handler::Call;
use crate::command::option::CreateCommand::{Insert as OfInsert, Reserve};
use crate::command::option::{self, CreateOption, Value, error_rate, layout, named, seed};
use crate::command::syntax::{KEY, NAMED_ITEMS};
use crate::policy::defaults::{cuckoo_options, rounded};
use crate::policy::setting::{
    CF_BUCKET_SIZE, CF_ERROR_RATE, CF_INITIAL_SIZE, CF_LAYOUT, MAX_CF_CAPACITY, max_bucket_size,
};
use crate::policy::source::Source;
use crate::server::args::{Arg, Args};
use crate::server::command_docs::{ArgKind, ArgSpec};
use bloomline_core::Layout;
use bloomline_core::host::MAX_ERROR_RATE;
use bloomline_core::host::cuckoo::CuckooOptions;

/// The filter that a call creates.
#[derive(Clone, Copy)]
pub struct NewFilter {
    /// Items of the first table.
    pub capacity: u64,
    /// The parameters that the filter stores.
    pub options: CuckooOptions,
    layout: Option<Layout>,
    error_rate: Option<f64>,
    pub seed: Option<u64>,
    /// When the key expires.
    pub ttl: Option<u64>,
}

/// What the options of a call have set so far.
pub struct Parser {
    new: NewFilter,
    may_create: bool,
    /// True if RedisBloom wrote the call. The settings of the server that replicates it have
    /// allowed its numbers.
    is_redisbloom: bool,
}

/// The options of CF.RESERVE and CF.INSERT, in the order of COMMAND DOCS.
pub static OPTIONS: [CreateOption<Parser>; 9] = [
    CreateOption::known(
        ArgSpec::optional(c"bucketsize", c"BUCKETSIZE", ArgKind::Integer),
        |parser: &mut Parser, value| {
            let most = if parser.is_redisbloom { u8::MAX.into() } else { max_bucket_size() };
            parser.new.options.bucket_size = ranged(value, "BUCKETSIZE", 1, most)? as u8;
            Ok(())
        },
    )
    .only_of(Reserve),
    CreateOption::known(
        ArgSpec::optional(c"maxiterations", c"MAXITERATIONS", ArgKind::Integer),
        |parser: &mut Parser, value| {
            let given = ranged(value, "MAXITERATIONS", 1, u16::MAX.into())?;
            parser.new.options.max_iterations = given as u16;
            Ok(())
        },
    )
    .only_of(Reserve),
    CreateOption::known(option::EXPANSION, |parser: &mut Parser, value| {
        let given = ranged(value, "EXPANSION", 0, 32_768)?;
        parser.new.options.expansion = rounded(given as u16);
        Ok(())
    })
    .only_of(Reserve),
    CreateOption::known(option::CAPACITY, |parser: &mut Parser, value| {
        let given = value?.integer().ok_or(BAD_CAPACITY)?;
        let capacity = capacity(given, 2 * CF_BUCKET_SIZE.integer(), parser.is_redisbloom);
        parser.new.capacity = capacity.ok_or(INSERTED_CAPACITY)?;
        Ok(())
    })
    .only_of(OfInsert),
    CreateOption::known(option::NOCREATE, |parser: &mut Parser, _| {
        parser.may_create = false;
        Ok(())
    })
    .only_of(OfInsert),
    CreateOption::own(option::ERROR, |parser: &mut Parser, value| {
        let rate = error_rate(value?, MAX_ERROR_RATE, c"Bad error rate", c"Bad error rate")?;
        parser.new.error_rate = Some(rate);
        Ok(())
    }),
    CreateOption::own(option::CUCKOO_LAYOUT, |parser: &mut Parser, value| {
        let value = value?;
        let row = layout(value).ok().filter(|row| row.has_cuckoo);
        parser.new.layout = Some(row.ok_or_else(|| unknown_argument(value))?.layout);
        Ok(())
    }),
    CreateOption::own(option::TTL, |parser: &mut Parser, value| {
        parser.new.ttl = Some(option::ttl(value?)?);
        Ok(())
    }),
    CreateOption::own(option::SEED, |parser: &mut Parser, value| {
        parser.new.seed = Some(seed(value?)?);
        Ok(())
    }),
];

pub static RESERVE: [ArgSpec; 9] = option::syntax(
    &[KEY, ArgSpec::required(c"capacity", ArgKind::Integer)],
    &OPTIONS,
    Reserve,
    &[],
);
pub static INSERT: [ArgSpec; 8] = option::syntax(&[KEY], &OPTIONS, OfInsert, &[NAMED_ITEMS]);

impl Parser {
    fn new(is_redisbloom: bool) -> Self {
        Self { new: NewFilter::by_default(), may_create: true, is_redisbloom }
    }
}

impl NewFilter {
    /// The filter of a call without options: that of the settings.
    pub fn by_default() -> Self {
        Self {
            capacity: CF_INITIAL_SIZE.integer(),
            options: cuckoo_options(),
            layout: None,
            error_rate: None,
            seed: None,
            ttl: None,
        }
    }

    /// The layout: that of the option, or of the setting.
    pub fn layout(&self, source: &Source) -> Layout {
        let default = || {
            if source.is_replicated_or_loaded() { Layout::RedisBloom } else { CF_LAYOUT.layout() }
        };
        self.layout.unwrap_or_else(default)
    }

    /// The target rate, in Bloomline's layout.
    pub fn error_rate(&self) -> f64 {
        self.error_rate.unwrap_or_else(|| CF_ERROR_RATE.number())
    }

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
    /// RedisBloom looks for the names of its options among all arguments, the key included, takes
    /// the first of each, and ignores other arguments. Those of a client are refused: a misspelt
    /// option would be lost.
    ///
    /// # Errors
    ///
    /// The error reply.
    pub fn reserved(call: Call) -> Result<Self, Failure> {
        let mut parser = Parser::new(call.source.is_replicated_or_loaded());
        let given = call.rest.get(0).and_then(Arg::integer).ok_or(BAD_CAPACITY)?;
        for name in [c"MAXITERATIONS", c"BUCKETSIZE", c"EXPANSION"] {
            let Some(option) = OPTIONS.iter().find(|option| option.is_named(name)) else {
                continue;
            };
            let args = [call.key].into_iter().chain(call.rest.iter());
            let mut args = args.skip_while(|&arg| !option.docs.has_token(arg));
            if args.next().is_some() {
                (option.set)(&mut parser, args.next().ok_or(Failure::Arity))?;
            }
        }
        let least = 2 * u64::from(parser.new.options.bucket_size);
        let capacity = capacity(given, least, parser.is_redisbloom).ok_or(RESERVED_CAPACITY)?;
        parser.new.capacity = capacity;
        if !parser.is_redisbloom {
            let rest = call.rest.skip(1);
            let mut index = 0;
            while let Some(arg) = rest.get(index) {
                match named(&OPTIONS, arg, Reserve) {
                    Some(option) if option.is_own => option.read(&mut parser, rest, &mut index)?,
                    Some(_) => index += 2,
                    None => return Err(unknown_argument(arg)),
                }
            }
            parser.new.check(call.source)?;
        }
        Ok(parser.new)
    }
}

pub struct InsertArgs<'a> {
    /// The filter to create if the key is missing; none with NOCREATE.
    pub if_missing: Option<NewFilter>,
    /// The items, at least one.
    pub items: Args<'a>,
    /// True if there is no option before ITEMS.
    pub is_plain: bool,
}

impl<'a> InsertArgs<'a> {
    /// Parses `[option ...] ITEMS item [item ...]`. RedisBloom reads the first letter of a name.
    ///
    /// # Errors
    ///
    /// The error reply: that of the first argument that is wrong.
    pub fn parse(call: Call<'a>) -> Result<Self, Failure> {
        let mut parser = Parser::new(call.source.is_replicated_or_loaded());
        let mut index = 0;
        while let Some(name) = call.rest.get(index) {
            if has_first_letter(name, c"ITEMS") {
                let items = call.rest.skip(index + 1);
                if items.is_empty() {
                    return Err(Failure::Arity);
                }
                parser.new.check(call.source)?;
                let if_missing = parser.may_create.then_some(parser.new);
                return Ok(Self { if_missing, items, is_plain: index == 0 });
            }
            let known = |option: &&CreateOption<Parser>| {
                let token = option.docs.token.unwrap_or_default();
                !option.is_own && option.is_of(OfInsert) && has_first_letter(name, token)
            };
            let option = OPTIONS.iter().find(known).or_else(|| named(&OPTIONS, name, OfInsert));
            option.ok_or(UNKNOWN_ARGUMENT)?.read(&mut parser, call.rest, &mut index)?;
        }
        Err(Failure::Arity)
    }
}

/// True if an argument begins with the first letter of a name, in lower or upper case.
fn has_first_letter(arg: Arg, name: &CStr) -> bool {
    let letter = |text: &[u8]| text.first().map(u8::to_ascii_lowercase);
    letter(arg.bytes()) == letter(name.to_bytes())
}

/// The value of an option of CF.RESERVE.
fn ranged(value: Value, name: &str, least: u64, most: u64) -> Result<u64, Failure> {
    let given = value.ok().and_then(Arg::integer);
    let given = given.ok_or_else(|| Failure::Formatted(format!("Couldn't parse {name}")))?;
    let value = u64::try_from(given).ok().filter(|n| (least..=most).contains(n));
    value.ok_or_else(|| {
        Failure::Formatted(format!("{name}: value must be in the range [{least}, {most}]"))
    })
}

/// A capacity in range. RedisBloom before 8 had no upper limit.
fn capacity(given: i64, least: u64, is_redisbloom: bool) -> Option<u64> {
    let range = if is_redisbloom { 1..=u64::MAX } else { least..=MAX_CF_CAPACITY };
    u64::try_from(given).ok().filter(|n| range.contains(n))
}
