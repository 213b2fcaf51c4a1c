//! `make install`: the module and its configuration in the folders of a system.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use bloomline_harness::{Setup, for_each_server, for_newest_servers, repository};

use crate::archive::monitoring;
use crate::program::{output, program};

const MODULE: &str = "usr/lib/redis/modules/bloomline.so";

fn install(root: &Path, settings: &[&str]) -> String {
    output(
        program("make")
            .args(["-s", "install"])
            .arg(format!("DESTDIR={}", root.display()))
            .args(settings),
    )
}

/// The loadmodule line in an installed file or a printed text, with the root folder of the test
/// before the path.
pub fn loadmodule_line(text: &str, root: &Path) -> String {
    let line =
        text.lines().find(|line| line.starts_with("loadmodule ")).expect("a loadmodule line");
    line.replacen("loadmodule ", &format!("loadmodule {}", root.display()), 1)
}

#[test]
fn the_printed_loadmodule_line_works_on_every_server() {
    let root = tempfile::tempdir().unwrap();
    let line = loadmodule_line(&install(root.path(), &[]), root.path());
    for_each_server(|kind| {
        let server = Setup::new().bare().line(&line).start(kind);
        assert_eq!(server.resp2().ask("BF.ADD bloom foo"), ":1");
    });
}

#[test]
fn the_installed_example_configuration_starts_a_server() {
    let root = tempfile::tempdir().unwrap();
    install(root.path(), &[]);
    let path = root.path().join("usr/share/doc/bloomline/redis.conf.example");
    let example = fs::read_to_string(path).unwrap();
    for_newest_servers(|kind| {
        let mut setup = Setup::new().bare().line(loadmodule_line(&example, root.path()));
        for line in example.lines().filter(|line| !line.starts_with("loadmodule ")) {
            setup = setup.line(line);
        }
        assert_eq!(setup.start(kind).resp2().ask("BF.ADD bloom foo"), ":1");
    });
}

#[test]
fn folders_can_be_chosen() {
    let root = tempfile::tempdir().unwrap();
    let printed = install(root.path(), &["MODULEDIR=/opt/modules", "DOCDIR=/opt/doc"]);
    assert!(printed.contains("\nloadmodule /opt/modules/bloomline.so\n"), "{printed}");
    assert!(root.path().join("opt/modules/bloomline.so").is_file());
    assert!(root.path().join("opt/doc/redis.conf.example").is_file());
    for file in monitoring() {
        assert!(root.path().join("opt/doc/monitoring").join(&file).is_file(), "{file}");
    }
    assert!(!root.path().join("usr").exists());
}

#[test]
fn an_upgrade_keeps_the_file_that_a_server_has_mapped() {
    let root = tempfile::tempdir().unwrap();
    let line = loadmodule_line(&install(root.path(), &[]), root.path());
    for_newest_servers(|kind| {
        let server = Setup::new().bare().line(&line).start(kind);
        let before = fs::metadata(root.path().join(MODULE)).unwrap().ino();
        install(root.path(), &[]);
        let after = fs::metadata(root.path().join(MODULE)).unwrap().ino();
        assert_ne!(before, after, "the file was overwritten");
        assert_eq!(server.resp2().ask("BF.ADD bloom foo"), ":1");
    });
    let left: Vec<_> = fs::read_dir(root.path().join("usr/lib/redis/modules")).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn the_module_has_mode_755_and_the_example_644() {
    let root = tempfile::tempdir().unwrap();
    install(root.path(), &[]);
    let mode =
        |path: &str| fs::metadata(root.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(MODULE), 0o755);
    assert_eq!(mode("usr/share/doc/bloomline/redis.conf.example"), 0o644);
}

#[test]
fn a_module_without_execute_permission_is_refused() {
    const REFUSAL: &str = "failed to load: It does not have execute permissions";
    let root = tempfile::tempdir().unwrap();
    let line = loadmodule_line(&install(root.path(), &[]), root.path());
    fs::set_permissions(root.path().join(MODULE), fs::Permissions::from_mode(0o644)).unwrap();
    for_each_server(|kind| {
        let log = Setup::new().bare().line(&line).try_start(kind).err().expect("a refusal");
        assert!(log.contains(REFUSAL), "{log}");
    });
    assert!(
        fs::read_to_string(repository().join("docs/how-to/install.md")).unwrap().contains(REFUSAL)
    );
}
