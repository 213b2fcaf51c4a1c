//! The project's scripts and the tools of the system, run with captured output.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use bloomline_harness::{module, repository};

/// A program in the top folder that works on the module under test, without the settings of the
/// user.
pub fn program(name: impl AsRef<Path>) -> Command {
    let name = name.as_ref();
    let mut command = Command::new(if name.starts_with("scripts") {
        repository().join(name)
    } else {
        name.into()
    });
    command.current_dir(repository()).env("BLOOMLINE_SO", module()).env("LC_ALL", "C");
    for setting in
        ["DESTDIR", "PREFIX", "MODULEDIR", "DOCDIR", "DIST", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"]
    {
        command.env_remove(setting);
    }
    command
}

/// Runs the program to its end and returns its output; panics with all of the output if it failed.
pub fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|why| panic!("{command:?}: {why}"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?} ended with {}\n{printed}{complaints}",
        output.status
    );
    printed
}

/// The path of a tool of the system. A missing tool skips the test with a message, or fails it if
/// `BLOOMLINE_REQUIRED_TOOLS` names the tool.
pub fn find_tool(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let found =
        env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    if found.is_none() {
        let required = env::var("BLOOMLINE_REQUIRED_TOOLS").unwrap_or_default();
        assert!(
            !required.split_whitespace().any(|tool| tool == name),
            "required but not on PATH: {name}"
        );
        // The test runner captures `println!`, so this writes to the standard error stream.
        let _ = writeln!(std::io::stderr(), "NOT TESTED, since it is not on PATH: {name}");
    }
    found
}
