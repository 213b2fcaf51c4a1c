//! The rules of the source trees that the compiler does not check: which part of `src` imports
//! which, no cycle of imports between files, names of files, the width of comments.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a failed test panics"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use bloomline_harness::repository;

/// The parts of the module, and the parts that each may not import.
const FORBIDDEN: [(&str, &[&str]); 4] = [
    ("server", &["policy", "data_type", "command"]),
    ("policy", &["data_type", "command"]),
    ("data_type", &["command"]),
    ("command", &["data_type"]),
];

/// The modules of `data_type` that `command` may import nevertheless.
const FOR_COMMANDS: [&str; 2] = ["data_type::handle", "data_type::replicate"];

/// What the module may import from the core.
const OF_THE_CORE: [&str; 5] = ["host::", "error::", "Error;", "Layout;", "{Error, Layout};"];

/// The source trees whose files may not import each other in cycles.
const ROOTS: [&str; 17] = [
    "src",
    "core/src",
    "core/benches",
    "core/reference/src",
    "core/tests/bloom",
    "core/tests/cuckoo",
    "core/tests/families",
    "core/tests/memory",
    "core/tests/out_of_memory",
    "benches/server",
    "tests/clients",
    "tests/docs",
    "tests/harness/src",
    "tests/install",
    "tests/server",
    "tools/src",
    "tools/calculator/src",
];

/// File names without a meaning.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "helper", "helpers", "common", "misc"];

/// A source tree: the text of each module, by its path such as `command::add`; "" is the root.
struct Tree(BTreeMap<String, String>);

impl Tree {
    fn read(root: &str) -> Self {
        let root = repository().join(root);
        let (mut files, mut folders) = (BTreeMap::new(), vec![root.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                if path.extension().is_none_or(|extension| extension != "rs") {
                    continue;
                }
                let name = path.strip_prefix(&root).unwrap().with_extension("");
                let name = name.to_str().unwrap().replace('/', "::");
                let module = name.strip_suffix("::mod").unwrap_or(&name);
                let module = if ["lib", "main"].contains(&module) { "" } else { module };
                files.insert(module.to_owned(), fs::read_to_string(path).unwrap());
            }
        }
        assert!(files.len() > 1, "the sources were not found");
        Self(files)
    }

    /// The files that a module's `use` declarations name, without itself.
    fn imports(&self, module: &str) -> BTreeSet<String> {
        used_paths(&self.0[module])
            .iter()
            .filter_map(|path| self.file_of(&absolute(module, path)?))
            .filter(|file| file != module)
            .collect()
    }

    /// The file in which a path is defined: its longest beginning that is a module.
    fn file_of(&self, path: &str) -> Option<String> {
        let mut path = path;
        while !self.0.contains_key(path) {
            path = path.rsplit_once("::").map_or("", |(module, _)| module);
        }
        // The root only declares modules and exports their items again.
        (!path.is_empty()).then(|| path.to_owned())
    }

    /// True if a module imports a part, or names it in an expression.
    fn uses(&self, module: &str, part: &str) -> bool {
        self.imports(module).iter().any(|import| inside(import, part))
            || code(&self.0[module]).contains(&format!("crate::{part}::"))
    }

    /// The modules that reach themselves through imports.
    fn in_cycles(&self) -> Vec<&String> {
        let edges: BTreeMap<&String, BTreeSet<String>> =
            self.0.keys().map(|module| (module, self.imports(module))).collect();
        let reaches_itself = |start: &&String| {
            let (mut next, mut seen) = (vec![*start], BTreeSet::new());
            while let Some(module) = next.pop() {
                for import in &edges[module] {
                    if import == *start {
                        return true;
                    }
                    if seen.insert(import) {
                        next.push(import);
                    }
                }
            }
            false
        };
        self.0.keys().filter(reaches_itself).collect()
    }
}

/// True if a module is a part, or inside it.
fn inside(module: &str, part: &str) -> bool {
    module.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// A text without its comments, in one line.
fn code(text: &str) -> String {
    let code: Vec<&str> =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    code.join(" ")
}

/// The paths of the `use` declarations of a text, one for each name in braces.
fn used_paths(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for statement in code(text).split(';') {
        let Some((_, declaration)) = statement.rsplit_once("use ") else { continue };
        let is_path = |c: char| c.is_alphanumeric() || " _:,*{}".contains(c);
        if declaration.chars().all(is_path) {
            let path: String = declaration.replace(" as ", "#").split_whitespace().collect();
            expand("", &path, &mut paths);
        }
    }
    paths
}

/// Adds the paths that `a::{b, c::{d, e}}` stands for; new names behind `#` are left out.
fn expand(prefix: &str, path: &str, paths: &mut Vec<String>) {
    let Some((first, inside)) = path.split_once('{') else {
        let name = path.split('#').next().unwrap_or_default();
        if !name.is_empty() {
            paths.push(format!("{prefix}{name}"));
        }
        return;
    };
    let prefix = format!("{prefix}{first}");
    let (mut depth, mut part) = (0, String::new());
    for letter in inside.strip_suffix('}').unwrap_or(inside).chars().chain([',']) {
        if letter == ',' && depth == 0 {
            expand(&prefix, &std::mem::take(&mut part), paths);
            continue;
        }
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        part.push(letter);
    }
}

/// A path from the root of the crate; none if it is of another crate.
fn absolute(module: &str, path: &str) -> Option<String> {
    let mut names: Vec<&str> = path.split("::").collect();
    let mut base: Vec<&str> = Vec::new();
    match names[0] {
        "crate" => {}
        "self" | "super" => base = module.split("::").collect(),
        _ => return None,
    }
    while names.first().is_some_and(|name| ["crate", "self", "super"].contains(name)) {
        if names.remove(0) == "super" {
            base.pop();
        }
    }
    Some([base, names].concat().join("::"))
}

#[test]
fn each_part_imports_only_parts_below_it() {
    let tree = Tree::read("src");
    for (part, forbidden) in FORBIDDEN {
        for module in tree.0.keys().filter(|module| inside(module, part)) {
            for import in tree.imports(module) {
                let is_forbidden = forbidden.iter().any(|other| inside(&import, other));
                let may_import = part == "command" && FOR_COMMANDS.contains(&&*import);
                assert!(!is_forbidden || may_import, "{module} imports {import}");
            }
            // A path within an expression imports as well.
            for other in forbidden {
                let mut text = code(&tree.0[module]);
                for module in FOR_COMMANDS {
                    text = text.replace(&format!("crate::{module}"), "");
                }
                assert!(!text.contains(&format!("crate::{other}::")), "{module} names {other}");
            }
            let uses_core = tree.0[module].contains("bloomline_core");
            let may_use_core = part != "server" || module == "server::alloc";
            assert!(!uses_core || may_use_core, "{module} uses the core");
        }
    }
}

#[test]
fn families_of_commands_share_only_what_is_outside_both() {
    let tree = Tree::read("src");
    for family in ["command::bloom", "command::cuckoo"] {
        let is_outside = |module: &&String| inside(module, "command") && !inside(module, family);
        for module in tree.0.keys().filter(is_outside) {
            assert!(!tree.uses(module, family), "{module} uses {family}");
        }
    }
}

#[test]
fn families_of_filters_share_only_what_is_outside_both() {
    let tree = Tree::read("core/src");
    for family in ["bloom", "cuckoo"] {
        assert!(tree.0.contains_key(family), "no family {family}");
        // The host names both: it is what the module imports.
        let is_outside = |module: &&String| !inside(module, family) && !inside(module, "host");
        for module in tree.0.keys().filter(is_outside) {
            assert!(!tree.uses(module, family), "{module} uses {family}");
        }
    }
}

#[test]
fn the_module_uses_only_what_the_core_has_for_it() {
    for (module, text) in Tree::read("src").0 {
        for path in code(&text).split("bloomline_core::").skip(1) {
            let may_use = OF_THE_CORE.iter().any(|start| path.starts_with(start));
            assert!(may_use, "{module} uses {} of the core", path.split(';').next().unwrap());
        }
    }
}

#[test]
fn only_the_memory_of_the_core_asks_the_operating_system() {
    for (module, text) in Tree::read("core/src").0 {
        let uses_libc = code(&text).contains("libc::");
        assert!(!uses_libc || module.starts_with("memory::"), "{module} uses libc");
    }
}

#[test]
fn files_do_not_import_each_other_in_cycles() {
    for root in ROOTS {
        let tree = Tree::read(root);
        assert_eq!(tree.in_cycles(), Vec::<&String>::new(), "cycles in {root}");
    }
}

#[test]
fn files_have_a_name_with_a_meaning() {
    for root in ROOTS {
        for module in Tree::read(root).0.into_keys() {
            let name = module.rsplit("::").next().unwrap_or_default();
            assert!(!EMPTY_NAMES.contains(&name), "{root}: {module}");
        }
    }
}

/// rustfmt wraps code, and no comments. Tables and code in comments have lines of any length.
#[test]
fn comments_are_at_most_100_columns_wide() {
    let mut wide = Vec::new();
    for root in ROOTS {
        for (module, text) in Tree::read(root).0 {
            let mut is_code = false;
            for line in text.lines() {
                let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
                let comment = comment.trim_start_matches(['/', '!', ' ']);
                is_code ^= comment.starts_with("```");
                let may_be_wide = is_code || comment.starts_with('|');
                if line.chars().count() > 100 && !may_be_wide {
                    wide.push(format!("{root}, {module}: {line}"));
                }
            }
        }
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

/// Functions of the crate `redis_module` that call a function of the server without a check.
const WRAPPERS: [(&str, &str); 6] = [
    ("save_unsigned", "SaveUnsigned"),
    ("save_double", "SaveDouble"),
    ("save_slice", "SaveStringBuffer"),
    ("load_unsigned", "LoadUnsigned"),
    ("load_double", "LoadDouble"),
    ("is_io_error", "IsIOError"),
];

/// The names behind each place of `start` in the code of a tree, and what stands before it.
fn names_after<'a>(code: &'a str, start: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    code.match_indices(start).map(move |(at, _)| {
        let (before, rest) = (&code[..at], &code[at + start.len()..]);
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        (before, &rest[..end.unwrap_or(rest.len())])
    })
}

/// The module does not load without them; the others are checked where they are used.
#[test]
fn required_functions_are_those_called_without_a_check() {
    const PREFIX: &str = "RedisModule_";
    let tree = Tree::read("src");
    let all: String = tree.0.values().map(|text| code(text)).collect::<Vec<_>>().join(" ");
    let list = all.split_once("first_absent!(").expect("the list").1.split_once(')').unwrap().0;
    let required: BTreeSet<&str> = names_after(list, PREFIX).map(|(_, name)| name).collect();
    let (mut unchecked, mut checked) = (BTreeSet::new(), BTreeSet::new());
    for (before, name) in names_after(&all, "api!(RedisModule_") {
        let is_checked = before.ends_with("optional_");
        if is_checked { &mut checked } else { &mut unchecked }.insert(name);
    }
    for (_, name) in names_after(&all, "raw::") {
        let is_type = name.starts_with(char::is_uppercase);
        match name.strip_prefix(PREFIX) {
            Some(name) => drop(checked.insert(name)),
            None if is_type || name.is_empty() => {}
            None => {
                let wrapper = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name);
                unchecked.insert(wrapper.unwrap_or_else(|| panic!("raw::{name} calls what?")).1);
            }
        }
    }
    assert!(unchecked.len() > 40, "{unchecked:?}");
    let missing: Vec<_> = unchecked.difference(&required).collect();
    assert!(missing.is_empty(), "called without a check, and not required: {missing:?}");
    let unused = |name: &&&str| !unchecked.contains(**name) && !checked.contains(**name);
    let unused: Vec<_> = required.iter().filter(unused).collect();
    assert!(unused.is_empty(), "required, and not used: {unused:?}");
}

#[test]
fn imports_are_found_in_every_form() {
    let text = "//! use crate::no;\nuse std::fmt;\nuse crate::a::{self, b::{c, d},\n    e};\n\
                pub(crate) use super::f;\nmod g;\nuse crate::h as i; // use crate::no\n\
                fn j() { let k = 1; }\nuse l::m;";
    let expected =
        ["std::fmt", "crate::a::self", "crate::a::b::c", "crate::a::b::d", "crate::a::e"];
    assert_eq!(used_paths(text)[..5], expected);
    assert_eq!(used_paths(text)[5..], ["super::f", "crate::h", "l::m"]);
    assert_eq!(absolute("x::y", "super::f"), Some("x::f".to_owned()));
    assert_eq!(absolute("x::y", "std::fmt"), None);
}

#[test]
fn cycles_are_found() {
    let files =
        [("a", "use crate::b::B;"), ("b", "use super::c;"), ("c", "use crate::a;"), ("d", "")];
    let tree = Tree(files.map(|(module, text)| (module.to_owned(), text.to_owned())).into());
    assert_eq!(tree.in_cycles(), ["a", "b", "c"]);
}
