//! Random lives of filters in real servers: each operation of the table of
//! `bloomline_reference::life` as a call of its commands, compared with the same filter in this
//! process. Replies are equal, and so are the bytes of the filter on the primary, on its replica,
//! and after both files were loaded; a call replicates something if and only if it has changed the
//! filter. Beside each life, strangers send random calls and damaged bytes. After each operation
//! the totals of INFO are the sum over all filters.
//!
//! `BLOOMLINE_LIVES` multiplies their number, and `BLOOMLINE_SEED` is where the seeds begin.

mod calls;
#[allow(clippy::module_inception, reason = "it is the life")]
mod life;
mod pair;
mod strangers;

use std::collections::BTreeMap;

use bloomline_harness::{Kind, for_each_server_long};
use bloomline_reference::checks::check::LIMIT;
use bloomline_reference::life::kinds::KINDS;
use bloomline_reference::life::steps::STEPS;
use bloomline_reference::life::variable;

use life::Alone;
pub use life::{Count, Life};
pub use pair::{EVENTS, Pair};
use strangers::Strangers;

use crate::introspection::totals::assert_totals_of_all;

/// Lives of each kind.
const LIVES: u64 = 2;

/// The most operations of a life.
const LENGTH: u64 = 40;

/// Lives between two events.
const LIVES_AN_EVENT: usize = 6;

#[test]
fn filters_in_servers_equal_those_in_this_process() {
    for_each_server_long(run);
}

fn run(server: &Kind) {
    // What is acknowledged must be in the file when a server is killed: with `everysec`, writes are
    // postponed while an earlier one is synchronized.
    let lines = ["appendonly yes", "aof-use-rdb-preamble no", "appendfsync no"];
    let mut pair = Pair::start(server, LIMIT, &lines);
    let (mut total, mut lives, mut events) = (Count::default(), 0, EVENTS.iter().cycle());
    let mut steps: BTreeMap<&str, u64> = BTreeMap::new();
    let mut left: BTreeMap<String, u64> = BTreeMap::new();
    let first = variable("BLOOMLINE_SEED", 0);
    for seed in first..first + LIVES * variable("BLOOMLINE_LIVES", 1) {
        for (index, kind) in KINDS.into_iter().enumerate() {
            pair.client().ok("FLUSHALL");
            let seed = seed * KINDS.len() as u64 + index as u64 / 2;
            // Every second life speaks RESP3, which has no booleans for modules in Redis 6.2.
            let is_resp3 = seed % 2 == 1 && !server.is_before_7();
            let alone = Some(Alone { replica: pair.replica(), clocks: pair.clocks() });
            let Some(mut life) =
                Life::begin(pair.client(), "k", (kind, seed), is_resp3, LIMIT, alone)
            else {
                continue;
            };
            let mut strangers = Strangers::of(pair.primary(), seed);
            let mut counting = pair.client();
            for _ in 0..LENGTH {
                if !life.is_over() {
                    let name = life.step();
                    *steps.entry(name).or_default() += 1;
                    assert_totals_of_all(&mut counting, name);
                }
                strangers.call("k");
            }
            for name in strangers.end(&mut pair.replica()) {
                *left.entry(name).or_default() += 1;
            }
            assert_totals_of_all(&mut pair.replica(), "a life, on the replica");
            life.assert_saved();
            assert_totals_of_all(&mut counting, "loading both files");
            total.add(life.count);
            lives += 1;
            if lives % LIVES_AN_EVENT == 0 {
                let (name, event) = events.next().expect("an endless list");
                println!("{name}");
                pair.happen(*event);
                for mut client in [pair.client(), pair.replica()] {
                    assert_totals_of_all(&mut client, name);
                }
                life.reconnect(pair.client(), pair.replica());
                life.step();
            }
        }
    }
    println!("{}: {lives} lives, {total:?}, left by strangers: {left:?}", server.name);
    for row in STEPS {
        assert!(steps.get(row.name) > Some(&5), "{}: {steps:?}", row.name);
    }
    for name in ["+MBbloom--", "+bloomfltr", "+MBbloomCF"] {
        assert!(left.contains_key(name), "{}: {left:?}", server.name);
    }
    assert!(total.changes > 15 * lives as u64, "{total:?} in {lives} lives");
}
