//! What docs/how-to/install.md says of servers: which were tested, one that runs without the
//! module, and an older release that gets a newer file.
//!
//! `tests/install/page.rs` runs the commands of the page.

use std::fs;
use std::path::Path;
use std::process::Command;

use bloomline_harness::{
    Kind, Setup, append_only_file, for_each_server, module_for, repository, until,
};

use crate::pages;

/// Asserts that the page has this text as code.
fn assert_shown(text: &str) {
    let page = pages::read("docs/how-to/install.md".as_ref());
    assert!(page.contains(&format!("`{text}`")), "{text} is not on the page");
}

/// A server without the module that takes MODULE LOAD.
fn open(kind: &Kind) -> Setup {
    let setup = Setup::new().bare();
    if kind.is_before_7() { setup } else { setup.line("enable-module-command yes") }
}

#[test]
fn tested_servers_of_the_pages_are_those_of_the_tests() {
    let list = Command::new("scripts/servers.sh").arg("--list").current_dir(repository()).output();
    let names = String::from_utf8(list.expect("scripts/servers.sh").stdout).expect("names");
    // The one that moves with its project is fetched by name only.
    let kinds = names.lines().filter(|name| *name != "redis-newest");
    let mut fetched: Vec<_> =
        kinds.map(|name| Kind::in_folder(name, Path::new("")).series().to_owned()).collect();
    fetched.dedup();

    let rows = pages::rows("docs/how-to/install.md", "## Servers");
    let tested: Vec<_> =
        rows.iter().filter(|row| row[1].starts_with("all tests")).map(|row| &row[0]).collect();
    assert_eq!(tested.len(), fetched.len(), "{tested:?} {fetched:?}");
    for (shown, name) in tested.iter().zip(&fetched) {
        // A name without a minor version stands for the newest one of the series.
        let shown = format!("{}.", shown.to_lowercase().replace(' ', "-"));
        assert!(shown.starts_with(&format!("{name}.")), "{tested:?} {fetched:?}");
    }
    let versions = ["Redis ", "Valkey "].map(|product| {
        let versions = tested.iter().filter_map(|name| name.strip_prefix(product));
        format!("{product}{}", versions.collect::<Vec<_>>().join(", "))
    });
    let row = format!("| servers | {}, with", versions.join("; "));
    assert!(pages::read(Path::new("README.md")).contains(&row), "README.md lacks {row}");
}

#[test]
fn a_running_server_loads_the_module_as_on_the_page() {
    for_each_server(|kind| {
        let load = format!("MODULE LOAD {} bf-error-rate 0.001", module_for(kind).display());
        if !kind.is_before_7() {
            let closed = Setup::new().bare().start(kind);
            let refused = closed.resp2().ask(&load);
            let text = "ERR MODULE command not allowed";
            assert_shown(text);
            assert!(refused.contains(text), "{refused}");
            let set = closed.resp2().ask("CONFIG SET enable-module-command yes");
            assert!(set.starts_with("-ERR"), "{set}");
        }
        let server = open(kind).start(kind);
        let mut client = server.resp2();
        client.ok(&load);
        assert_eq!(client.ask("BF.ADD k a"), ":1");
        client.ok("CONFIG REWRITE");
        let config = fs::read_to_string(server.file("server.conf")).expect("the configuration");
        let is_written = config.lines().any(|line| {
            line.starts_with("loadmodule ") && line.ends_with("bloomline.so bf-error-rate 0.001")
        });
        assert_eq!(is_written, !kind.is_before_7(), "{config}");
    });
}

#[test]
fn loadex_with_an_unknown_name_does_what_the_page_says() {
    for_each_server(|kind| {
        if kind.is_before_7() {
            return;
        }
        let loadex = format!("MODULE LOADEX {}", module_for(kind).display());
        let mut server = open(kind).start(kind);
        // A wrong value is refused, and nothing of the module is left.
        for wrong in [
            format!("CONFIG {} 5", kind.directive("bf-error-rate")),
            "ARGS bf-error-rate 5".to_owned(),
        ] {
            let mut client = server.resp2();
            let refused = client.ask(&format!("{loadex} {wrong}"));
            assert!(refused.starts_with("-ERR"), "{refused}");
            assert!(client.ask("BF.ADD k a").starts_with("-ERR unknown command"));
        }
        server.resp2().send(&[
            "MODULE",
            "LOADEX",
            &module_for(kind).display().to_string(),
            "CONFIG",
            "bf-colour",
            "1",
        ]);
        match kind.series() {
            "redis-7.0" => {
                until("the module", || (server.resp2().ask("BF.CARD k") == ":0").then_some(()));
            }
            series if series.starts_with("redis-8") => {
                until("the end of the load", || {
                    server.log().contains("Module bf unloaded").then_some(())
                });
                assert!(server.resp2().ask("BF.ADD k a").starts_with("-ERR unknown command"));
            }
            _ => assert!(!server.wait_for_end().success()),
        }
    });
}

#[test]
fn commands_of_a_newer_release_are_skipped_with_a_line() {
    for_each_server(|kind| {
        let header = "the header of a newer release";
        let load = |command| [command, "k", "1", header];
        let mut file = append_only_file(&[load("BF.LOADCHUNK"), load("CF.LOADCHUNK")]);
        file.extend(append_only_file(&[["BF.ADD", "k", "a"]]));
        let server = Setup::new().append_file(file).start(kind);
        let log = server.log();
        for (shown, text) in [
            ("== CRITICAL == … received bad data", "received bad data"),
            ("… Invalid header", "Invalid header"),
        ] {
            assert_shown(shown);
            let is_logged = |line: &str| line.contains("== CRITICAL ==") && line.contains(text);
            assert!(log.lines().any(is_logged), "{text}: {log}");
        }
        // Another filter, which the addition has created.
        assert_eq!(server.resp2().ask("BF.CARD k"), ":1");
    });
}
