//! The pages of docs/reference/commands: every command that the module registers is on one, and
//! what it says of the syntax, the complexity and the access is what servers say.

use std::collections::BTreeSet;
use std::path::Path;

use bloomline_harness::{Client, Kind, Setup, for_each_server, for_newest_servers, report_missing};
use redis::Value;

use crate::pages;
use crate::sessions::sessions;

const FOLDER: &str = "docs/reference/commands/";

/// What the names of the commands of each family begin with.
const FAMILIES: [&str; 2] = ["BF.", "CF."];

/// The page of what the commands share, which also has BF.HELP and CF.HELP.
const INDEX: &str = "README.md";

/// The sections of every page, in this order.
const SECTIONS: [&str; 7] =
    ["Syntax", "Arguments", "Reply", "Errors", "Example", "Notes", "See also"];

/// A page of one command, or of one and its variants.
struct Page {
    /// Below the folder.
    file: String,
    text: String,
    commands: Vec<String>,
}

/// All pages with the syntax of a command.
fn command_pages() -> Vec<Page> {
    let mut pages: Vec<_> = pages::all()
        .into_iter()
        .filter_map(|(path, text)| Some((path.strip_prefix(FOLDER)?.to_owned(), text)))
        .map(|(file, text)| Page { commands: commands_of(&file, &text), file, text })
        .collect();
    pages.sort_by(|a, b| a.file.cmp(&b.file));
    pages
}

/// The commands in the title of a page, or in the titles of sections of the index.
fn commands_of(file: &str, text: &str) -> Vec<String> {
    let mark = if file == INDEX { "## " } else { "# " };
    let titles = text.lines().filter_map(|line| line.strip_prefix(mark));
    let of_commands = titles.filter(|title| FAMILIES.iter().any(|name| title.starts_with(name)));
    of_commands.flat_map(|title| title.split(", ")).map(str::to_owned).collect()
}

/// All commands on the pages, each with its name and its syntax: the block of code that begins with
/// the name, and the list below it.
fn commands() -> Vec<(String, String)> {
    let mut commands = Vec::new();
    for page in command_pages() {
        for name in &page.commands {
            commands.push((name.clone(), syntax_of(&page.text, name)));
        }
    }
    commands
}

fn syntax_of(text: &str, name: &str) -> String {
    let is_its_block = |block: &&str| block.split_whitespace().next() == Some(name);
    let mut blocks = text.split("\n```\n");
    let block = blocks.by_ref().find(is_its_block).unwrap_or_else(|| panic!("no block of {name}"));
    let list = blocks.next().unwrap_or_else(|| panic!("nothing below the block of {name}"));
    let list = list.split("\n## ").next().expect("a first part");
    format!("```\n{block}\n```\n{list}\n")
}

/// The lines of BF.HELP and CF.HELP.
fn help(client: &mut Client) -> Vec<String> {
    let lines = |family: &str| match client.call(&format!("{family}HELP")) {
        Value::Array(lines) => lines,
        other => panic!("{family}HELP is no array: {other:?}"),
    };
    FAMILIES.into_iter().flat_map(lines).map(|line| text_of(&line)).collect()
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

/// The names in an array of names, each as code: `@read` `@fast`.
fn as_code(names: impl Iterator<Item = String>) -> BTreeSet<String> {
    names.map(|name| format!("`{name}`")).collect()
}

/// The names that a line of the syntax shows as code.
fn code_in_line(text: &str, begin: &str) -> BTreeSet<String> {
    let line = text.lines().find(|line| line.starts_with(begin)).expect(begin);
    line.split('`').skip(1).step_by(2).map(|name| format!("`{name}`")).collect()
}

#[test]
fn every_command_has_a_page_with_all_sections() {
    let pages = command_pages();
    for_newest_servers(|kind| {
        let server = Setup::new().start(kind);
        let list = server.resp2().call("COMMAND LIST FILTERBY MODULE bf");
        // A name after an underscore is that of a command which no user calls.
        let names = elements(&list).iter().map(|name| text_of(name).to_uppercase());
        let registered: BTreeSet<_> = names.filter(|name| !name.contains('_')).collect();
        let described: Vec<_> = pages.iter().flat_map(|page| page.commands.clone()).collect();
        let once: BTreeSet<_> = described.iter().cloned().collect();
        assert_eq!(once.len(), described.len(), "a command is on one page: {described:?}");
        assert_eq!(once, registered);
    });
    for Page { file, text, commands } in pages {
        if file != INDEX {
            let sections: Vec<_> =
                text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
            assert_eq!(sections, SECTIONS, "{file}");
            let first = commands.first().unwrap_or_else(|| panic!("no command in {file}"));
            assert_eq!(file, format!("{}.md", first.to_lowercase()));
        }
        let sessions = sessions(&text);
        let typed = |name: &str| {
            let mut commands = sessions.iter().flatten().map(|(command, _)| command);
            commands.any(|command| command.split(' ').next() == Some(name))
        };
        for name in &commands {
            assert!(typed(name), "no session of {file} runs {name}");
            // A page of several commands says which reply is whose.
            let reply = text.split_once("\n## Reply\n").map(|(_, reply)| reply);
            let reply = reply.and_then(|reply| reply.split("\n## ").next()).unwrap_or(name);
            assert!(commands.len() == 1 || reply.contains(name), "no reply of {name} in {file}");
        }
    }
}

#[test]
fn every_command_is_in_the_table_of_commands() {
    let pages = command_pages();
    let index = pages.iter().find(|page| page.file == INDEX).expect("the index");
    for Page { file, commands, .. } in &pages {
        let link = if file == INDEX { "](#".to_owned() } else { format!("]({file})") };
        for name in commands {
            let is_its_row = |row: &str| {
                let cell = row.strip_prefix("| [").and_then(|row| row.split(" |").next());
                cell.is_some_and(|cell| {
                    let names = cell.split(']').next().expect("the text of the link");
                    cell.contains(&link) && names.split(", ").any(|shown| shown == name)
                })
            };
            assert!(index.text.lines().any(is_its_row), "no row of {name}");
        }
    }
}

#[test]
fn syntax_on_the_pages_is_that_of_help() {
    for_newest_servers(|kind| {
        let server = Setup::new().start(kind);
        let lines = help(&mut server.resp2());
        let listed = lines.iter().filter(|line| !line.starts_with(' ')).count();
        assert_eq!(listed, commands().len() + FAMILIES.len(), "{lines:#?}");
        for (name, syntax) in commands() {
            let is_its_line = |line: &&String| line.split(' ').next() == Some(&name);
            let line = lines.iter().find(is_its_line).expect(&name);
            // A line of the page may end after a `|`.
            let shown = words(&syntax).replace("| ", "|");
            assert!(shown.starts_with(&format!("``` {line} ```")), "{line}\n{shown}");
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
        for (name, syntax) in commands() {
            let docs = client.call(&format!("COMMAND DOCS {name}"));
            let complexity = text_of(field(&elements(&docs)[1], "complexity"));
            assert!(
                words(&syntax).contains(&format!("* Complexity: {complexity}.")),
                "{name}: {complexity}"
            );
            assert_access(kind, &mut client, &name, &syntax);
        }
    });
}

#[test]
fn users_in_the_section_of_access_are_accepted() {
    let page = pages::read(&Path::new(FOLDER).join(INDEX));
    let users = |rule: &&str| rule.starts_with("ACL SETUSER");
    let users: Vec<_> = page.lines().filter(users).collect();
    assert_eq!(users.len(), 4, "two users for servers with @bloom, and two for the others");
    Setup::new().on_each_server(|mut client, server| {
        let ours = if server.kind.has_acl_categories() { &users[..2] } else { &users[2..] };
        ours.iter().for_each(|rule| client.ok(rule));
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
