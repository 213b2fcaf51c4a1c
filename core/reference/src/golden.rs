//! Golden files: the bytes of filters, written once by the release that introduced them.
//!
//! `BLOOMLINE_BLESS=1 cargo test -p bloomline-core golden` writes missing files, but never
//! overwrites one: if a file no longer matches, saved filters are lost.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden")
}

/// True if a file is missing and is to be written, by its path in the folder of golden files.
pub fn is_to_be_written(path: &str) -> bool {
    let is_asked = env::var_os("BLOOMLINE_BLESS").is_some_and(|value| value == "1");
    is_asked && !folder().join(path).exists()
}

/// The bytes of a file, by its path. `now` is what a missing one is to contain.
pub fn file(path: &str, now: &[u8]) -> Vec<u8> {
    let whole = folder().join(path);
    if is_to_be_written(path) {
        fs::create_dir_all(whole.parent().unwrap()).unwrap();
        fs::write(&whole, now).unwrap();
    }
    fs::read(&whole).unwrap_or_else(|error| panic!("{}: {error}", whole.display()))
}

/// A filter in our own layout, as an earlier release dumped it.
pub struct Golden {
    /// Version of the format and name, such as `v1:empty`.
    pub key: String,
    pub header: Vec<u8>,
    /// The bits of all layers, oldest first.
    pub bits: Vec<u8>,
}

/// The filters in our own layout of all releases, by their names.
pub fn all() -> Vec<Golden> {
    let mut all = Vec::new();
    for (version, least) in [("v1", 7), ("v2", 7), ("v3", 3)] {
        let before = all.len();
        for entry in fs::read_dir(folder().join(format!("bloomline-{version}"))).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if let Some(name) = name.strip_suffix(".header.bin") {
                let bits = path.with_file_name(format!("{name}.bits.bin"));
                let [header, bits] = [&path, &bits].map(|path| fs::read(path).unwrap());
                all.push(Golden { key: format!("{version}:{name}"), header, bits });
            }
        }
        assert!(all.len() >= before + least, "{version} has {} filters", all.len() - before);
    }
    all.sort_by(|one, other| one.key.cmp(&other.key));
    all
}
