//! Every kind of filter through every entry point: the same filter afterwards, which changes as
//! one that was built on its server.

mod between_servers;
mod carried;
mod clocks;
mod dumps_and_compacting;
mod dumps_and_rotations;
pub mod golden;
mod persistence;
mod released;
mod replicas;

use std::sync::OnceLock;

use bloomline_harness::{Client, Kind, Setup};

use crate::filters::{Filter, all, build, change_all};

/// The reply to an iterator of a dump that cannot continue.
const DROPPED: &str = "-ERR the filter was compacted, or has dropped a generation, since the dump began: begin again with iterator 0";

/// Changes all filters, and asserts that the replies are those of filters that took no entry point.
fn assert_changes_as_built(kind: &Kind, client: &mut Client, filters: &[Filter], after: &str) {
    // Replies depend on no server, so that one builds the filters for all.
    static EXPECTED: OnceLock<Vec<Vec<String>>> = OnceLock::new();
    let expected = EXPECTED.get_or_init(|| {
        let server = Setup::new().debug().start(kind);
        let mut client = server.resp2();
        build(&mut client, &all());
        change_all(&mut client, &all())
    });
    let replies = change_all(client, filters);
    for ((filter, replies), expected) in filters.iter().zip(&replies).zip(expected) {
        assert_eq!(replies, expected, "{} changed after {after}", filter.key);
    }
}
