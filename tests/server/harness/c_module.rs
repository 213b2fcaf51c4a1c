//! Modules written in C for a test, built with the compiler that this crate's build needs as well.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A module that is deleted when this is dropped.
pub struct CModule {
    folder: TempDir,
}

impl CModule {
    /// Builds a file of `tests/server`, with these macros defined, as `NAME="bf"`.
    pub fn build(source: &str, macros: &[&str]) -> Self {
        let folder =
            tempfile::Builder::new().prefix("bloomline-").tempdir().expect("a temporary folder");
        let module = Self { folder };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/server").join(source);
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(module.path())
            .args(macros.iter().map(|name| format!("-D{name}")))
            .arg(source)
            .status();
        assert!(status.expect("a C compiler").success());
        module
    }

    /// The module's file.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("module.so")
    }
}
