//! What `scripts/deps.sh` would install on a machine without any of it.

use std::os::unix::fs::symlink;

use crate::program::{find_tool, program};

/// The Debian packages that the script names for a group where only its own tools are on the PATH.
fn packages(group: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    for tool in ["bash", "dirname", "grep", "uname", "cargo"] {
        symlink(find_tool(tool).expect(tool), folder.path().join(tool)).expect("a link");
    }
    let mut command = program("scripts/deps.sh");
    let output = command.arg(group).env("PATH", folder.path()).output().expect("the script");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
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
