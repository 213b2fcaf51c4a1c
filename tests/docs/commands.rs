//! The pages of docs/reference/commands: every command that the module registers has one, and what
//! it says of the syntax, the complexity and the access is what servers say.

use std::collections::BTreeSet;

use bloomline_harness::{Client, Kind, Setup, for_each_server, for_newest_servers, report_missing};
use redis::Value;

use crate::pages;
use crate::sessions::sessions;

const FOLDER: &str = "docs/reference/commands/";

/// The sections of every page, in this order.
const SECTIONS: [&str; 7] =
    ["Syntax", "Arguments", "Reply", "Errors", "Example", "Notes", "See also"];

/// The pages of commands, each as the command's name and the text.
fn command_pages() -> Vec<(String, String)> {
    let name = |page: &str| Some(page.strip_prefix(FOLDER)?.strip_suffix(".md")?.to_uppercase());
    let pages = pages::all().into_iter();
    pages
        .filter_map(|(page, text)| Some((name(&page)?, text)))
        .filter(|(name, _)| name != "README")
        .collect()
}

/// The lines of BF.HELP.
fn help(client: &mut Client) -> Vec<String> {
    let Value::Array(lines) = client.call("BF.HELP") else { panic!("BF.HELP is an array") };
    lines.iter().map(text_of).collect()
}

fn text_of(value: &Value) -> String {
    match value {
        Value::SimpleString(text) => text.clone(),
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => panic!("{other:?} is no text"),
    }
}

/// The elements of an array or a set.
fn elements(value: &Value) -> &[Value] {
    match value {
        Value::Array(elements) | Value::Set(elements) => elements,
        other => panic!("{other:?} is no array"),
    }
}

/// The value of a name in an array of names and values.
fn field<'a>(value: &'a Value, name: &str) -> &'a Value {
    let pair = elements(value).chunks(2).find(|pair| text_of(&pair[0]) == name);
    &pair.unwrap_or_else(|| panic!("no {name} in {value:?}"))[1]
}

/// A text with one blank between words.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text of the section `Syntax`, with one blank between words. A line may end after a `|`.
fn syntax_section(text: &str) -> String {
    let (_, section) = text.split_once("\n## Syntax\n").expect("a section Syntax");
    words(section.split_once("\n## ").expect("a next section").0).replace("| ", "|")
}

/// The names in an array of names, each as code: `@read` `@fast`.
fn as_code(names: impl Iterator<Item = String>) -> BTreeSet<String> {
    names.map(|name| format!("`{name}`")).collect()
}

/// The names that a line of the section Syntax shows as code.
fn code_in_line(text: &str, begin: &str) -> BTreeSet<String> {
    let line = text.lines().find(|line| line.starts_with(begin)).expect(begin);
    line.split('`').skip(1).step_by(2).map(|name| format!("`{name}`")).collect()
}

#[test]
fn every_command_has_a_page_with_all_sections() {
    for_newest_servers(|kind| {
        let server = Setup::new().start(kind);
        let list = server.resp2().call("COMMAND LIST FILTERBY MODULE bf");
        let registered: BTreeSet<_> =
            elements(&list).iter().map(|name| text_of(name).to_uppercase()).collect();
        let described: BTreeSet<_> = command_pages().into_iter().map(|(name, _)| name).collect();
        assert_eq!(described, registered);
    });
    for (name, text) in command_pages() {
        assert!(text.starts_with(&format!("# {name}\n")), "the title of {name}");
        let sections: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(sections, SECTIONS, "{name}");
        let sessions = sessions(&text);
        let mut commands = sessions.iter().flatten().map(|(command, _)| command);
        let is_run = commands.any(|command| command.split(' ').next() == Some(&name));
        assert!(is_run, "no session of the page runs {name}");
    }
}

#[test]
fn every_command_is_in_the_table_of_commands() {
    let index = pages::all().into_iter().find(|(page, _)| page == &format!("{FOLDER}README.md"));
    let (_, index) = index.expect("README.md");
    for (name, _) in command_pages() {
        let row = format!("\n| [{name}]({}.md) |", name.to_lowercase());
        assert!(index.contains(&row), "no row of {name}");
    }
}

#[test]
fn syntax_on_the_pages_is_that_of_bf_help() {
    for_newest_servers(|kind| {
        let server = Setup::new().start(kind);
        let lines = help(&mut server.resp2());
        for (name, text) in command_pages() {
            let is_its_line = |line: &&String| line.split(' ').next() == Some(&name);
            let line = lines.iter().find(is_its_line).expect(&name);
            let section = syntax_section(&text);
            assert!(section.starts_with(&format!("``` {line} ```")), "{line}\n{section}");
        }
    });
}

#[test]
fn complexity_and_access_on_the_pages_are_those_of_servers() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            report_missing(kind, "COMMAND DOCS");
            return;
        }
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (name, text) in command_pages() {
            let docs = client.call(&format!("COMMAND DOCS {name}"));
            let complexity = text_of(field(&elements(&docs)[1], "complexity"));
            let section = syntax_section(&text);
            assert!(
                section.contains(&format!("* Complexity: {complexity}.")),
                "{name}: {complexity}"
            );
            assert_access(kind, &mut client, &name, &text);
        }
    });
}

/// Compares the categories and the flags of the keys with those of COMMAND INFO.
fn assert_access(kind: &Kind, client: &mut Client, name: &str, text: &str) {
    let info = client.call(&format!("COMMAND INFO {name}"));
    let info = elements(&elements(&info)[0]);
    if kind.has_acl_categories() {
        let categories = as_code(elements(&info[6]).iter().map(text_of));
        assert_eq!(code_in_line(text, "* [ACL]"), categories, "{name} on {}", kind.name);
    }
    let specs = elements(&info[8]).iter();
    let flags = specs.flat_map(|spec| elements(field(spec, "flags")).iter().map(text_of));
    assert_eq!(code_in_line(text, "* Key:"), as_code(flags), "{name} on {}", kind.name);
}
