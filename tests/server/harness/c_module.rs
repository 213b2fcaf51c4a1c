//! Modules in C, built by a test with the compiler that this crate's build needs as well.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Builds a source, given from `tests/server` on; the module lives as long as the folder.
pub fn build(source: &str, folder: &TempDir) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server").join(source);
    let built = folder.path().join("module.so");
    let status = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&built).arg(source).status();
    assert!(status.expect("a C compiler").success());
    built
}

/// A folder to build a module in.
pub fn folder() -> TempDir {
    tempfile::Builder::new().prefix("bloomline-").tempdir().expect("a temporary folder")
}
