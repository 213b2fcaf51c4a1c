//! valkey-bloom's layout: recorded filters, its files and its stream of commands, its options, and
//! what its replicas get.

mod differences;
mod follower;
mod followers;
mod options;
mod page;
pub mod primary;
mod recorded;
mod servers;
mod stream;
