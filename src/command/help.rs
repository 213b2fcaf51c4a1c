//! BF.HELP: the table of commands, as people read it.

use std::ffi::CString;

use super::handler::{Call, Handler};
use super::table::COMMANDS;
use super::text::Failure;
use crate::server::docs::{Kind, Takes};
use crate::server::register::Command;

/// BF.HELP
pub struct Help;

impl Handler for Help {
    const LEAST: usize = 1;
    const MOST: usize = 1;

    fn run(call: Call) -> Result<(), Failure> {
        let lines = lines();
        call.context.array(lines.len());
        for line in lines {
            // The texts are C's, so there is no zero byte in them.
            call.context.simple(&CString::new(line).unwrap_or_default());
        }
        Ok(())
    }
}

/// The reply in the form of the server's own HELP: what is typed, and sentences below it, indented.
fn lines() -> Vec<String> {
    let mut lines = vec!["BF.<command> [<key> [<arg> ...]]. Commands are:".to_owned()];
    for command in &COMMANDS {
        lines.push(syntax(command));
        lines.push(format!("    {}.", command.summary.to_string_lossy()));
        lines.push(format!("    {}", command.hint.to_string_lossy()));
    }
    lines
}

/// `BF.ADD <key> <item>`
fn syntax(command: &Command) -> String {
    let name = command.name.to_string_lossy().to_uppercase();
    command.takes.iter().fold(name, |line, takes| line + " " + &argument(takes))
}

/// One argument: `<key>`, `[EXPANSION <expansion>]`, `<item> [<item> ...]`.
fn argument(takes: &Takes) -> String {
    let value = match takes.kind {
        Kind::Token => String::new(),
        Kind::OneOf(choices) => choices.iter().map(argument).collect::<Vec<_>>().join("|"),
        _ => format!("<{}>", takes.name.to_string_lossy()),
    };
    let several = if takes.multiple { format!(" [{value} ...]") } else { String::new() };
    let token = takes.token.map(|token| token.to_string_lossy()).unwrap_or_default();
    let blank = if token.is_empty() || value.is_empty() { "" } else { " " };
    let written = format!("{token}{blank}{value}{several}");
    if takes.optional { format!("[{written}]") } else { written }
}

#[cfg(test)]
mod tests {
    use super::{COMMANDS, lines};

    #[test]
    fn every_command_of_the_table_is_explained_in_lines_that_fit_a_terminal() {
        let lines = lines();
        for command in &COMMANDS {
            let name = command.name.to_str().unwrap_or_default().to_uppercase();
            let is_its_own = |line: &&String| line.split(' ').next() == Some(&name);
            assert_eq!(lines.iter().filter(is_its_own).count(), 1, "{name}");
            assert!(!command.hint.is_empty() && !command.summary.is_empty(), "{name}");
        }
        assert_eq!(lines.len(), 1 + 3 * COMMANDS.len());
        for line in &lines {
            assert!(line.chars().count() <= 160 && !line.contains(char::is_control), "{line}");
        }
    }

    #[test]
    fn arguments_are_written_as_they_are_typed() {
        for line in [
            "BF.RESERVE <key> <error_rate> <capacity> [EXPANSION <expansion>] [NONSCALING] [LAYOUT BLOOMLINE|REDISBLOOM]",
            "BF.MADD <key> <item> [<item> ...]",
            "BF.CARD <key>",
            "BF.HELP",
        ] {
            assert!(lines().iter().any(|found| found == line), "{line}");
        }
    }
}
