//! `.ci/run` with programs that do nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use bloomline_harness::repository;

/// What the script prints if a slow check may begin up to a number of seconds; it must succeed.
fn printed(latest: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join(".ci/run");
    for name in [".ci", "scripts"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::copy(repository().join(".ci/run"), &script).unwrap();
    fs::copy(repository().join("scripts/rust-path.sh"), folder.path().join("scripts/rust-path.sh"))
        .unwrap();
    for name in ["deps.sh", "deep.sh"] {
        symlink("/bin/true", folder.path().join("scripts").join(name)).unwrap();
    }
    let mut run = Command::new("bash");
    run.arg(script).env("BLOOMLINE_CI_LATEST", latest);
    // Functions of the shell. The number of commits chooses the check.
    run.env("BASH_FUNC_make%%", "() { echo make \"$@\"; }");
    run.env("BASH_FUNC_git%%", "() { echo 0; }");
    let output = run.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_late_run_leaves_out_the_slow_check_and_says_so() {
    const CALL: &str = "make test-platforms ARGS=glibc\n";
    // Empty is not set.
    let in_time = printed("");
    assert!(in_time.contains(CALL) && !in_time.contains("NOT RUN"), "{in_time}");
    assert!(!in_time.contains("not run this time: platform glibc"), "{in_time}");
    let late = printed("-1");
    assert!(!late.contains(CALL), "{late}");
    assert!(late.contains("ci: NOT RUN: platform glibc: the parts before it took "), "{late}");
    assert!(late.contains("not run this time: platform glibc; "), "{late}");
}
