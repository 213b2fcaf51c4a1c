//! The Debian package: installed, verified, upgraded and removed by dpkg, in a folder that stands
//! for a system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bloomline_harness::{Setup, for_newest_servers, module};

use crate::folder::loadmodule_line;
use crate::machine_code::{needed, newest_glibc};
use crate::program::{find_tool, output, program};

/// Makes the package in `dist`; `None` without dpkg-deb.
pub fn pack(dist: &Path) -> Option<PathBuf> {
    find_tool("dpkg-deb")?;
    let printed =
        output(program("scripts/deb.sh").env("DIST", dist).env("SOURCE_DATE_EPOCH", "1700000000"));
    Some(PathBuf::from(printed.trim()))
}

/// The package manager of a system without packages. It does not check dependencies.
pub fn dpkg(root: &Path) -> Command {
    let state = root.join("var/lib/dpkg");
    for folder in ["info", "updates"] {
        fs::create_dir_all(state.join(folder)).unwrap();
    }
    fs::OpenOptions::new().create(true).append(true).open(state.join("status")).unwrap();
    let mut dpkg = program("dpkg");
    dpkg.args(["--force-not-root", "--force-depends", "--force-bad-path", "--log=/dev/null"]);
    dpkg.arg(format!("--root={}", root.display()));
    dpkg
}

#[test]
fn a_server_loads_the_installed_package() {
    let (dist, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(package) = pack(dist.path()) else { return };
    output(dpkg(root.path()).arg("--install").arg(&package));
    assert_eq!(
        output(dpkg(root.path()).args(["--verify", "bloomline"])),
        "",
        "files differ from their sums"
    );

    let described = output(program("dpkg-deb").arg("--info").arg(&package));
    let line =
        described.lines().map(str::trim).find(|line| line.starts_with("loadmodule ")).unwrap();
    let line = loadmodule_line(line, root.path());
    for_newest_servers(|kind| {
        let server = Setup::new().bare().line(&line).start(kind);
        assert_eq!(server.resp2().ask("BF.ADD bloom foo"), ":1");
    });
}

#[test]
fn an_upgrade_and_a_removal_leave_nothing_behind() {
    let (dist, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(package) = pack(dist.path()) else { return };
    for _ in 0..2 {
        output(dpkg(root.path()).arg("--install").arg(&package));
    }
    output(dpkg(root.path()).args(["--purge", "bloomline"]));
    assert!(!root.path().join("usr").exists(), "files are left");
}

#[test]
fn packages_of_one_module_are_identical() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (Some(first), Some(second)) = (pack(one.path()), pack(other.path())) else { return };
    assert!(fs::read(first).unwrap() == fs::read(second).unwrap(), "the packages differ");
}

#[test]
fn the_package_depends_on_the_needed_c_library() {
    let dist = tempfile::tempdir().unwrap();
    let Some(package) = pack(dist.path()) else { return };
    let depends = output(program("dpkg-deb").arg("--field").arg(&package).arg("Depends"));
    let (major, minor) = newest_glibc(&module());
    let unwinder = needed(&module()).contains(&"libgcc_s.so.1".to_owned());
    let unwinder = if unwinder { ", libgcc-s1" } else { "" };
    assert_eq!(depends.trim(), format!("libc6 (>= {major}.{minor}){unwinder}"));
}
