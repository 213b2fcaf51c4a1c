//! Release archives: their contents, reproducible bytes, and a module that loads.

use std::fs;
use std::path::{Path, PathBuf};

use bloomline_harness::{Setup, for_newest_servers};

use crate::program::{output, program};

const NAME: &str = concat!("bloomline-", env!("CARGO_PKG_VERSION"), "-x86_64-unknown-linux-gnu");

/// Makes the archive and its checksum in `dist`.
pub fn pack(dist: &Path) -> PathBuf {
    for script in ["scripts/archive.sh", "scripts/sums.sh"] {
        output(program(script).env("DIST", dist).env("SOURCE_DATE_EPOCH", "1700000000"));
    }
    dist.join(format!("{NAME}.tar.gz"))
}

#[test]
fn an_archive_holds_the_module_and_its_documents() {
    let dist = tempfile::tempdir().unwrap();
    let archive = pack(dist.path());
    let listed = output(program("tar").arg("-tzf").arg(&archive));
    let inside: Vec<&str> = listed.lines().filter_map(|line| line.strip_prefix(NAME)).collect();
    let expected =
        ["/", "/CHANGELOG.md", "/LICENSE", "/README.md", "/bloomline.so", "/redis.conf.example"];
    assert_eq!(inside, expected);
    assert_eq!(listed.lines().count(), inside.len(), "{listed}");
}

#[test]
fn the_module_of_a_checked_archive_loads() {
    let dist = tempfile::tempdir().unwrap();
    let archive = pack(dist.path());
    output(
        program("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(dist.path()),
    );
    output(program("tar").arg("-xzf").arg(&archive).current_dir(dist.path()));
    let module = dist.path().join(NAME).join("bloomline.so");
    for_newest_servers(|kind| {
        let server =
            Setup::new().bare().line(format!("loadmodule {}", module.display())).start(kind);
        assert_eq!(server.resp2().ask("BF.ADD bloom foo"), ":1");
    });
}

#[test]
fn archives_of_one_module_are_identical() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (first, second) = (pack(one.path()), pack(other.path()));
    assert!(fs::read(first).unwrap() == fs::read(second).unwrap(), "the archives differ");
}
