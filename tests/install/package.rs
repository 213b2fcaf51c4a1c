//! The Debian package: installed, verified, upgraded and removed by dpkg, in a folder that stands
//! for a system. The tests of `page` load its module.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bloomline_harness::module;

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
fn an_upgrade_and_a_removal_leave_nothing_behind() {
    let (dist, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(package) = pack(dist.path()) else { return };
    for _ in 0..2 {
        output(dpkg(root.path()).arg("--install").arg(&package));
        let differences = output(dpkg(root.path()).args(["--verify", "bloomline"]));
        assert_eq!(differences, "", "files differ from their sums");
    }
    output(dpkg(root.path()).args(["--purge", "bloomline"]));
    assert!(!root.path().join("usr").exists(), "files are left");
}

#[test]
fn the_package_describes_what_it_needs_and_how_to_load_it() {
    let dist = tempfile::tempdir().unwrap();
    let Some(package) = pack(dist.path()) else { return };
    let described = output(program("dpkg-deb").arg("--info").arg(&package));
    let (major, minor) = newest_glibc(&module());
    let unwinder = needed(&module()).contains(&"libgcc_s.so.1".to_owned());
    let unwinder = if unwinder { ", libgcc-s1" } else { "" };
    for line in [
        &format!("Depends: libc6 (>= {major}.{minor}){unwinder}"),
        "loadmodule /usr/lib/redis/modules/bloomline.so",
    ] {
        assert!(described.lines().any(|described| described.trim() == line), "{described}");
    }
}
