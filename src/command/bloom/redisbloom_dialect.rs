//! How RedisBloom reads the options of BF.RESERVE and BF.INSERT, for calls that it replicated or
//! wrote to a file.

use std::iter;

use super::option::OPTIONS;
use super::options::Parser;
use crate::command::error::Failure;
use crate::command::option::CreateOption;
use crate::server::args::{Arg, Args};

/// Reads the options of BF.RESERVE. RedisBloom finds them anywhere, even in the key and the
/// numbers, and ignores all other arguments.
///
/// # Errors
///
/// The error reply.
pub fn reserve(key: Arg, args: Args, parser: &mut Parser) -> Result<(), Failure> {
    let all = || iter::once(key).chain(args.iter());
    if all().any(|arg| arg.is("NONSCALING")) {
        parser.non_scaling(Err(Failure::Arity))?;
    }
    let mut from_expansion = all().skip_while(|arg| !arg.is("EXPANSION"));
    match from_expansion.next() {
        None => Ok(()),
        Some(_) => parser.expansion(from_expansion.next().ok_or(Failure::Arity)),
    }
}

/// What an argument of BF.INSERT before the items is.
pub enum Token {
    Items,
    Option(&'static CreateOption<Parser>),
}

/// What an argument of BF.INSERT is: RedisBloom compares only some of its letters.
pub fn token(arg: Arg) -> Option<Token> {
    let letter = |index| arg.bytes().get(index).map(u8::to_ascii_lowercase);
    let name = match letter(0)? {
        b'i' => return Some(Token::Items),
        b'c' => c"CAPACITY",
        b'e' if letter(1) == Some(b'r') => c"ERROR",
        b'e' => c"EXPANSION",
        b'n' if letter(2) == Some(b'c') => c"NOCREATE",
        b'n' => c"NONSCALING",
        _ => return None,
    };
    OPTIONS.iter().find(|option| option.is_named(name)).map(Token::Option)
}
