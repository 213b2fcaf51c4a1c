//! Restarts, from an RDB file and from an append-only file of either kind.

use bloomline_harness::{Client, Server, Stop, for_each_build, numbered};

use super::scenario::{
    Made, assert_nothing_lost, assert_same, assert_usable, build, build_large, observe_all,
};

/// Builds filters, restarts the server, and compares. `before_stop` prepares the entry point while
/// the server still runs.
fn restart_keeps_everything(
    lines: &[&str],
    stop: Stop,
    build: impl Fn(&mut Client) -> Vec<Made> + Sync,
    before_stop: impl Fn(&mut Client) + Sync,
) {
    for_each_build(|kind| {
        let mut server = Server::start(kind, lines);
        let mut client = server.resp2();
        let made = build(&mut client);
        let before = observe_all(&mut client, &made);
        assert_nothing_lost(&made, &before);
        before_stop(&mut client);
        // Twice, because what was loaded must be saved as well.
        for _ in 0..2 {
            server.restart(stop);
            assert_same(&mut server.resp2(), &made, &before);
        }
        assert_usable(&mut server.resp2(), &made);
    });
}

/// Rewrites the append-only file and waits until that has finished.
fn rewrite(client: &mut Client) {
    client.call("BGREWRITEAOF");
    client.wait_for_saves();
    assert_eq!(client.info("aof_last_bgrewrite_status").trim(), "ok");
}

const RDB: [&str; 0] = [];
const AOF_PREAMBLE: [&str; 2] = ["appendonly yes", "aof-use-rdb-preamble yes"];
const AOF_PLAIN: [&str; 2] = ["appendonly yes", "aof-use-rdb-preamble no"];

#[test]
fn filters_survive_a_restart_from_an_rdb_file() {
    restart_keeps_everything(&RDB, Stop::Save, build, |_| ());
}

#[test]
fn a_filter_of_several_chunks_survives_an_rdb_file() {
    restart_keeps_everything(&RDB, Stop::Save, build_large, |_| ());
}

#[test]
fn filters_survive_an_aof_rewritten_as_rdb() {
    restart_keeps_everything(&AOF_PREAMBLE, Stop::NoSave, build, rewrite);
}

#[test]
fn filters_survive_an_aof_rewritten_as_commands() {
    restart_keeps_everything(&AOF_PLAIN, Stop::NoSave, build, rewrite);
}

#[test]
fn a_filter_of_several_chunks_survives_an_aof_of_commands() {
    restart_keeps_everything(&AOF_PLAIN, Stop::NoSave, build_large, rewrite);
}

#[test]
fn filters_survive_an_aof_that_is_never_rewritten() {
    restart_keeps_everything(&AOF_PLAIN, Stop::NoSave, build, |_| ());
}

#[test]
fn additions_after_a_rewrite_are_kept() {
    restart_keeps_everything(
        &AOF_PLAIN,
        Stop::NoSave,
        |client| {
            let mut made = build(client);
            rewrite(client);
            for filter in made
                .iter_mut()
                .filter(|filter| filter.key == "many:layers" || filter.key == "one:layer")
            {
                let more = numbered("after:rewrite", 500);
                client.items("BF.MADD", filter.key, &more);
                filter.items.extend(more);
            }
            made
        },
        |_| (),
    );
}
