//! The table of the options of BF.RESERVE and BF.INSERT.

use super::options::Parser;
use crate::command::option::CreateCommand::Insert;
use crate::command::option::{self, CreateOption};
use crate::server::command_docs::{ArgKind, ArgSpec};

/// The options, in the order of COMMAND DOCS.
pub static OPTIONS: [CreateOption<Parser>; 14] = [
    CreateOption::known(option::CAPACITY, Parser::capacity).only_of(Insert),
    CreateOption::known(option::ERROR, Parser::error).only_of(Insert),
    CreateOption::known(option::EXPANSION, Parser::expansion),
    CreateOption::known(option::NOCREATE, Parser::no_create).only_of(Insert),
    CreateOption::known(
        ArgSpec::optional(c"nonscaling", c"NONSCALING", ArgKind::Token),
        Parser::non_scaling,
    ),
    CreateOption::own(option::LAYOUT, Parser::layout),
    CreateOption::own(WINDOW, |parser: &mut Parser, value| {
        parser.options.window.set_window(value?)
    })
    .shown_as(Some(WINDOW_OR_LAST)),
    CreateOption::own(LAST, |parser: &mut Parser, _| {
        parser.options.window.is_last = true;
        Ok(())
    })
    .shown_as(None),
    CreateOption::own(
        ArgSpec::optional(c"generations", c"GENERATIONS", ArgKind::Integer),
        |parser: &mut Parser, value| parser.options.window.set_generations(value?),
    ),
    CreateOption::own(
        ArgSpec::optional(c"norefresh", c"NOREFRESH", ArgKind::Token),
        |parser: &mut Parser, _| {
            parser.options.window.no_refresh = true;
            Ok(())
        },
    ),
    CreateOption::own(option::TTL, |parser: &mut Parser, value| {
        parser.options.ttl = Some(option::ttl(value?)?);
        Ok(())
    }),
    CreateOption::own(option::SEED, Parser::seed),
    CreateOption::own(
        ArgSpec::optional(c"tightening", c"TIGHTENING", ArgKind::Number),
        |parser: &mut Parser, value| parser.options.valkey.set_tightening(value?),
    ),
    CreateOption::own(
        ArgSpec::optional(c"validatescaleto", c"VALIDATESCALETO", ArgKind::Integer),
        |parser: &mut Parser, value| parser.options.valkey.set_scale_to(value?),
    ),
];

const WINDOW: ArgSpec = ArgSpec::optional(c"seconds", c"WINDOW", ArgKind::Integer);
const LAST: ArgSpec = ArgSpec::optional(c"last", c"LAST", ArgKind::Token);
const WINDOW_OR_LAST: ArgSpec = ArgSpec {
    optional: true,
    ..ArgSpec::required(
        c"window",
        ArgKind::OneOf(&[
            ArgSpec { optional: false, ..WINDOW },
            ArgSpec { optional: false, ..LAST },
        ]),
    )
};
