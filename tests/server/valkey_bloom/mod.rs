//! valkey-bloom's layout: recorded filters, its files and its stream of commands, its options, and
//! what its replicas get.

mod differences;
mod options;
mod page;
mod primary;
mod recorded;
mod servers;
mod stream;
