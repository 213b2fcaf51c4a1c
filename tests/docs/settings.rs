//! The settings in redis.conf.example and on the page docs/reference/settings.md are those of the
//! module, with its defaults.

use std::collections::BTreeMap;
use std::path::Path;

use bloomline_harness::{Kind, Setup, for_each_server, module_for, show};
use redis::Value;

use crate::pages;

/// Name and default of each setting on the page.
fn on_the_page() -> BTreeMap<String, String> {
    let rows = pages::rows("docs/reference/settings.md", "# Settings");
    let plain = |cell: &String| cell.trim_matches('`').to_owned();
    rows.iter().map(|row| (plain(&row[0]), plain(&row[1]))).collect()
}

/// Name and value of each directive of the example that is commented out and begins so.
fn in_the_example(start: &str) -> BTreeMap<String, String> {
    let example = pages::read(Path::new("redis.conf.example"));
    let lines = example.lines().filter_map(|line| line.strip_prefix("# ")?.strip_prefix(start));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    let setting = |name: &str| ["bf-", "cf-", "bloom-"].iter().any(|start| name.starts_with(start));
    let pairs = pairs.filter(|(name, value)| setting(name) && !value.contains(' '));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn settings_of_the_page_and_the_example_are_the_modules() {
    let expected = on_the_page();
    assert_eq!(expected.len(), 15, "{expected:#?}");
    assert_eq!(in_the_example(""), expected);
    assert_eq!(in_the_example("bf."), expected);
    for_each_server(|kind| {
        if kind.is_before_7() {
            return;
        }
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        for (name, default) in &expected {
            let Value::Array(pair) = client.call(&format!("CONFIG GET *{name}")) else {
                panic!("no array")
            };
            let found: Vec<_> = pair.iter().map(show).collect();
            assert_eq!(found.len(), 2, "{name}: {found:?}");
            assert!(found[1].ends_with(&format!(" {default}")), "{name}: {found:?}");
        }
    });
}

/// The example as a configuration of a server, with every directive that is commented out switched
/// on, and those directives with their values.
fn switched_on(kind: &Kind) -> (Vec<String>, Vec<(String, String)>) {
    let example = pages::read(Path::new("redis.conf.example"));
    let module = module_for(kind).display().to_string();
    let (mut lines, mut directives) = (Vec::new(), Vec::new());
    // A directive follows an empty comment or another directive, and is a name and a value.
    let mut may_be_directive = false;
    for line in example.lines() {
        let words: Vec<&str> = line.strip_prefix("# ").unwrap_or("").split(' ').collect();
        let name_of = |name: &str| name.strip_prefix("bf.").unwrap_or(name).to_owned();
        let is_own = |name: &str| on_the_page().contains_key(&name_of(name));
        may_be_directive = match words.as_slice() {
            [name, value] if may_be_directive => {
                let is_known =
                    !is_own(name) || !kind.is_before_7() && kind.directive(&name_of(name)) == *name;
                if is_known {
                    directives.push(((*name).to_owned(), (*value).to_owned()));
                    lines.push(format!("{name} {value}"));
                }
                true
            }
            _ => line == "#",
        };
        if !line.starts_with('#') {
            lines.push(line.replace("/path/to/bloomline.so", &module));
        }
    }
    (lines, directives)
}

#[test]
fn the_example_starts_with_every_directive_switched_on() {
    for_each_server(|kind| {
        let (lines, directives) = switched_on(kind);
        let server = lines.into_iter().fold(Setup::new().bare(), Setup::line).start(kind);
        let mut client = server.resp2();
        let own = if kind.is_before_7() { 0 } else { on_the_page().len() };
        assert!(directives.len() > own + 6, "{directives:?}");
        for (name, value) in &directives {
            let reply = client.ask(&format!("CONFIG GET {name}"));
            // The server writes sizes in bytes.
            let value = value.replace("4gb", "4294967296");
            let (name, value) =
                (format!("${} {name}", name.len()), format!("${} {value}", value.len()));
            assert_eq!(reply, format!("*[{name} {value}]"));
        }
        assert_eq!(client.ask("BF.ADD key item"), ":1");
    });
}
