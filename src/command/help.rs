//! The text of BF.HELP and CF.HELP, in the form of the server's own HELP commands.

use std::ffi::CString;

use crate::server::command::Command;
use crate::server::command_docs::{ArgKind, ArgSpec};
use crate::server::context::Context;

/// Replies with the lines of a family of commands.
pub fn reply(to: Context, family: &str, commands: &[Command]) {
    let lines = lines(family, commands);
    to.array(lines.len());
    for line in lines {
        // The lines consist of C strings, so they contain no zero byte.
        to.simple(&CString::new(line).unwrap_or_default());
    }
}

/// The lines of the reply: the syntax of each command, and below it indented sentences.
pub fn lines(family: &str, commands: &[Command]) -> Vec<String> {
    let mut lines = vec![format!("{family}.<command> [<key> [<arg> ...]]. Commands are:")];
    for command in commands {
        lines.push(syntax(command));
        lines.push(format!("    {}.", command.summary.to_string_lossy()));
        lines.push(format!("    {}", command.hint.to_string_lossy()));
    }
    lines
}

/// The syntax of a command: `BF.ADD <key> <item>`.
fn syntax(command: &Command) -> String {
    let name = command.name.to_string_lossy().to_uppercase();
    command.args.iter().fold(name, |line, arg| line + " " + &argument(arg))
}

/// The syntax of an argument: `<key>`, `[EXPANSION <expansion>]`, `<item> [<item> ...]`.
fn argument(arg: &ArgSpec) -> String {
    let value = match arg.kind {
        ArgKind::Token => String::new(),
        ArgKind::OneOf(choices) => choices.iter().map(argument).collect::<Vec<_>>().join("|"),
        _ => format!("<{}>", arg.name.to_string_lossy()),
    };
    let repeated = if arg.multiple { format!(" [{value} ...]") } else { String::new() };
    let token = arg.token.map(|token| token.to_string_lossy()).unwrap_or_default();
    let blank = if token.is_empty() || value.is_empty() { "" } else { " " };
    let syntax = format!("{token}{blank}{value}{repeated}");
    if arg.optional { format!("[{syntax}]") } else { syntax }
}
