//! The settings in redis.conf.example and on the page docs/reference/settings.md are those of the
//! module, with its defaults.

use std::collections::BTreeMap;
use std::path::Path;

use bloomline_harness::{Setup, for_each_server, show};
use redis::Value;

use crate::pages;

/// Name and default of each setting on the page.
fn on_the_page() -> BTreeMap<String, String> {
    let page = pages::read(Path::new("docs/reference/settings.md"));
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let pair = |row: &str| {
        let (name, rest) = row.split_once("` | `")?;
        Some((name.to_owned(), rest.split_once('`')?.0.to_owned()))
    };
    rows.filter_map(pair).collect()
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
    assert_eq!(expected.len(), 16, "{expected:#?}");
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
