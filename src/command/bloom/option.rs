//! The table of the options of BF.RESERVE and BF.INSERT: for each its name, its value, where it
//! goes, and what COMMAND DOCS says. [`syntax`](super::syntax) names the options of each command.

use super::options::{Parser, Value};
use crate::command::error::Failure;
use crate::command::option;
use crate::server::args::{Arg, Args};
use crate::server::command_docs::{ArgSpec, Kind};

/// An option.
pub struct CreateOption {
    /// Its name as the token, and its value.
    pub docs: ArgSpec,
    /// True if RedisBloom does not know it.
    is_own: bool,
    /// True if BF.RESERVE takes it; BF.INSERT takes all.
    is_of_reserve: bool,
    /// Sets the option. The argument is its value, or its name if it has none.
    pub set: fn(&mut Parser, Value) -> Result<(), Failure>,
}

/// CAPACITY n, of BF.INSERT
pub const CAPACITY: CreateOption =
    CreateOption { is_of_reserve: false, ..known(option::CAPACITY, Parser::capacity) };
/// ERROR rate, of BF.INSERT
pub const ERROR: CreateOption =
    CreateOption { is_of_reserve: false, ..known(option::ERROR, Parser::error) };
/// EXPANSION n
pub const EXPANSION: CreateOption =
    known(ArgSpec::optional(c"expansion", c"EXPANSION", Kind::Integer), Parser::expansion);
/// NOCREATE, of BF.INSERT
pub const NOCREATE: CreateOption =
    CreateOption { is_of_reserve: false, ..known(option::NOCREATE, Parser::no_create) };
/// NONSCALING
pub const NONSCALING: CreateOption =
    known(ArgSpec::optional(c"nonscaling", c"NONSCALING", Kind::Token), Parser::non_scaling);
/// LAYOUT name
pub const LAYOUT: CreateOption = own(option::LAYOUT, Parser::layout);
/// SEED n
pub const SEED: CreateOption = own(option::SEED, Parser::seed);
/// WINDOW seconds
pub const WINDOW: CreateOption =
    own(ArgSpec::optional(c"seconds", c"WINDOW", Kind::Integer), |parser, value| {
        parser.options.lifetime.set_window(value?)
    });
/// LAST
pub const LAST: CreateOption =
    own(ArgSpec::optional(c"last", c"LAST", Kind::Token), |parser, _| {
        parser.options.lifetime.is_last = true;
        Ok(())
    });
/// GENERATIONS g
pub const GENERATIONS: CreateOption =
    own(ArgSpec::optional(c"generations", c"GENERATIONS", Kind::Integer), |parser, value| {
        parser.options.lifetime.set_generations(value?)
    });
/// NOREFRESH
pub const NOREFRESH: CreateOption =
    own(ArgSpec::optional(c"norefresh", c"NOREFRESH", Kind::Token), |parser, _| {
        parser.options.lifetime.no_refresh = true;
        Ok(())
    });
/// TTL seconds
pub const TTL: CreateOption =
    own(option::TTL, |parser, value| parser.options.lifetime.set_ttl(value?));

/// All of them.
const ALL: [&CreateOption; 12] = [
    &CAPACITY,
    &ERROR,
    &EXPANSION,
    &NOCREATE,
    &NONSCALING,
    &LAYOUT,
    &SEED,
    &WINDOW,
    &LAST,
    &GENERATIONS,
    &NOREFRESH,
    &TTL,
];

impl CreateOption {
    /// The option of BF.INSERT that an argument names.
    pub fn named(arg: Arg) -> Option<&'static Self> {
        ALL.iter().find(|option| option.docs.has_token(arg)).copied()
    }

    /// The option of BF.RESERVE that an argument names.
    pub fn of_reserve(arg: Arg) -> Option<&'static Self> {
        Self::named(arg).filter(|option| option.is_of_reserve)
    }

    /// The number of its arguments: its name, and its value if it has one.
    pub fn len(&self) -> usize {
        1 + usize::from(!matches!(self.docs.kind, Kind::Token))
    }
}

/// True if there is an option before ITEMS that RedisBloom does not know.
pub fn has_own(args: Args) -> bool {
    own_options(args).next().is_some()
}

/// The number of arguments before ITEMS that name options which RedisBloom does not know, or are
/// their values.
pub fn own_len(args: Args) -> usize {
    own_options(args).map(CreateOption::len).sum()
}

fn own_options(args: Args<'_>) -> impl Iterator<Item = &'static CreateOption> {
    let before_items = args.iter().take_while(|arg| !arg.is("ITEMS"));
    before_items.filter_map(CreateOption::named).filter(|option| option.is_own)
}

/// An option that RedisBloom knows.
const fn known(docs: ArgSpec, set: fn(&mut Parser, Value) -> Result<(), Failure>) -> CreateOption {
    CreateOption { docs, is_own: false, is_of_reserve: true, set }
}

/// An option that RedisBloom does not know.
const fn own(docs: ArgSpec, set: fn(&mut Parser, Value) -> Result<(), Failure>) -> CreateOption {
    CreateOption { is_own: true, ..known(docs, set) }
}
