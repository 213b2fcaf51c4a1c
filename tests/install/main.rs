//! What is installed and released: folders, packages, archives and images, made by the scripts and
//! used by real servers.
//!
//! Nothing is installed into the machine: every test has a folder of its own that stands for it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod archive;
mod folder;
mod image;
mod machine_code;
mod package;
mod page;
mod program;
