//! Options of the commands that create filters.
//!
//! Each family has a table of them. Parsing, COMMAND DOCS and the syntax of HELP follow from it.

use std::ffi::CStr;

use super::error::{Failure, unknown_argument};
use super::syntax::KEY;
use crate::policy::layout::{CHOICES, CUCKOO_CHOICES, LayoutRow};
use crate::server::args::{Arg, Args};
use crate::server::command_docs::{ArgKind, ArgSpec};
use bloomline_core::host::MAX_WINDOW_MILLIS;

/// The largest number of seconds for WINDOW and TTL.
const MAX_SECONDS: u64 = MAX_WINDOW_MILLIS / 1000;

/// A command that takes options.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CreateCommand {
    /// BF.RESERVE, CF.RESERVE
    Reserve,
    /// BF.INSERT, CF.INSERT, CF.INSERTNX
    Insert,
}

/// The value of an option, or the reply if the call ends before it.
pub type Value<'a> = Result<Arg<'a>, Failure>;

/// An option, which is set in a `P`.
pub struct CreateOption<P: 'static> {
    /// Its name as the token, and its value.
    pub docs: ArgSpec,
    /// What COMMAND DOCS shows of it; none if the option before it shows both.
    shown: Option<ArgSpec>,
    /// True if RedisBloom does not know it.
    pub is_own: bool,
    /// The command that takes it; none if both do.
    only: Option<CreateCommand>,
    /// Sets the option. The argument is its value, or its name if it has none.
    pub set: fn(&mut P, Value) -> Result<(), Failure>,
}

impl<P> CreateOption<P> {
    /// An option that RedisBloom knows.
    pub const fn known(docs: ArgSpec, set: fn(&mut P, Value) -> Result<(), Failure>) -> Self {
        Self { docs, shown: Some(docs), is_own: false, only: None, set }
    }

    /// An option that RedisBloom does not know.
    pub const fn own(docs: ArgSpec, set: fn(&mut P, Value) -> Result<(), Failure>) -> Self {
        Self { is_own: true, ..Self::known(docs, set) }
    }

    pub const fn only_of(self, command: CreateCommand) -> Self {
        Self { only: Some(command), ..self }
    }

    /// The option as COMMAND DOCS shows it.
    pub const fn shown_as(self, shown: Option<ArgSpec>) -> Self {
        Self { shown, ..self }
    }

    /// True if the command takes the option.
    pub const fn is_of(&self, command: CreateCommand) -> bool {
        match self.only {
            None => true,
            Some(only) => only as u8 == command as u8,
        }
    }

    pub fn is_named(&self, name: &CStr) -> bool {
        self.docs.token == Some(name)
    }

    /// The number of its arguments: its name, and its value if it has one.
    pub fn len(&self) -> usize {
        1 + usize::from(!matches!(self.docs.kind, ArgKind::Token))
    }

    /// Sets the option whose name is the argument at `index`, and moves `index` behind its value.
    ///
    /// # Errors
    ///
    /// The error reply.
    pub fn read(&self, to: &mut P, args: Args, index: &mut usize) -> Result<(), Failure> {
        let value = args.get(*index + self.len() - 1).ok_or(Failure::Arity);
        *index += self.len();
        (self.set)(to, value)
    }
}

/// The option of a command that an argument names.
pub fn named<P>(
    table: &'static [CreateOption<P>],
    arg: Arg,
    command: CreateCommand,
) -> Option<&'static CreateOption<P>> {
    table.iter().find(|option| option.docs.has_token(arg) && option.is_of(command))
}

/// The options before ITEMS that RedisBloom does not know.
pub fn own<'a, P>(
    table: &'static [CreateOption<P>],
    args: Args<'a>,
) -> impl Iterator<Item = &'static CreateOption<P>> + use<'a, P> {
    let before_items = args.iter().take_while(|arg| !arg.is("ITEMS"));
    let option = |arg| table.iter().find(|option| option.docs.has_token(arg));
    before_items.filter_map(option).filter(|option| option.is_own)
}

/// The arguments of a command as COMMAND DOCS shows them: its options, and what is around them.
#[expect(clippy::indexing_slicing, reason = "computed by the compiler")]
pub const fn syntax<P, const N: usize>(
    before: &[ArgSpec],
    table: &[CreateOption<P>],
    command: CreateCommand,
    after: &[ArgSpec],
) -> [ArgSpec; N] {
    let (mut args, mut len, mut index) = ([KEY; N], 0, 0);
    while index < before.len() + table.len() + after.len() {
        let arg = if index < before.len() {
            Some(before[index])
        } else if index - before.len() < table.len() {
            let option = &table[index - before.len()];
            if option.is_of(command) { option.shown } else { None }
        } else {
            Some(after[index - before.len() - table.len()])
        };
        if let Some(arg) = arg {
            args[len] = arg;
            len += 1;
        }
        index += 1;
    }
    assert!(len == N, "the number of arguments");
    args
}

pub const CAPACITY: ArgSpec = ArgSpec::optional(c"capacity", c"CAPACITY", ArgKind::Integer);
pub const ERROR: ArgSpec = ArgSpec::optional(c"error", c"ERROR", ArgKind::Number);
pub const EXPANSION: ArgSpec = ArgSpec::optional(c"expansion", c"EXPANSION", ArgKind::Integer);
pub const NOCREATE: ArgSpec = ArgSpec::optional(c"nocreate", c"NOCREATE", ArgKind::Token);
pub const SEED: ArgSpec = ArgSpec::optional(c"seed", c"SEED", ArgKind::Integer);
pub const TTL: ArgSpec = ArgSpec::optional(c"ttl", c"TTL", ArgKind::Integer);
pub const LAYOUT: ArgSpec = layout_of(CHOICES);
/// LAYOUT name, for cuckoo filters
pub const CUCKOO_LAYOUT: ArgSpec = layout_of(CUCKOO_CHOICES);

const fn layout_of(choices: &'static [ArgSpec]) -> ArgSpec {
    ArgSpec::optional(c"layout", c"LAYOUT", ArgKind::OneOf(choices))
}

/// The row of the layout of a name.
///
/// # Errors
///
/// The error reply.
pub fn layout(name: Arg) -> Result<&'static LayoutRow, Failure> {
    LayoutRow::named(name).ok_or_else(|| unknown_argument(name))
}

/// The seed of a filter.
///
/// # Errors
///
/// The error reply.
pub fn seed(arg: Arg) -> Result<u64, Failure> {
    Ok(arg.unsigned().ok_or(c"ERR seed must be in the range [0, 18446744073709551615]")?)
}

/// A target rate above 0 and below 1. Above `most`, which is 0.25 in RedisBloom, it becomes that.
///
/// # Errors
///
/// The first reply if the text is not a number, the second if it is out of range.
pub fn error_rate(
    arg: Arg,
    most: f64,
    not_a_number: &'static CStr,
    out_of_range: &'static CStr,
) -> Result<f64, Failure> {
    let rate = arg.number().ok_or(not_a_number)?;
    if rate > 0.0 && rate < 1.0 { Ok(rate.min(most)) } else { Err(out_of_range.into()) }
}

/// The value of TTL in milliseconds, after which the key expires.
///
/// # Errors
///
/// The error reply: the value is out of range.
pub fn ttl(arg: Arg) -> Result<u64, Failure> {
    millis(arg, "TTL")
}

/// Seconds as milliseconds.
///
/// # Errors
///
/// The error reply: the number called `name` is out of range.
pub fn millis(arg: Arg, name: &str) -> Result<u64, Failure> {
    let seconds = arg.integer().and_then(|given| u64::try_from(given).ok());
    seconds.filter(|seconds| (1..=MAX_SECONDS).contains(seconds)).map(|n| n * 1000).ok_or_else(
        || {
            Failure::Formatted(format!(
                "ERR {name} must be in the range [1, {MAX_SECONDS}] seconds"
            ))
        },
    )
}
