//! Filters of every kind carried through every entry point: equal afterwards.

mod carried;
mod persistence;
mod replicas;
pub mod scenario;
