//! Programs that tests run: the project's scripts and the tools of the system, with what they
//! print.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use bloomline_harness::module;

/// The top folder of the sources.
pub fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A program in the top folder, working on the module under test, far from the settings of whoever
/// runs the tests.
pub fn program(name: impl AsRef<Path>) -> Command {
    let name = name.as_ref();
    let mut command =
        Command::new(if name.starts_with("scripts") { top().join(name) } else { name.into() });
    command.current_dir(top()).env("BLOOMLINE_SO", module()).env("LC_ALL", "C");
    for setting in
        ["DESTDIR", "PREFIX", "MODULEDIR", "DOCDIR", "DIST", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"]
    {
        command.env_remove(setting);
    }
    command
}

/// Runs it to its end, and gives what it printed; panics with all of it if it failed.
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

/// Where a tool of the system is; without it the test can't be made, which is said, and a failure
/// where it is required.
pub fn find_tool(name: &str) -> Option<PathBuf> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let found =
        env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file());
    if found.is_none() {
        let required = env::var("BLOOMLINE_REQUIRED_TOOLS").unwrap_or_default();
        assert!(
            !required.split_whitespace().any(|tool| tool == name),
            "required, and not on PATH: {name}"
        );
        // Past the test runner, which keeps what is printed to itself.
        let _ = writeln!(std::io::stderr(), "NOT TESTED, since it is not on PATH: {name}");
    }
    found
}
