//! The rules of the source tree: who may use whom, where `unsafe` may stand, what files may be
//! called, how long they may be.
//!
//! Sources are read as tokens, so comments, strings and odd spacing confuse nothing.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

#[path = "layering/source.rs"]
mod source;

use source::{Source, sources};

/// What the core may use besides itself.
const CORE_USES: [&str; 6] = ["std", "core", "alloc", "bitvec", "xxhash_rust", "libm"];

/// Where the core may ask the operating system for pages.
const PAGES: &str = "bloom/memory/";

/// Where `unsafe` may stand: a folder with its slash, or a file.
const UNSAFE_IN: [&str; 8] = [
    "module.rs",
    "server/",
    "data_type/",
    "command/handler.rs",
    PAGES,
    "bloom/words.rs",
    "bloom/layout/",
    "bloom/redisbloom/indexes.rs",
];

/// The one module of `data_type` that `command` may use.
const HANDLE: [&str; 2] = ["data_type", "handle"];

/// Names that say nothing.
const EMPTY_NAMES: [&str; 6] = ["util", "utils", "helper", "helpers", "common", "misc"];

const MOST_LINES: usize = 350;

/// Every rule a source breaks, in words.
fn broken_rules(source: &Source) -> Vec<String> {
    let mut broken = Vec::new();
    for path in source.paths() {
        let inside = |module: &str| {
            path.first().is_some_and(|first| first == "crate")
                && path.get(1).is_some_and(|m| m == module)
        };
        let written = path.join("::");
        match source.layer() {
            "bloom" => {
                let own = inside("bloom");
                let asks_for_pages = path[0] == "libc" && source.path.starts_with(PAGES);
                let allowed = CORE_USES.contains(&path[0].as_str()) || asks_for_pages;
                let foreign = path[0] == "crate" || source::crates().contains(&path[0]);
                if foreign && !own && !allowed {
                    broken.push(format!("the core uses {written}"));
                }
            }
            "command"
                if inside("data_type") && !path[1..].starts_with(&HANDLE.map(String::from)) =>
            {
                broken.push(format!("a command uses {written}"));
            }
            "data_type" if inside("command") => {
                broken.push(format!("the data type uses {written}"))
            }
            _ => {}
        }
    }
    let covers = |place: &str| {
        source.path == place || place.ends_with('/') && source.path.starts_with(place)
    };
    if source.idents().any(|ident| ident == "unsafe") && !UNSAFE_IN.into_iter().any(covers) {
        broken.push("unsafe stands where it may not".into());
    }
    for module in source.module_names() {
        if EMPTY_NAMES.contains(&module.as_str()) {
            broken.push(format!("a module is called {module}"));
        }
    }
    if source.lines > MOST_LINES {
        broken.push(format!("{} lines, more than {MOST_LINES}", source.lines));
    }
    broken
}

#[test]
fn the_sources_keep_the_rules_of_the_tree() {
    let all = sources();
    assert!(all.iter().any(|source| source.layer() == "bloom"), "the sources were not found");
    let broken: Vec<String> = all
        .iter()
        .flat_map(|source| {
            broken_rules(source).into_iter().map(|rule| format!("src/{}: {rule}", source.path))
        })
        .collect();
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn every_forbidden_import_is_seen_however_it_is_written() {
    for (path, text) in [
        ("bloom/filter.rs", "use libc::c_int;"),
        ("bloom/filter.rs", "use redis_module::{raw, Context};"),
        ("bloom/filter.rs", "pub(crate) use ::redis_module as r;"),
        ("bloom/filter.rs", "use {std::fmt, libc::c_int};"),
        ("bloom/filter.rs", "use crate::server::alloc;"),
        ("bloom/filter.rs", "use crate::{bloom::error, server};"),
        ("bloom/filter.rs", "use crate :: /* a comment */ server;"),
        ("bloom/filter.rs", "use super::super::server;"),
        ("bloom/mod.rs", "use super::server;"),
        ("bloom/redisbloom/link.rs", "use super::super::super::server;"),
        ("bloom/any.rs", "use crate::data_type::value;"),
        ("bloom/layout/bloomline.rs", "use super::super::super::command;"),
        ("bloom/filter.rs", "fn f() { libc::getpid(); }"),
        ("bloom/filter.rs", "fn f() -> ::libc::c_int { 0 }"),
        ("bloom/filter.rs", "fn f() { println!(\"{}\", crate::server::NAME); }"),
        ("bloom/filter.rs", "extern crate libc;"),
        ("bloom/filter.rs", "use proptest::prelude::*;"),
        ("command/add.rs", "use crate::data_type::rdb;"),
        ("command/add.rs", "use crate::data_type::*;"),
        ("command/add.rs", "use super::super::data_type::{handle, rdb};"),
        ("data_type/aof.rs", "use crate::command::dump;"),
        ("data_type/mod.rs", "use super::command;"),
    ] {
        assert!(!broken_rules(&Source::new(path, text)).is_empty(), "src/{path}: {text}");
    }
}

#[test]
fn every_other_rule_is_seen_to_be_broken() {
    let long = "\n".repeat(MOST_LINES + 1);
    for (path, text) in [
        ("bloom/filter.rs", "fn f() { unsafe { g() } }"),
        ("bloom/hash.rs", "unsafe impl Send for Hash {}"),
        ("bloom/redisbloom/link.rs", "fn f() { unsafe { g() } }"),
        ("bloom/any.rs", "fn f() { unsafe { g() } }"),
        ("bloom/member.rs", "unsafe trait Member {}"),
        ("command/read.rs", "unsafe extern \"C\" fn f() {}"),
        ("lib.rs", "macro_rules! m { () => { unsafe { } } }"),
        ("server/utils.rs", ""),
        ("command/helpers/mod.rs", ""),
        ("bloom/filter.rs", "mod common { }"),
        ("bloom/filter.rs", &long),
    ] {
        assert!(!broken_rules(&Source::new(path, text)).is_empty(), "src/{path}: {text}");
    }
}

#[test]
fn what_is_allowed_and_what_only_looks_forbidden_passes() {
    for (path, text) in [
        (
            "bloom/filter.rs",
            "use std::fmt; use bitvec::slice::BitSlice; use libm; use xxhash_rust::xxh3;",
        ),
        (
            "bloom/filter.rs",
            "use bloomline_core::error::Error; use super::hash::{self, ItemHash}; use self::x as y;",
        ),
        (
            "bloom/layout/bloomline.rs",
            "use super::super::hash::fold; fn f() { u64::from(1u8); Error::Full(1); }",
        ),
        (
            "bloom/mod.rs",
            "//! use libc::c_int; unsafe\n/* unsafe */ pub use error::Error; pub use filter::Filter;",
        ),
        ("bloom/mod.rs", "/// [`crate::server::alloc`] is unsafe.\npub mod filter;"),
        (
            "bloom/filter.rs",
            "const S: &str = \"use libc::x; unsafe\"; const R: &str = r#\"\" libc::y unsafe\"#;",
        ),
        ("bloom/filter.rs", "#![deny(unsafe_op_in_unsafe_fn)] fn f() { let unsafety = 1; }"),
        (
            "bloom/filter.rs",
            "fn f(server: Server) { server.x(); self::server::y(); other::libc::z(); }",
        ),
        ("bloom/words.rs", "unsafe impl Send for Words {}"),
        ("bloom/memory/pages.rs", "fn f() { unsafe { libc::madvise() } }"),
        ("bloom/layout/mod.rs", "fn f() { unsafe { g() } }"),
        ("command/handler.rs", "unsafe extern \"C\" fn f() {}"),
        (
            "command/add.rs",
            "use crate::data_type::handle; use crate::data_type::handle::Handle; use bloomline_core::Filter;",
        ),
        ("command/add.rs", "use crate::{server::reply, data_type::handle::{self, open}};"),
        ("data_type/rdb.rs", "use super::handle; use crate::server::io; fn f() { unsafe { g() } }"),
        ("module.rs", "use crate::command; use crate::data_type::rdb; use redis_module::raw;"),
    ] {
        assert_eq!(
            broken_rules(&Source::new(path, text)),
            Vec::<String>::new(),
            "src/{path}: {text}"
        );
    }
}
