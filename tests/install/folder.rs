//! `make install`: the module and its configuration in the folders of a system. The tests of
//! `page` load what it installs.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use bloomline_harness::{Setup, for_newest_servers};

use crate::archive::monitoring;
use crate::program::{output, program};

fn install(root: &Path, settings: &[&str]) -> String {
    output(
        program("make")
            .args(["-s", "install"])
            .arg(format!("DESTDIR={}", root.display()))
            .args(settings),
    )
}

#[test]
fn files_are_installed_in_the_chosen_folders() {
    for (settings, modules, documents) in [
        (&[][..], "/usr/lib/redis/modules", "/usr/share/doc/bloomline"),
        (&["MODULEDIR=/opt/modules", "DOCDIR=/opt/doc"], "/opt/modules", "/opt/doc"),
    ] {
        let root = tempfile::tempdir().unwrap();
        let printed = install(root.path(), settings);
        let in_root = |path: &str| root.path().join(path.trim_start_matches('/'));
        let mode = |path: &str| fs::metadata(in_root(path)).unwrap().permissions().mode() & 0o777;
        let (module, example) =
            (format!("{modules}/bloomline.so"), format!("{documents}/redis.conf.example"));
        assert_eq!((mode(&module), mode(&example)), (0o755, 0o644));
        let line = format!("\nloadmodule {module}\n");
        assert!(printed.contains(&line), "{printed}");
        assert!(fs::read_to_string(in_root(&example)).unwrap().contains(&line));
        for file in monitoring() {
            assert!(in_root(documents).join("monitoring").join(&file).is_file(), "{file}");
        }
        assert_eq!(in_root("usr").exists(), modules.starts_with("/usr"));
    }
}

#[test]
fn an_upgrade_keeps_the_file_that_a_server_has_mapped() {
    let root = tempfile::tempdir().unwrap();
    install(root.path(), &[]);
    let folder = root.path().join("usr/lib/redis/modules");
    let module = folder.join("bloomline.so");
    for_newest_servers(|kind| {
        let line = format!("loadmodule {}", module.display());
        let server = Setup::new().bare().line(line).start(kind);
        let before = fs::metadata(&module).unwrap().ino();
        install(root.path(), &[]);
        let after = fs::metadata(&module).unwrap().ino();
        assert_ne!(before, after, "the file was overwritten");
        assert_eq!(server.resp2().ask("BF.ADD bloom foo"), ":1");
    });
    let left: Vec<_> = fs::read_dir(folder).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}
