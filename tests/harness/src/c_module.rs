//! Modules written in C for one test, built with the C compiler that the build of this crate
//! needs anyway.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

/// A module whose file is deleted when this is dropped.
pub struct CModule {
    folder: TempDir,
}

impl CModule {
    /// Builds a source file under `tests/server` with these macros, written as `NAME="bf"`.
    /// `BLOOMLINE_CC` is a compiler for servers of another platform.
    pub fn build(source: &str, macros: &[&str]) -> Self {
        let folder =
            tempfile::Builder::new().prefix("bloomline-").tempdir().expect("a temporary folder");
        let module = Self { folder };
        let source = crate::repository().join("tests/server").join(source);
        let status = Command::new(env::var("BLOOMLINE_CC").unwrap_or_else(|_| "cc".to_owned()))
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
