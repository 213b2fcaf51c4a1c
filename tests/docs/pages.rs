//! The pages as documents: their links, their lines, and the paths that other files name.

use std::collections::HashSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use bloomline_harness::repository;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The longest line, in characters.
const WIDTH: usize = 100;

/// The files below a folder, without those that git ignores. In an unpacked archive of the source
/// code, which has no repository, git lists them from an empty one.
pub fn files(pattern: &str) -> Vec<PathBuf> {
    let git = |args: &[&str]| {
        let git = Command::new("git").args(args).current_dir(repository()).output().expect("git");
        assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
        String::from_utf8(git.stdout).expect("names")
    };
    let list = ["ls-files", "--cached", "--others", "--exclude-standard", "--", pattern];
    let names = if repository().join(".git").exists() {
        git(&list)
    } else {
        let empty = tempfile::tempdir().expect("a folder");
        let folder = empty.path().to_str().expect("a path");
        git(&["init", "--quiet", "--bare", folder]);
        git(&[&["--git-dir", folder, "--work-tree", "."], &list[..]].concat())
    };
    // A file that was deleted and not committed yet is still listed.
    names.lines().map(PathBuf::from).filter(|path| repository().join(path).is_file()).collect()
}

/// The paths of all pages of the repository.
fn pages() -> Vec<PathBuf> {
    let pages = files("*.md");
    assert!(pages.len() > 30, "{pages:?}");
    pages
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(repository().join(path))
        .unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// The rows of the first table below a heading of a page, without the head of the table.
pub fn rows(page: &str, heading: &str) -> Vec<Vec<String>> {
    let text = format!("\n{}", read(Path::new(page)));
    let (_, section) = text.split_once(&format!("\n{heading}\n")).expect(heading);
    let lines = section.lines().skip_while(|line| !line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|it| it.trim().into()).collect();
    lines.take_while(|line| line.starts_with('|')).skip(2).map(cells).collect()
}

/// The name that GitHub gives a heading, without the number of a repetition.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// All pages, each as its path and its text.
pub fn all() -> Vec<(String, String)> {
    pages().iter().map(|page| (page.display().to_string(), read(page))).collect()
}

/// The anchors of a page, and the targets of its links and pictures.
fn anchors_and_links(text: &str) -> (HashSet<String>, Vec<String>) {
    let (mut anchors, mut links) = (HashSet::new(), Vec::new());
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let name = anchor(&heading.take().unwrap_or_default());
                let mut number = 0;
                let mut unique = name.clone();
                while !anchors.insert(unique.clone()) {
                    number += 1;
                    unique = format!("{name}-{number}");
                }
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push(dest_url.into_string());
            }
            _ => {}
        }
    }
    (anchors, links)
}

/// The path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(normal.pop(), "{} leaves the folder", path.display()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// The page or file that a link on a page leads to, with its anchor. None: another site.
fn target(page: &Path, link: &str) -> Option<(PathBuf, String)> {
    if link.contains("://") {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let folder = page.parent().unwrap_or(Path::new(""));
    let path = if path.is_empty() { page.to_owned() } else { normal(&folder.join(path)) };
    Some((path, anchor.to_owned()))
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut broken = Vec::new();
    for page in pages() {
        for link in anchors_and_links(&read(&page)).1 {
            let Some((path, anchor)) = target(&page, &link) else { continue };
            let is_found = repository().join(&path).exists()
                && (anchor.is_empty() || anchors_and_links(&read(&path)).0.contains(&anchor));
            if !is_found {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn paths_of_the_source_in_pages_exist() {
    let folders = ["src", "core", "tests", "tools", "benches", "scripts", "packaging", "examples"];
    let mut missing = Vec::new();
    for page in pages() {
        let text = read(&page);
        for event in Parser::new_ext(&text, Options::ENABLE_TABLES) {
            let Event::Code(code) = event else { continue };
            let is_path = code.split_once('/').is_some_and(|(first, _)| folders.contains(&first))
                && code.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
            if is_path && !repository().join(&*code).exists() {
                missing.push(format!("{}: {code}", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn the_index_names_every_page() {
    let index = Path::new("docs/README.md");
    let linked: HashSet<PathBuf> = anchors_and_links(&read(index))
        .1
        .iter()
        .filter_map(|link| Some(target(index, link)?.0))
        .collect();
    // The index of a folder links its pages.
    let has_index = |page: &Path| {
        page.ancestors().skip(1).any(|folder| linked.contains(&folder.join("README.md")))
    };
    let missing: Vec<PathBuf> = files("docs/*.md")
        .into_iter()
        .filter(|page| page != index && !linked.contains(page) && !has_index(page))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn lines_are_at_most_100_columns_wide() {
    let mut long = Vec::new();
    for page in pages() {
        let mut is_code = false;
        for (number, line) in read(&page).lines().enumerate() {
            is_code ^= line.trim_start().starts_with("```");
            // A table row cannot be wrapped, and a word that is longer than a line neither.
            let text = line.trim();
            let is_wrappable = !is_code && !text.starts_with('|') && text.contains(' ');
            if is_wrappable && line.chars().count() > WIDTH {
                long.push(format!("{}:{}", page.display(), number + 1));
            }
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

#[test]
fn paths_of_pages_in_other_files_exist() {
    let mut missing = Vec::new();
    for file in files("*") {
        // Binary files are golden data.
        let Ok(text) = fs::read_to_string(repository().join(&file)) else { continue };
        for (at, _) in text.match_indices("docs/") {
            let is_path = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
            let path: String = text[at..].chars().take_while(|&c| is_path(c)).collect();
            let is_page = path.ends_with(".md") || path.ends_with(".svg");
            // Relative paths were checked as links.
            let is_relative = text[..at].ends_with("../");
            if is_page && !is_relative && !repository().join(&path).exists() {
                missing.push(format!("{}: {path}", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn numbers_of_the_comparison_are_those_of_the_benchmarks() {
    let (page, published) = (read(Path::new("README.md")), read(Path::new("docs/benchmarks.md")));
    let mut count = 0;
    for line in page.lines() {
        let is_measured = ["| bytes ", "| % of wrong answers", "| ns per item"];
        if !is_measured.iter().any(|start| line.starts_with(start)) {
            continue;
        }
        for number in line.split('|').map(str::trim).filter(|cell| cell.parse::<f64>().is_ok()) {
            assert!(published.contains(number), "docs/benchmarks.md lacks {number}: {line}");
            count += 1;
        }
    }
    assert!(count > 10, "only {count} numbers");
    let memory = read(Path::new("docs/reference/memory.md"));
    for (before, text, row, cell) in [
        ("a lookup in cache takes", &published, "| MEXISTS hit ×1,000 |", 3),
        ("#huge-pages)", &memory, "| 10,000,000,000 items | 12.2 | 2 MiB |", 6),
    ] {
        let row = text.lines().find(|line| line.starts_with(row)).expect(row);
        let time: f64 = row.split('|').nth(cell).expect("a time").trim().parse().expect("ns");
        let shown = format!("{before} {time:.0} ns of the server");
        assert!(page.contains(&shown), "README.md lacks {shown}");
    }
}
