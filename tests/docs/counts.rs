//! Numbers of servers, layouts, commands and settings, wherever a page or a comment counts them,
//! are those of the code.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use bloomline_harness::{Kind, one_per_version, quick, repository};

use crate::{commands, pages, settings};

/// Numbers as words: `ONE_TO_TWENTY[0]` is 1.
const ONE_TO_TWENTY: [&str; 20] = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];

/// Every server that `scripts/servers.sh` can fetch, but the one that moves with its project and is
/// fetched by name only.
fn servers() -> Vec<Kind> {
    let list = Command::new("scripts/servers.sh")
        .arg("--list")
        .current_dir(repository())
        .output()
        .expect("scripts/servers.sh");
    let names = String::from_utf8(list.stdout).expect("names");
    let names = names.lines().filter(|name| *name != "redis-newest");
    names.map(|name| Kind::in_folder(name, Path::new(""))).collect()
}

/// The number of rows of the module's table of layouts that have a line which begins so.
fn layouts(start: &str) -> usize {
    let table = pages::read(Path::new("src/policy/layout.rs"));
    table.lines().filter(|line| line.trim_start().starts_with(start)).count()
}

/// What is counted, and the numbers that are right. Two servers, commands or settings are those of
/// the sentence, and no list of the project has so few.
struct Counts {
    servers: BTreeSet<usize>,
    layouts: usize,
    cuckoo_layouts: usize,
    commands: BTreeSet<usize>,
    settings: BTreeSet<usize>,
}

impl Counts {
    fn of_the_code() -> Self {
        let servers = servers();
        let builds = servers.len();
        let versions = one_per_version(&servers).len();
        let of = |names: &[String], start: &str| {
            names.iter().filter(|name| name.starts_with(start)).count()
        };
        let (commands, settings) = (commands::names(), settings::names());
        Self {
            servers: [builds, versions, quick(&servers).len()].into(),
            layouts: layouts("layout: Layout::"),
            cuckoo_layouts: layouts("has_cuckoo: true"),
            commands: [commands.len(), of(&commands, "BF."), of(&commands, "CF.")].into(),
            settings: [settings.len(), of(&settings, "bf-"), of(&settings, "cf-")].into(),
        }
    }

    /// True if a text that is about cuckoo filters, or not, may count a number of these things.
    fn is_right(&self, number: usize, things: &str, is_about_cuckoo: bool) -> bool {
        match things {
            "layouts" => {
                number < 2
                    || number == self.layouts
                    || is_about_cuckoo && number == self.cuckoo_layouts
            }
            "servers" => number < 3 || self.servers.contains(&number),
            "commands" => number < 3 || self.commands.contains(&number),
            "settings" => number < 3 || self.settings.contains(&number),
            _ => true,
        }
    }
}

/// A number in words or digits. None with a point or a comma, which end a part of the sentence.
fn number(word: &str) -> Option<usize> {
    match word.to_lowercase().as_str() {
        "both" | "either" => Some(2),
        word => {
            let in_words = ONE_TO_TWENTY.iter().position(|number| *number == word);
            in_words.map(|at| at + 1).or_else(|| word.parse().ok())
        }
    }
}

/// The texts of a file that are read as a whole: paragraphs, items of lists, rows of tables, and
/// comments; of programs comments only.
fn texts(path: &Path, file: &str) -> Vec<String> {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let mark = match &*extension {
        "md" => "",
        "rs" | "c" | "js" => "//",
        _ => "#",
    };
    let mut texts = vec![String::new()];
    for line in file.lines() {
        let line = line.trim_start();
        let text = line.strip_prefix(mark).unwrap_or("").trim_start_matches(['/', '!', '#']).trim();
        if text.is_empty() || text.starts_with(['|', '*', '-']) {
            texts.push(String::new());
        }
        if let Some(last) = texts.last_mut() {
            last.push_str(text);
            last.push(' ');
        }
    }
    texts
}

/// The numbers of a text, each with what is counted: one of the next three words.
fn counted(text: &str) -> Vec<(usize, String)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut counted = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(number) = number(word.trim_start_matches(['(', '[', '*'])) else { continue };
        for next in 1..=3 {
            let Some(things) = words.get(at + next) else { break };
            let plain = things.trim_end_matches(|c: char| !c.is_alphanumeric());
            let plain = plain.split(']').next().unwrap_or_default();
            let is_rate = words.get(at + next + 1) == Some(&"per");
            if ["servers", "layouts", "layout", "commands", "settings"].contains(&plain) && !is_rate
            {
                // "Either layout" counts two.
                let things = if number == 2 && plain == "layout" { "layouts" } else { plain };
                counted.push((number, things.to_owned()));
                break;
            }
            if *things != plain {
                break;
            }
        }
    }
    counted
}

#[test]
fn counts_are_those_of_the_code() {
    let (counts, mut wrong, mut found) = (Counts::of_the_code(), Vec::new(), 0);
    for path in pages::files("*") {
        let name = path.display().to_string();
        let extensions = ["md", "rs", "c", "js", "py", "sh", "toml", "example"];
        let is_read = path
            .extension()
            .is_some_and(|extension| extensions.iter().any(|known| extension == *known))
            || ["Makefile", "Dockerfile"].contains(&name.as_str());
        if !is_read {
            continue;
        }
        for text in texts(&path, &pages::read(&path)) {
            let is_about_cuckoo = ["cuckoo", "CF.", "/cf."].iter().any(|mark| {
                text.to_lowercase().contains(&mark.to_lowercase()) || name.contains(mark)
            });
            for (number, things) in counted(&text) {
                found += 1;
                if !counts.is_right(number, &things, is_about_cuckoo) {
                    wrong.push(format!("{name}: {number} {things}: {}", text.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(found > 10, "only {found} counts");
}

/// The versions in the row of a page that begins so: `Redis 6.2, 7.0; Valkey 8.0` as `redis-6.2` …
fn versions(row: &str) -> BTreeSet<String> {
    let (mut versions, mut product) = (BTreeSet::new(), String::new());
    for word in row.split(|c: char| c.is_whitespace() || ",;|".contains(c)) {
        match word {
            "Redis" | "Valkey" => product = word.to_lowercase(),
            _ if word
                .split_once('.')
                .is_some_and(|(a, b)| a.parse::<u32>().is_ok() && b.parse::<u32>().is_ok()) =>
            {
                versions.insert(format!("{product}-{word}"));
            }
            _ => {}
        }
    }
    versions
}

#[test]
fn tested_servers_of_the_pages_are_those_of_the_tests() {
    let servers: BTreeSet<String> = servers().iter().map(|kind| kind.series().to_owned()).collect();
    let (readme, install) =
        (pages::read(Path::new("README.md")), pages::read(Path::new("docs/how-to/install.md")));
    let row = readme.lines().find(|line| line.starts_with("| servers | ")).expect("the row");
    let rows = install.lines().filter(|line| line.contains(" | all tests"));
    let rows = rows.filter_map(|line| line.split(" | ").next());
    for shown in [versions(row), rows.flat_map(versions).collect()] {
        // A name without a minor version stands for the newest one of the series.
        let known = |version: &String| {
            servers.iter().find(|name| version == *name || version.starts_with(&format!("{name}.")))
        };
        let named: BTreeSet<String> = shown.iter().filter_map(known).cloned().collect();
        assert_eq!((named, shown.len()), (servers.clone(), servers.len()), "{shown:?}");
    }
}
