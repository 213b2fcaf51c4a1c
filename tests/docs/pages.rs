//! The pages of the documentation.

use std::fs;
use std::path::{Path, PathBuf};

/// README.md and every page below docs/, each as its path and its text, ordered by path.
pub fn all() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut pages, mut folders) = (vec![root.join("README.md")], vec![root.join("docs")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    let page = |path: PathBuf| {
        let name = path.strip_prefix(root).expect("a path below the root").display().to_string();
        let text = fs::read_to_string(&path).unwrap_or_else(|why| panic!("{name}: {why}"));
        (name, text)
    };
    pages.into_iter().map(page).collect()
}
