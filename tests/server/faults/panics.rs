//! A panic in the module logs its file and line before the server ends.

use std::env;
use std::path::PathBuf;

use bloomline_harness::{Setup, for_each_server_long, until};

/// The module of `examples/panicking.rs`, which `cargo test` builds with the tests.
fn panicking() -> PathBuf {
    let tests = env::current_exe().expect("this test's path");
    let path = tests.ancestors().nth(2).expect("deps' parent").join("examples/libpanicking.so");
    assert!(path.is_file(), "no {}; run `cargo build --example panicking`", path.display());
    path
}

#[test]
fn a_panic_logs_its_file_and_line() {
    for_each_server_long(|kind| {
        let setup = Setup::new().bare().line(format!("loadmodule {}", panicking().display()));
        let mut server = setup.start(kind);
        let mut client = server.resp2();
        assert!(client.try_run(&["PANICKING.NOW"]).is_err(), "the command returned a reply");
        until("the server to end", || (!server.is_running()).then_some(()));
        let log = server.log();
        // The panic message contains line breaks, which would forge lines of the log. The module
        // replaces them with blanks.
        let line =
            log.lines().find(|line| line.contains("bug in bloomline, please report: panicked at"));
        let line = line.unwrap_or_else(|| panic!("no panic message in\n{log}"));
        assert!(
            line.contains("examples/panicking.rs:") && line.contains("asked to by 2 words"),
            "{line}"
        );
    });
}
