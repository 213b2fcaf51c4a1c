//! What is installed and released: folders, packages and archives, made by the scripts and used by
//! real servers, and the script of CI. No test builds the image: it takes a container engine.
//!
//! Nothing is installed on this machine. Every test has a folder of its own that stands for one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failed test panics"
)]

mod archive;
mod ci;
mod containers;
mod deps;
mod folder;
mod machine_code;
mod package;
mod page;
mod program;
mod readme;
