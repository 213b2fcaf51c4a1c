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

#[test]
fn appendfsync_everysec_loses_at_most_two_seconds() {
    for_each_server_long(|kind| {
        let mut server =
            Setup::new().line("appendonly yes").line("appendfsync everysec").start(kind);
        make_keys(&mut server.resp2());
        let (mut ledger, mut random, times, mut lost) =
            (Ledger::default(), Random(2), repetitions(3), 0);
        for time in 0..times {
            let at = random.next() as usize % 1000;
            ledger.extend(while_writing(&mut server, &time.to_string(), |server, progress| {
                progress.pass(5 + at);
                server.kill();
            }));
            let end = Instant::now();
            server.revive();
            // The server may delay a write while a sync is in progress, for at most this time.
            let grace = Duration::from_secs(2);
            lost += ledger.assert_kept_but_for_the_last(&mut server.resp2(), grace, end);
        }
        let outcome = format!("{} acknowledged, {lost} of the last two seconds lost", ledger.len());
        report(kind, "SIGKILL while adding, appendfsync everysec", times, &outcome);
    });
}
