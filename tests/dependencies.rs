//! What comes in from outside: licences on the list of `deny.toml`, crates.io as the only source,
//! little of it in the module.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// All packages that a build of any target may fetch.
fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    // May fetch: a build for this machine has not needed the packages of other systems.
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// The strings of `allow = [...]` in `deny.toml`.
fn allowed() -> BTreeSet<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("deny.toml"))
        .expect("deny.toml");
    let list = text.split_once("allow = [").expect("a list").1.split_once(']').expect("its end").0;
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether a licence expression can be satisfied with allowed licences alone.
///
/// `OR` binds weaker than `AND`, a slash is an old way to write `OR`, parentheses hold one `OR` at
/// most: that is all there is.
fn is_satisfied(expression: &str, allowed: &BTreeSet<String>) -> bool {
    if let Some((before, rest)) = expression.split_once('(') {
        let (inside, after) = rest.split_once(')').expect("a closing parenthesis");
        let inside = if is_satisfied(inside, allowed) { "MIT" } else { "none" };
        return is_satisfied(&format!("{before}{inside}{after}"), allowed);
    }
    let expression = expression.replace('/', " OR ");
    expression
        .split(" OR ")
        .any(|choice| choice.split(" AND ").all(|name| allowed.contains(name.trim())))
}

#[test]
fn every_licence_is_on_the_list() {
    let allowed = allowed();
    assert!(allowed.len() > 5 && allowed.contains("MIT"));
    for package in metadata()["packages"].as_array().expect("packages") {
        let (name, licence) = (&package["name"], package["license"].as_str().unwrap_or("none"));
        assert!(is_satisfied(licence, &allowed), "{name} is under {licence}");
    }
}

#[test]
fn everything_comes_from_crates_io() {
    for package in metadata()["packages"].as_array().expect("packages") {
        let source = package["source"].as_str();
        let is_ours = package["name"] == "bloomline";
        let is_known = source == Some("registry+https://github.com/rust-lang/crates.io-index");
        assert!(
            is_known || is_ours && source.is_none(),
            "{} comes from {source:?}",
            package["name"]
        );
    }
}

#[test]
fn the_module_is_made_of_few_crates() {
    let metadata = metadata();
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .expect("nodes")
        .iter()
        .map(|node| (node["id"].as_str().expect("an id"), node))
        .collect();
    let mut inside = BTreeSet::new();
    let mut next = vec![metadata["resolve"]["root"].as_str().expect("the root")];
    while let Some(id) = next.pop() {
        if !inside.insert(id) {
            continue;
        }
        for dependency in nodes[id]["deps"].as_array().expect("dependencies") {
            let is_linked = |kind: &Value| kind["kind"].is_null();
            if dependency["dep_kinds"].as_array().expect("kinds").iter().any(is_linked) {
                next.push(dependency["pkg"].as_str().expect("an id"));
            }
        }
    }
    // Each is code that nobody here has read, in the process of somebody's database: a larger
    // number wants a reason.
    assert!(inside.len() <= LINKED, "{} crates: {inside:#?}", inside.len());
}

/// Crates that the module is made of, itself and compile-time macros included.
const LINKED: usize = 60;

#[test]
fn licence_expressions_are_read_as_they_are_meant() {
    let allowed = BTreeSet::from(["MIT", "Unicode-3.0"].map(str::to_owned));
    for good in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "(MIT OR GPL-3.0) AND Unicode-3.0"] {
        assert!(is_satisfied(good, &allowed), "{good}");
    }
    for bad in ["", "GPL-3.0", "MIT AND GPL-3.0", "(GPL-3.0 OR ISC) AND MIT"] {
        assert!(!is_satisfied(bad, &allowed), "{bad}");
    }
}
