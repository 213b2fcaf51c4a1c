//! What is installed and released: folders, packages, archives and images, made by the scripts and
//! used by real servers.
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
mod containers;
mod folder;
mod image;
mod machine_code;
mod package;
mod page;
mod program;
mod readme;
