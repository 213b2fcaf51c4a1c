//! Reads the arguments of BF.RESERVE and BF.INSERT.

use std::ffi::CStr;

use super::option::OPTIONS;
use super::options::{Dialect, FilterOptions, Parser};
use super::redisbloom_dialect::{self, Token};
use crate::command::error::{Failure, unknown_argument};
use crate::command::option::{self, CreateCommand, CreateOption};
use crate::server::args::{Arg, Args};
use bloomline_core::Layout;

/// Parses `error_rate capacity [option ...]`, with the checks in RedisBloom's order.
///
/// # Errors
///
/// The error reply.
pub fn reserve(key: Arg, args: Args, dialect: Dialect) -> Result<FilterOptions, Failure> {
    let (Some(rate), Some(capacity)) = (args.get(0), args.get(1)) else {
        return Err(Failure::Arity);
    };
    let rest = args.skip(2);
    let mut parser = Parser::new(CreateCommand::Reserve, dialect);
    let mut own = 0;
    if dialect == Dialect::Bloomline {
        parser.find_layout(rest)?;
        own = option::own(&OPTIONS, rest).map(CreateOption::len).sum();
    }
    // RedisBloom's options are at most three arguments.
    if rest.len() > 3 + own {
        return Err(Failure::Arity);
    }
    parser.rate_and_capacity(rate, capacity)?;
    match dialect {
        Dialect::RedisBloom => redisbloom_dialect::reserve(key, args, &mut parser)?,
        Dialect::Bloomline | Dialect::ValkeyBloom => {
            let mut index = 0;
            while let Some(arg) = rest.get(index) {
                let option = option::named(&OPTIONS, arg, CreateCommand::Reserve);
                let option = option.ok_or_else(|| unknown_argument(arg))?;
                option.read(&mut parser, rest, &mut index)?;
            }
        }
    }
    let (options, _) = parser.finish()?;
    Ok(options)
}

pub struct InsertArgs<'a> {
    /// The filter to create if the key is missing, and when it must forget, also if it exists.
    pub options: FilterOptions,
    /// False with NOCREATE.
    pub may_create: bool,
    /// The items. There may be none in valkey-bloom's layout.
    pub items: Args<'a>,
}

impl InsertArgs<'_> {
    /// The filter of a call of valkey-bloom with the options that it writes for a creation. Without
    /// items it can be nothing else. With items it may also be a client's call for an existing
    /// filter, which valkey-bloom replicates verbatim: so it creates one only where there is no
    /// filter in valkey-bloom's layout.
    pub fn creation(&self) -> Option<FilterOptions> {
        let is_creation = self.may_create && self.options.valkey.are_of_creation();
        is_creation.then_some(self.options)
    }
}

/// Parses `[option ...] ITEMS item [item ...]`.
///
/// # Errors
///
/// The error reply.
pub fn insert(args: Args<'_>, dialect: Dialect) -> Result<InsertArgs<'_>, Failure> {
    let mut parser = Parser::new(CreateCommand::Insert, dialect);
    if dialect == Dialect::Bloomline {
        parser.find_layout(args)?;
    }
    // valkey-bloom creates a filter without items.
    let may_lack_items = parser.options.layout == Layout::ValkeyBloom;
    if args.len() < 2 && !may_lack_items {
        return Err(Failure::Arity);
    }
    let mut index = 0;
    while let Some(arg) = args.get(index) {
        match token(arg, dialect).ok_or_else(|| unknown_argument(arg))? {
            Token::Option(option) => option.read(&mut parser, args, &mut index)?,
            Token::Items => {
                let items = args.skip(index + 1);
                if items.is_empty() {
                    return Err(Failure::Arity);
                }
                return parser.insert(items);
            }
        }
    }
    if may_lack_items { parser.insert(args.skip(index)) } else { Err(Failure::Arity) }
}

/// The items of a call to a filter that exists, with options that are not read: all arguments
/// behind the first ITEMS, as valkey-bloom compares it. None if there are no items.
pub fn items_alone(args: Args<'_>) -> Option<InsertArgs<'_>> {
    let index = args.iter().position(|arg| arg.is_in_upper_case("ITEMS"))?;
    let items = args.skip(index + 1);
    let options = FilterOptions::default_for(Dialect::ValkeyBloom);
    (!items.is_empty()).then_some(InsertArgs { options, may_create: false, items })
}

impl Parser {
    fn insert(self, items: Args<'_>) -> Result<InsertArgs<'_>, Failure> {
        let (options, may_create) = self.finish()?;
        Ok(InsertArgs { options, may_create, items })
    }
}

/// What an argument of BF.INSERT before the items is. An option of a client must match as a whole.
fn token(arg: Arg, dialect: Dialect) -> Option<Token> {
    match dialect {
        Dialect::RedisBloom => redisbloom_dialect::token(arg),
        Dialect::Bloomline if arg.is("ITEMS") => Some(Token::Items),
        Dialect::Bloomline => {
            option::named(&OPTIONS, arg, CreateCommand::Insert).map(Token::Option)
        }
        Dialect::ValkeyBloom if arg.is_in_upper_case("ITEMS") => Some(Token::Items),
        Dialect::ValkeyBloom => {
            let is_named = |name: &CStr| arg.is_in_upper_case(&name.to_string_lossy());
            OPTIONS.iter().find(|it| it.docs.token.is_some_and(is_named)).map(Token::Option)
        }
    }
}
