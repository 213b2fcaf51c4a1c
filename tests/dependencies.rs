//! Dependencies: their licences are on the list of `deny.toml`, crates.io is their only source, and
//! the module links few of them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, LicenseReq, ParseMode};

/// The output of `cargo metadata`: all packages that a build for any target may fetch.
fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    // This may fetch packages, because a build for this system did not need those of other systems.
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

#[test]
fn every_licence_is_on_the_list() {
    let allowed = allowed();
    assert!(allowed.len() > 5 && allowed.contains("MIT"));
    for package in metadata()["packages"].as_array().expect("packages") {
        let (name, licence) = (&package["name"], package["license"].as_str().unwrap_or("none"));
        let expression = Expression::parse_mode(licence, ParseMode::LAX).expect("a licence");
        let is_allowed = |wanted: &LicenseReq| allowed.contains(&wanted.to_string());
        assert!(expression.evaluate(is_allowed), "{name} has the licence {licence}");
    }
}

#[test]
fn all_packages_come_from_crates_io() {
    let metadata = metadata();
    let members = metadata["workspace_members"].as_array().expect("members");
    for package in metadata["packages"].as_array().expect("packages") {
        let source = package["source"].as_str();
        let is_ours = members.contains(&package["id"]);
        let is_known = source == Some("registry+https://github.com/rust-lang/crates.io-index");
        assert!(
            is_known || is_ours && source.is_none(),
            "{} comes from {source:?}",
            package["name"]
        );
    }
}

#[test]
fn the_module_links_few_crates() {
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
    // Each crate is unreviewed code in the process of a database. A larger number needs a reason.
    assert!(inside.len() <= LINKED, "{} crates: {inside:#?}", inside.len());
}

/// The most crates that the module may link, including itself and compile-time macros.
const LINKED: usize = 60;
