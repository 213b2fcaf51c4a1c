//! A server killed by SIGKILL while clients write: after the next start it has what its append-only
//! file promises.

use std::time::{Duration, Instant};

use bloomline_harness::{Random, Setup, for_each_server_long};

use super::ledger::{Ledger, make_keys, while_writing};
use super::{repetitions, report};

#[test]
fn appendfsync_always_loses_no_acknowledged_item() {
    for_each_server_long(|kind| {
        let mut server = Setup::new().line("appendonly yes").line("appendfsync always").start(kind);
        make_keys(&mut server.resp2());
        let (mut ledger, mut random, times) = (Ledger::default(), Random(1), repetitions(3));
        for time in 0..times {
            let at = random.next() as usize % 60;
            ledger.extend(while_writing(&mut server, &time.to_string(), |server, progress| {
                progress.pass(5 + at);
                server.kill();
            }));
            server.revive();
            ledger.assert_kept(&mut server.resp2());
        }
        let outcome = format!("{} acknowledged, 0 lost", ledger.len());
        report(kind, "SIGKILL while adding, appendfsync always", times, &outcome);
    });
}

/// How old an item may be that is lost: the server delays a write by up to two seconds while the
/// file is synchronized, and then waits for the disk, which may be slow.
const DELAY: Duration = Duration::from_secs(20);

#[test]
fn appendfsync_everysec_loses_only_the_last_items() {
    for_each_server_long(|kind| {
        let mut server =
            Setup::new().line("appendonly yes").line("appendfsync everysec").start(kind);
        make_keys(&mut server.resp2());
        let (mut ledger, mut random, times, mut lost) =
            (Ledger::default(), Random(2), repetitions(3), Vec::new());
        for time in 0..times {
            let at = random.next() as usize % 1000;
            let mut end = Instant::now();
            ledger.extend(while_writing(&mut server, &time.to_string(), |server, progress| {
                progress.pass(5 + at);
                end = Instant::now();
                server.kill();
            }));
            server.revive();
            lost.extend(ledger.assert_kept_but_for_the_last(&mut server.resp2(), DELAY, end));
        }
        let oldest = lost.iter().max().copied().unwrap_or_default();
        let outcome = format!(
            "{} acknowledged, {} lost, the oldest of them {oldest:?} old",
            ledger.len(),
            lost.len()
        );
        report(kind, "SIGKILL while adding, appendfsync everysec", times, &outcome);
    });
}
