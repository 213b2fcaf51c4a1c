//! Release archives, and the Debian package beside them: their contents, and reproducible bytes.
//! The tests of `page` load their modules.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bloomline_harness::repository;

use crate::package;
use crate::program::{output, program};

const NAME: &str = concat!("bloomline-", env!("CARGO_PKG_VERSION"), "-x86_64-unknown-linux-gnu");

/// Makes the archive and its checksum in `dist`.
pub fn pack(dist: &Path) -> PathBuf {
    for script in ["scripts/archive.sh", "scripts/sums.sh"] {
        output(program(script).env("DIST", dist).env("SOURCE_DATE_EPOCH", "1700000000"));
    }
    dist.join(format!("{NAME}.tar.gz"))
}

/// The names of the files for Prometheus and Grafana.
pub fn monitoring() -> Vec<String> {
    let files = fs::read_dir(repository().join("packaging/monitoring")).unwrap();
    let mut names: Vec<_> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(!names.is_empty());
    names
}

#[test]
fn archive_and_package_hold_the_module_and_its_documents() {
    let dist = tempfile::tempdir().unwrap();
    let listed = output(program("tar").arg("-tzf").arg(pack(dist.path())));
    let files = ["", "CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md"];
    let files = files.into_iter().chain(["THIRD-PARTY-LICENSES.txt", "bloomline.so"]);
    let mut expected: Vec<_> = files.map(|file| format!("{NAME}/{file}")).collect();
    let monitored = [vec![String::new()], monitoring()].concat();
    expected.extend(monitored.iter().map(|file| format!("{NAME}/monitoring/{file}")));
    expected.push(format!("{NAME}/redis.conf.example"));
    assert_eq!(listed.lines().collect::<Vec<_>>(), expected);

    let Some(package) = package::pack(dist.path()) else { return };
    let listed = output(program("dpkg-deb").arg("--contents").arg(package));
    let documents = ["README.md", "SECURITY.md", "changelog.gz", "copyright"].map(str::to_owned);
    let monitored = monitored.iter().map(|file| format!("monitoring/{file}"));
    for file in documents.into_iter().chain(monitored) {
        assert!(listed.contains(&format!("/usr/share/doc/bloomline/{file}\n")), "{file}: {listed}");
    }
}

/// `scripts/licences.sh` writes the file.
#[test]
fn licences_name_the_crates_of_the_module_and_of_the_tools() {
    let path = repository().join("packaging/THIRD-PARTY-LICENSES.txt");
    let text = fs::read_to_string(path).unwrap();
    let sections = text.split("\n===").skip(1).map(|section| {
        let lists = section.lines().filter_map(|line| line.strip_suffix(':')?.split_once(", of "));
        lists.flat_map(|(_, crates)| crates.split(", ")).map(str::to_owned).collect()
    });
    let sections: Vec<BTreeSet<String>> = sections.collect();
    for (package, named) in ["bloomline", "bloomline-tools"].iter().zip(&sections) {
        let mut tree = program(env!("CARGO"));
        tree.args(["tree", "--locked", "--edges", "normal", "--prefix", "none"]);
        for target in ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"] {
            tree.args(["--target", target]);
        }
        let listed = output(tree.args(["--package", package]));
        // Such as `memchr v2.8.3`, and `bloomline v0.1.0 (FOLDER)`.
        let crates = listed.lines().filter(|line| !line.contains(" (/")).filter_map(|line| {
            let (name, version) = line.split_once(" v")?;
            Some(format!("{name} {}", version.split(' ').next()?))
        });
        assert_eq!(&crates.collect::<BTreeSet<_>>(), named, "{package}");
    }
    assert_eq!(sections.len(), 2);
}

#[test]
fn shipped_pages_link_to_no_files() {
    for page in ["packaging/README.md", "SECURITY.md", "CHANGELOG.md"] {
        let text = fs::read_to_string(repository().join(page)).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
        let files = targets.filter(|link| !link.starts_with('#') && !link.contains("://"));
        assert_eq!(files.collect::<Vec<_>>(), [""; 0], "{page}");
    }
}

#[test]
fn archives_and_packages_of_one_module_are_identical() {
    let [one, other] = [1, 2].map(|_| {
        let dist = tempfile::tempdir().unwrap();
        let files = [Some(pack(dist.path())), package::pack(dist.path())];
        files.map(|file| file.map(|path| fs::read(path).unwrap()))
    });
    assert!(one == other, "they differ");
}
