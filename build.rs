//! Gives the module a hash of its sources, which INFO shows as `bf_sources`. The tests compute it
//! too, so that they refuse a module of other sources.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io;
use std::path::Path;

/// What the module is built from, below the root of the repository.
const SOURCES: [&str; 6] =
    ["Cargo.lock", "Cargo.toml", "build.rs", "core/Cargo.toml", "core/src", "src"];

/// A hash of the sources below a root: 16 hexadecimal digits.
///
/// # Errors
///
/// A file cannot be read.
pub fn hash_of_sources(root: &Path) -> io::Result<String> {
    let mut hasher = DefaultHasher::new();
    for name in SOURCES {
        add(root, Path::new(name), &mut hasher)?;
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// Adds a file, or all files in a folder in the order of their names.
fn add(root: &Path, path: &Path, hasher: &mut DefaultHasher) -> io::Result<()> {
    let full = root.join(path);
    if full.is_dir() {
        let entries = fs::read_dir(full)?.map(|entry| entry.map(|entry| entry.file_name()));
        let mut names = entries.collect::<io::Result<Vec<_>>>()?;
        names.sort();
        return names.iter().try_for_each(|name| add(root, &path.join(name), hasher));
    }
    let content = fs::read(full)?;
    hasher.write(path.as_os_str().as_encoded_bytes());
    hasher.write_usize(content.len());
    hasher.write(&content);
    Ok(())
}

fn main() -> io::Result<()> {
    for path in SOURCES {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rustc-env=BLOOMLINE_SOURCES={}", hash_of_sources(Path::new("."))?);
    Ok(())
}
