//! Release archives: their contents, reproducible bytes, and a module that loads.

use std::fs;
use std::path::{Path, PathBuf};

use bloomline_harness::{Setup, for_newest_servers, repository};

use crate::machine_code::needs_at_most_the_documented_glibc;
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
    let expected = [
        "/",
        "/CHANGELOG.md",
        "/LICENSE",
        "/README.md",
        "/SECURITY.md",
        "/bloomline.so",
        "/monitoring/",
        "/monitoring/bloomline.lua",
        "/monitoring/grafana-dashboard.json",
        "/monitoring/prometheus-rules.yml",
        "/monitoring/prometheus.yml",
        "/redis.conf.example",
    ];
    assert_eq!(inside, expected);
    let monitored = inside.iter().filter(|path| path.starts_with("/monitoring/")).count();
    assert_eq!(monitored, 1 + monitoring().len());
    assert_eq!(listed.lines().count(), inside.len(), "{listed}");
}

/// The names of the files for Prometheus and Grafana.
pub fn monitoring() -> Vec<String> {
    let files = fs::read_dir(repository().join("packaging/monitoring")).unwrap();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

/// The links of a page that lead to other files.
fn links_to_files(page: &str) -> Vec<&str> {
    let targets = page.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    targets.filter(|target| !target.starts_with('#') && !target.contains("://")).collect()
}

#[test]
fn shipped_pages_link_only_to_shipped_files() {
    let dist = tempfile::tempdir().unwrap();
    output(program("tar").arg("-xzf").arg(pack(dist.path())).current_dir(dist.path()));
    let folder = dist.path().join(NAME);
    for page in ["README.md", "SECURITY.md", "CHANGELOG.md"] {
        let text = fs::read_to_string(folder.join(page)).unwrap();
        for link in links_to_files(&text) {
            assert!(folder.join(link).is_file(), "{page}: {link}");
        }
    }
    // The package has the same pages, under other names.
    if let Some(package) = crate::package::pack(dist.path()) {
        let listed = output(program("dpkg-deb").arg("--contents").arg(package));
        for page in ["README.md", "SECURITY.md", "changelog.gz", "copyright"] {
            assert!(listed.contains(&format!("/usr/share/doc/bloomline/{page}")), "{listed}");
        }
        assert!(!monitoring().is_empty());
        for file in monitoring() {
            let path = format!("/usr/share/doc/bloomline/monitoring/{file}\n");
            assert!(listed.contains(&path), "{path}{listed}");
        }
        for page in ["README.md", "SECURITY.md"] {
            assert_eq!(links_to_files(&fs::read_to_string(folder.join(page)).unwrap()), [""; 0]);
        }
    }
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
    needs_at_most_the_documented_glibc(&module);
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
