//! A server killed by SIGKILL while clients write: what its append-only file promises is there when
//! it starts again.

use std::time::{Duration, Instant};

use bloomline_harness::{Random, Setup, for_each_server};

use super::ledger::{Ledger, make_keys, while_writing};
use super::{repetitions, tell};

#[test]
fn a_server_that_syncs_always_loses_nothing_that_it_acknowledged() {
    for_each_server(|kind| {
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
        tell(kind, "SIGKILL while adding, appendfsync always", times, &outcome);
    });
}

#[test]
fn a_server_that_syncs_every_second_loses_at_most_what_it_acknowledged_in_the_last_two() {
    for_each_server(|kind| {
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
            // The server may put off a write for as long as one sync is under way, and says for how
            // long at most.
            let grace = Duration::from_secs(2);
            lost += ledger.assert_kept_but_for_the_last(&mut server.resp2(), grace, end);
        }
        let outcome = format!("{} acknowledged, {lost} of the last two seconds lost", ledger.len());
        tell(kind, "SIGKILL while adding, appendfsync everysec", times, &outcome);
    });
}
