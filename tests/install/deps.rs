//! What `scripts/deps.sh` would install on a machine without any of it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use tempfile::TempDir;

use crate::program::{find_tool, program};

/// A folder for the PATH with the script's own tools.
fn tools(others: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for tool in ["bash", "cut", "dirname", "grep", "sed", "sort", "uname"].iter().chain(others) {
        symlink(find_tool(tool).expect(tool), folder.path().join(tool)).expect("a link");
    }
    folder
}

/// What the script prints for a group, which fails.
fn printed(group: &str, path: &Path) -> String {
    let output = program("scripts/deps.sh").arg(group).env("PATH", path).output();
    let output = output.expect("the script");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    text
}

/// The Debian packages that the script names for a group where only its own tools are on the PATH.
fn packages(group: &str) -> Vec<String> {
    let text = printed(group, tools(&["cargo", "rustc"]).path());
    let lists = text.lines().filter_map(|line| line.trim().strip_prefix("(Debian: "));
    let mut names: Vec<String> = lists
        .flat_map(|list| list.trim_end_matches(')').split(' '))
        .map(str::to_owned)
        .filter(|name| !name.starts_with("python3"))
        .collect();
    names.sort();
    names
}

#[test]
fn a_target_installs_nothing_for_other_targets() {
    let other = if cfg!(target_arch = "x86_64") { "aarch64" } else { "x86_64" };
    let own = if cfg!(target_arch = "x86_64") { "x86_64" } else { "aarch64" };
    let binutils = format!("binutils-{}-linux-gnu", other.replace('_', "-"));
    assert!(packages(&format!("{own}-unknown-linux-gnu")).is_empty());
    assert_eq!(packages(&format!("{other}-unknown-linux-gnu")), [binutils.as_str()]);
    assert_eq!(packages("x86_64-unknown-linux-musl"), ["musl-tools"]);
    assert_eq!(packages("release"), [binutils.as_str(), "musl-tools"]);
}

#[test]
fn rust_is_a_package_that_is_new_enough() {
    for (candidates, expected) in [
        ([("cargo", "1.97.1+dfsg1-1"), ("cargo-web", "1.96.0")], Some("cargo")),
        ([("cargo", "1.85.1+dfsg1-1+deb13u1"), ("cargo-web", "1.96.0")], Some("cargo-web")),
        ([("cargo-1.89", "1.89.0+dfsg"), ("cargo-1.97", "1.97.1+dfsg")], Some("cargo-1.97")),
        ([("cargo-1.97-doc", "1.97.1+dfsg"), ("cargo", "1.75.0+dfsg0")], None),
    ] {
        let path = tools(&[]);
        let lines =
            candidates.map(|(name, version)| format!("{name}) echo '  Candidate: {version}' ;;"));
        let names = candidates.map(|(name, _)| name).join(" ");
        let script = format!(
            "#!/bin/sh\n[ $1 = policy ] || {{ printf '%s\\n' {names}; exit; }}\ncase $2 in\n{}\nesac\n",
            lines.join("\n"),
        );
        let program = path.path().join("apt-cache");
        fs::write(&program, script).expect("a script");
        fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("a program");
        let text = printed("plan", path.path());
        match expected {
            Some(package) => assert!(text.contains(&format!("(Debian: {package})")), "{text}"),
            None => assert!(text.contains("by rustup"), "{text}"),
        }
    }
}
