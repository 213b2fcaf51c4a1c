//! Filters of every kind carried through every door, equal on the other side.

mod carried;
mod persistence;
mod replicas;
pub mod scenario;
