//! The core of the module under the module's name: the same sources, and nothing else.

#[path = "../../../src/bloom/mod.rs"]
pub mod bloom;
